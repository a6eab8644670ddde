"""Puts the pages of an SQLite write-ahead journal into a copy of its database, without SQLite.

SQLite itself throws the journal away where the database is empty, and refuses it where the first page is
broken. After the published description of the format (sqlite.org/fileformat2.html, section 4).
"""

from __future__ import annotations

import struct
from pathlib import Path

HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_LITTLE_ENDIAN_SUMS, _BIG_ENDIAN_SUMS = 0x377F0682, 0x377F0683


def holds_pages(journal: Path) -> bool:
    """Whether there is a journal with more than its header."""
    try:
        return journal.stat().st_size > HEADER_BYTES + _FRAME_HEADER_BYTES
    except OSError:
        return False


def apply_journal(journal: Path, database: Path) -> int:
    """Write every page that the journal committed to its place in ``database``; returns their number.

    What follows the first broken frame is not used, as SQLite does.

    Raises:
        OSError: a file cannot be read or written.
    """
    data = journal.read_bytes()
    if len(data) < HEADER_BYTES:
        return 0
    magic, _version, size = struct.unpack_from(">III", data)
    size = 65536 if size == 1 else size
    if magic not in (_LITTLE_ENDIAN_SUMS, _BIG_ENDIAN_SUMS) or not _is_page_size(size):
        return 0
    order = ">" if magic == _BIG_ENDIAN_SUMS else "<"
    sums = _sums(order, data[:24], (0, 0))
    if sums != struct.unpack_from(">II", data, 24):
        return 0
    places: dict[int, int] = {}
    newest: dict[int, int] = {}
    at = HEADER_BYTES
    while at + _FRAME_HEADER_BYTES + size <= len(data):
        page, pages_after_commit = struct.unpack_from(">II", data, at)
        if page == 0 or data[at + 8 : at + 16] != data[16:24]:  # left over from an earlier round
            break
        start = at + _FRAME_HEADER_BYTES
        sums = _sums(order, data[start : start + size], _sums(order, data[at : at + 8], sums))
        if sums != struct.unpack_from(">II", data, at + 16):
            break
        newest[page] = start
        if pages_after_commit:
            places |= newest
            newest = {}
        at = start + size
    with database.open("r+b") as file:
        for page, start in places.items():
            file.seek((page - 1) * size)
            file.write(data[start : start + size])
    return len(places)


def _is_page_size(size: int) -> bool:
    return 512 <= size <= 65536 and size & (size - 1) == 0


def _sums(order: str, data: bytes, before: tuple[int, int]) -> tuple[int, int]:
    first, second = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & 0xFFFFFFFF
        second = (second + words[place + 1] + first) & 0xFFFFFFFF
    return first, second
