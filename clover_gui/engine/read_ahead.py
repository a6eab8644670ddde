"""Reads a model file into the system's cache before it is mapped, with progress and cancel.

Mapping a file of 20 GB blocks without a word until all of it is read; reading it beforehand takes the same
time and can tell and stop. What is in the cache already is skipped (Linux), so a restart stays fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

CHUNK_BYTES = 8 * 1024 * 1024
# Left for everything else.
RAM_RESERVE_BYTES = 512 * 1024 * 1024
_PROT_READ = _MAP_SHARED = 1


def read_ahead(path: Path, progress: Callable[[float | None], None], stopped: Callable[[], bool]) -> None:
    """Read all of the file; ``progress`` gets 0..1, or None once where memory does not suffice for it.

    Returns early when ``stopped``.

    Raises:
        OSError: the file cannot be read.
    """
    size = path.stat().st_size
    if size == 0 or size + RAM_RESERVE_BYTES > psutil.virtual_memory().available:
        progress(None)
        return
    buffer = memoryview(bytearray(min(CHUNK_BYTES, size)))
    with path.open("rb", buffering=0) as file, _Cache(path, file.fileno(), size) as cache:
        for start in range(0, size, CHUNK_BYTES):
            if stopped():
                return
            if not cache.holds(start, min(CHUNK_BYTES, size - start)):
                file.seek(start)
                file.readinto(buffer)
            progress(min((start + CHUNK_BYTES) / size, 1.0))


class _Cache:
    """Which parts of a file the system holds in memory (mincore); none, where that cannot be told."""

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        self._address = 0
        self._size = size
        # For other people's files the kernel says that everything is there.
        if sys.platform != "linux" or not (path.stat().st_uid == os.geteuid() or os.access(path, os.W_OK)):
            return
        with contextlib.suppress(OSError, AttributeError):
            self._libc = ctypes.CDLL(None)
            self._libc.mmap.restype = ctypes.c_void_p
            self._libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
            self._libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
            self._libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
            address = self._libc.mmap(None, size, _PROT_READ, _MAP_SHARED, descriptor, 0)
            self._address = 0 if address in (None, ctypes.c_void_p(-1).value) else address

    def __enter__(self) -> _Cache:
        return self

    def __exit__(self, *_: object) -> None:
        if self._address:
            self._libc.munmap(self._address, self._size)

    def holds(self, start: int, length: int) -> bool:
        """All pages from ``start`` (a multiple of the page size) are in memory."""
        if not self._address:
            return False
        page = os.sysconf("SC_PAGE_SIZE")
        pages = ctypes.create_string_buffer(-(-length // page))
        if self._libc.mincore(self._address + start, length, pages) != 0:
            return False
        return all(value & 1 for value in pages.raw[: -(-length // page)])
