"""The settings of a running window: told, kept, and said where they cannot be kept."""

from __future__ import annotations

from pathlib import Path

from clover_gui import settings as settings_file
from clover_gui.settings import Settings
from clover_gui.ui.live_settings import LiveSettings


class Heard:
    """Notes what it is told, and what was on the disk at that time."""

    def __init__(self, file: Path | None) -> None:
        self.changes: list[tuple[str, str]] = []
        self.faults: list[OSError] = []
        self.live = LiveSettings(Settings(), file, self._changed, self.faults.append)

    def _changed(self, former: Settings, new: Settings) -> None:
        assert self.live.current() == new
        self.changes.append((former.theme, new.theme))


def test_a_change_is_told_and_kept_and_none_is_neither(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    heard = Heard(file)
    heard.live.change(Settings())
    assert heard.changes == []
    assert not file.exists()
    heard.live.change(Settings(theme="dark"))
    assert heard.changes == [("system", "dark")]
    assert settings_file.load(file).settings == heard.live.current() == Settings(theme="dark")


def test_what_cannot_be_kept_holds_all_the_same_and_is_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    heard = Heard(tmp_path / "taken" / "settings.json")
    heard.live.change(Settings(theme="dark"))
    assert heard.live.current().theme == "dark"
    assert len(heard.faults) == 1


def test_without_a_file_they_hold_for_this_run() -> None:
    heard = Heard(None)
    heard.live.change(Settings(theme="light"))
    assert heard.live.current().theme == "light"
    assert heard.faults == []
