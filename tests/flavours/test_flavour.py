"""The manifest of an installed engine: whatever somebody wrote into it, it is understood or left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clover_gui.flavours.flavour import Flavour, is_library_name, read_manifest, write_manifest

FLAVOUR = Flavour(
    "cpu-1",
    "cpu",
    "cpu",
    "1.0",
    "here",
    "ab" * 32,
    "2026-01-01T00:00:00+00:00",
    ("A card",),
    (("libllama.so", 3),),
    (str(Path("/usr/lib").absolute()),),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "cpu-1"
    folder.mkdir()
    write_manifest(folder, FLAVOUR)
    return folder


def test_what_is_written_comes_back(folder: Path) -> None:
    assert read_manifest(folder) == FLAVOUR


def _set(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda values: values.__setitem__(name, value)


@pytest.mark.parametrize(
    "change",
    [
        _set("files", [["libllama.so", float("inf")]]),
        _set("files", [["libllama.so", float("nan")]]),
        _set("files", [["libllama.so", 10**400]]),
        _set("files", [["libllama.so", -1]]),
        _set("files", [["libllama.so", True]]),
        _set("files", [["lib\0llama.so", 3]]),
        _set("files", [["../libllama.so", 3]]),
        _set("files", [[["x"], 3]]),
        _set("files", [["a" * 300, 3]]),
        _set("files", [["libllama.so"]]),
        _set("files", 7),
        _set("files", []),
        _set("search", ["../../x"]),
        _set("search", ["lib"]),
        _set("search", ["/usr/lib/../../tmp"]),
        _set("search", ["/usr/\0lib"]),
        _set("search", [7]),
        _set("devices", [{}]),
        _set("origin", ["x"]),
        _set("name", "x" * 10_000),
        _set("backend", []),
    ],
)
def test_values_that_cannot_be_true_make_it_none_of_ours(
    folder: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    values = json.loads((folder / "manifest.json").read_text())
    change(values)
    (folder / "manifest.json").write_text(json.dumps(values))
    assert read_manifest(folder) is None


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("libllama.so", True),
        ("libllama.so.0.5.0", True),
        ("llama.dll", True),
        ("libggml.dylib", True),
        ("default.metallib", True),
        ("manifest.json", False),
        ("libllama.so.txt", False),
        (".so", False),
        ("../libllama.so", False),
        ("lib\0.so", False),
    ],
)
def test_what_is_a_library(name: str, is_one: bool) -> None:
    assert is_library_name(name) is is_one
