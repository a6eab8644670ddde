"""A folder for tests that write and flush thousands of times."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clover_gui.patching import recovery

_MEMORY = Path("/dev/shm")
_NEEDED_BYTES = 512 << 20


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where the system offers that (flushing costs nothing there), else as ``tmp_path``."""
    if not _MEMORY.is_dir() or not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    status = os.statvfs(_MEMORY)
    if status.f_bavail * status.f_frsize < _NEEDED_BYTES:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY, prefix="clover-test-") as folder:
        yield Path(folder)


@pytest.fixture
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not go through all processes each time (30 ms); ``test_ownership`` tests that."""
    monkeypatch.setattr(recovery, "users", lambda path: ())
