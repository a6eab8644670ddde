"""Settings survive bad files, bad values and a folder that cannot be written."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from clover_gui import settings
from clover_gui.settings import Settings


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "settings.json"
    wanted = Settings(
        language="de",
        theme="dark",
        model_path="/m/ü.gguf",
        context=8192,
        thinking=False,
        memory_panel=True,
        graphics="0000:01:00.0 NVIDIA GeForce RTX 4090",
        window=(1, 2, 800, 600),
    )
    settings.save(path, wanted)
    assert settings.load(path) == settings.LoadedSettings(wanted)


def test_a_missing_file_gives_the_defaults_without_a_word(tmp_path: Path) -> None:
    assert settings.load(tmp_path / "settings.json") == settings.LoadedSettings(Settings())


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"theme":'])
def test_a_broken_file_is_set_aside_and_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    loaded = settings.load(path)
    assert loaded.settings == Settings()
    assert loaded.problems == ("file",)
    assert (tmp_path / "settings.broken.json").read_bytes() == content


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theme", "pink"),
        ("language", 3),
        ("context", -1),
        ("context", "8192"),
        ("context", True),
        ("thinking", "yes"),
        ("memory_panel", 1),
        ("graphics", ["all"]),
        ("window", [1, 2, 0, 4]),
        ("window", "wide"),
        ("kv_type", "q1"),
        ("model_path", 7),
    ],
)
def test_a_bad_value_gives_the_default_of_that_field_only(tmp_path: Path, name: str, value: object) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"reserve_mb": 2048, name: value, "unknown": 1}), encoding="utf-8")
    loaded = settings.load(path)
    assert loaded.problems == (name,)
    assert loaded.settings == dataclasses.replace(Settings(), reserve_mb=2048)


def test_a_failed_save_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    settings.save(path, Settings(theme="dark"))

    def refuse(*_arguments: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        settings.save(path, Settings(theme="light"))
    monkeypatch.undo()
    assert settings.load(path).settings.theme == "dark"
    assert [file.name for file in tmp_path.iterdir()] == ["settings.json"]
