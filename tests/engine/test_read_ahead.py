"""Reading a file into the cache beforehand: progress, cancel, and when it is left out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from clover_gui.engine.read_ahead import CHUNK_BYTES, read_ahead


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(bytes(3 * CHUNK_BYTES + 5))
    return path


def test_progress_rises_to_one(file: Path) -> None:
    for _ in range(2):  # the second time from the cache
        seen: list[float | None] = []
        read_ahead(file, seen.append, lambda: False)
        assert len(seen) == 4
        assert seen == sorted(seen, key=lambda value: value or 0)
        assert seen[-1] == 1.0


def test_stop(file: Path) -> None:
    seen: list[float | None] = []
    read_ahead(file, seen.append, lambda: len(seen) == 2)
    assert len(seen) == 2


def test_left_out_where_memory_does_not_suffice(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=1000))
    seen: list[float | None] = []
    read_ahead(file, seen.append, lambda: False)
    assert seen == [None]


def test_empty_and_missing(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    seen: list[float | None] = []
    read_ahead(empty, seen.append, lambda: False)
    assert seen == [None]
    with pytest.raises(FileNotFoundError):
        read_ahead(tmp_path / "none", seen.append, lambda: False)
