"""Settings survive bad files, bad values and a folder that cannot be written."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from clover_gui import settings
from clover_gui.paths import DataFolder
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
        by_hand=(settings.ByHand("/m/ü.gguf", 4096, "q8_0", 3), settings.ByHand("/m/b.gguf", 512)),
    )
    settings.save(path, wanted)
    assert settings.load(path) == settings.LoadedSettings(wanted)


def test_a_missing_file_gives_the_defaults_without_a_word(tmp_path: Path) -> None:
    assert settings.load(tmp_path / "settings.json") == settings.LoadedSettings(Settings())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff\xfe",
        b'{"theme":',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"context":' + b"9" * 6000,
    ],
    ids=["empty", "brace", "list", "no text", "cut off", "deep list", "deep object", "long number"],
)
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
        ("window", [99999999999, -99999999999, 99999999999, 99999999999]),
        ("window", [0, 0, 1 << 31, 100]),
        ("models_folder", "/tmp/\0x"),
        ("model_path", "/tmp/\0x"),
        ("model_path", "\ud800x"),
        ("proxy", "\ud800"),
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
        ("by_hand", {}),
        ("by_hand", [{"path": 3}]),
        ("by_hand", [{"path": "m", "context": -1, "kv_type": "", "cpu_expert_layers": -1}]),
        ("by_hand", [{"path": "m", "context": 0, "kv_type": "", "cpu_expert_layers": True}]),
    ],
)
def test_a_bad_value_gives_the_default_of_that_field_only(tmp_path: Path, name: str, value: object) -> None:
    path = tmp_path / "settings.json"
    content = json.dumps({"reserve_mb": 2048, name: value, "unknown": 1})
    path.write_text(content, encoding="utf-8")
    loaded = settings.load(path)
    # What was wrong is left out of the next save: the file as it was is kept, once.
    assert settings.load(path) == loaded
    assert [kept.read_text() for kept in tmp_path.glob("settings.broken*")] == [content]
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


def test_what_was_set_aside_before_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    for content in (b"{one", b"{two", b"{three"):
        path.write_bytes(content)
        settings.load(path)
    kept = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert kept == {
        "settings.broken.json": b"{one",
        "settings.broken-2.json": b"{two",
        "settings.broken-3.json": b"{three",
    }


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_that_an_editor_saved_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"theme": "dark", "model_path": "/m/ü.gguf"}', encoding=encoding)
    assert settings.load(path) == settings.LoadedSettings(Settings(theme="dark", model_path="/m/ü.gguf"))


@pytest.mark.skipif(os.name != "posix", reason="names of bytes, and pipes")
def test_a_name_that_is_no_text_comes_back(tmp_path: Path) -> None:
    name = os.fsdecode(b"/tmp/caf\xe9.gguf")
    path = tmp_path / "settings.json"
    settings.save(path, Settings(model_path=name, models_folder=name))
    assert settings.load(path) == settings.LoadedSettings(Settings(model_path=name, models_folder=name))


@pytest.mark.skipif(os.name != "posix", reason="names of bytes, and pipes")
@pytest.mark.parametrize("kind", ["pipe", "folder", "circle"])
def test_something_else_in_the_files_place_is_set_aside(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "settings.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path)
    assert settings.load(path) == settings.LoadedSettings(Settings(), ("file",))
    settings.save(path, Settings(theme="dark"))
    assert settings.load(path).settings.theme == "dark"
    assert os.path.lexists(tmp_path / "settings.broken.json")


def test_the_home_of_nobody_is_the_usual_place(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    assert settings.models_folder(Settings(models_folder="~nobody-of-this-name/x"), data) == data.models
