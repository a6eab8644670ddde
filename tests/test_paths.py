"""Where the data folder is: named, portable, or the usual one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from clover_gui import paths
from clover_gui.errors import DataFolderError
from clover_gui.explain import explain
from clover_gui.paths import PORTABLE_NAME, data_folder, default_data_folder, portable_folder, program_folder


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLOVER_DATA_DIR", "APPIMAGE"):
        monkeypatch.delenv(name, raising=False)


def frozen_at(executable: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As if the program were this executable; returns its folder."""
    executable.parent.mkdir(parents=True, exist_ok=True)
    executable.write_text("")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(executable))
    return executable.parent


def test_a_folder_beside_the_executable_is_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = frozen_at(tmp_path / "Clover" / "clover-gui", monkeypatch)
    assert program_folder() == program
    assert data_folder().root == default_data_folder()
    (program / PORTABLE_NAME).mkdir()
    assert data_folder().root == program / PORTABLE_NAME
    monkeypatch.setenv("CLOVER_DATA_DIR", str(tmp_path / "variable"))
    assert data_folder().root == tmp_path / "variable"
    assert data_folder(tmp_path / "argument").root == tmp_path / "argument"


def test_beside_an_app_bundle_and_an_appimage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    frozen_at(tmp_path / "Clover.app" / "Contents" / "MacOS" / "clover-gui", monkeypatch)
    assert program_folder() == tmp_path
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("APPIMAGE", str(tmp_path / "stick" / "Clover.AppImage"))
    assert program_folder() == tmp_path / "stick"


def test_beside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "checkout_root", lambda: tmp_path)
    assert portable_folder() is None
    (tmp_path / PORTABLE_NAME).write_text("a file is no folder")
    assert portable_folder() is None
    (tmp_path / PORTABLE_NAME).unlink()
    (tmp_path / PORTABLE_NAME).mkdir()
    assert portable_folder() == tmp_path / PORTABLE_NAME
    monkeypatch.setattr(paths, "checkout_root", lambda: None)
    assert portable_folder() is None


def test_on_a_disk_that_cannot_be_written_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "checkout_root", lambda: tmp_path)
    (tmp_path / PORTABLE_NAME).mkdir()
    refused = DataFolderError(tmp_path / PORTABLE_NAME, os.strerror(30))
    words = explain(refused)
    assert "Read-only file system" in words.sentence
    assert PORTABLE_NAME in words.next_step
    assert "rename" in words.next_step
    assert "--data-dir" in explain(DataFolderError(tmp_path / "other", "no")).next_step
