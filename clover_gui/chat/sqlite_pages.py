"""Reads the rows of an SQLite file page by page, without its trees: for files that SQLite itself refuses.

After the published description of the file format (sqlite.org/fileformat2.html). Whatever is broken is
skipped; nothing is written. Knows nothing of tables: a row is a list of values, and what it belongs to is the
caller's to tell from them.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

Value = int | float | str | bytes | None
Row = tuple[int, list[Value]]

_HEADER_BYTES = 100
_TABLE_LEAF = 13
_USUAL_PAGE_BYTES = 4096
_LARGEST_ROW_BYTES = 1 << 30
# No text has so many zeros in a row: a page of it was never written.
_TORN = bytes(16)
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def read_rows(path: Path) -> Iterator[Row]:
    """(row number, values) of all tables, in the order of the pages. A text whose rest is lost is cut there.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        if path.stat().st_size < 512:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from _File(data).rows()


class _File:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        size = struct.unpack_from(">H", data, 16)[0]
        size = 65536 if size == 1 else size
        if not (512 <= size <= 65536 and size & (size - 1) == 0):
            size = _USUAL_PAGE_BYTES  # the first page is lost
        self._size = size
        reserved = data[20]
        self._usable = size - (reserved if reserved < 64 else 0)
        self._count = -(-len(data) // size)
        self._free = self._free_pages()

    def rows(self) -> Iterator[Row]:
        for number in range(1, self._count + 1):
            if number not in self._free:
                yield from self._rows_of(number)

    def _rows_of(self, number: int) -> Iterator[Row]:
        page = self._page(number)
        start = _HEADER_BYTES if number == 1 else 0
        if len(page) < start + 8 or page[start] != _TABLE_LEAF:
            return
        cells = struct.unpack_from(">H", page, start + 3)[0]
        for cell in range(cells):
            at = start + 8 + 2 * cell
            if at + 2 > len(page):
                return
            place = struct.unpack_from(">H", page, at)[0]
            with suppress(ValueError, IndexError, struct.error):
                yield self._row(page, place)

    def _row(self, page: bytes, place: int) -> Row:
        length, place = _varint(page, place)
        row, place = _varint(page, place)
        if not 0 < length <= _LARGEST_ROW_BYTES:
            raise ValueError("a row of impossible length")
        usable = self._usable
        local = length
        if length > usable - 35:
            least = (usable - 12) * 32 // 255 - 23
            local = least + (length - least) % (usable - 4)
            local = local if local <= usable - 35 else least
        payload = page[place : place + local]
        if local < length and place + local + 4 <= len(page):
            following = struct.unpack_from(">I", page, place + local)[0]
            payload += self._overflow(following, length - local)
        return row, _values(payload)

    def _overflow(self, number: int, length: int) -> bytes:
        parts: list[bytes] = []
        seen: set[int] = set()
        while length > 0 and number not in seen and number not in self._free:
            seen.add(number)
            page = self._page(number)
            if len(page) < 4:
                break
            number = struct.unpack_from(">I", page)[0]
            parts.append(page[4 : min(self._usable, 4 + length)])
            length -= self._usable - 4
        return b"".join(parts)

    def _page(self, number: int) -> bytes:
        if not 1 <= number <= self._count:
            return b""
        return self._data[(number - 1) * self._size : number * self._size]

    def _free_pages(self) -> set[int]:
        """Pages whose rows were deleted: what is left in them is not to be brought back."""
        free: set[int] = set()
        number = struct.unpack_from(">I", self._data, 32)[0]
        while number and number not in free:
            page = self._page(number)
            if len(page) < 8:
                break
            free.add(number)
            number, leaves = struct.unpack_from(">II", page)
            if leaves > (self._size - 8) // 4:  # no list of free pages, but something else
                break
            leaves = min(leaves, (len(page) - 8) // 4)  # the last page may be cut off
            free.update(struct.unpack_from(f">{leaves}I", page, 8))
        return free


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for _byte in range(8):
        byte = data[place]
        place += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place
    value = value << 8 | data[place]
    return (value - (1 << 64) if value >= 1 << 63 else value), place + 1


def _values(payload: bytes) -> list[Value]:
    header, place = _varint(payload, 0)
    kinds = []
    while place < header:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    values: list[Value] = []
    place = header
    for kind in kinds:
        value, place = _value(payload, place, kind)
        values.append(value)
    return values


def _value(payload: bytes, place: int, kind: int) -> tuple[Value, int]:
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind], place
    if kind in _INTEGER_BYTES or kind == 7:
        end = place + _INTEGER_BYTES.get(kind, 8)
        part = payload[place:end]
        if len(part) < end - place:
            return None, end
        if kind == 7:
            return float(struct.unpack(">d", part)[0]), end
        return int.from_bytes(part, "big", signed=True), end
    if kind < 12:
        raise ValueError("a kind of value that does not exist")
    end = place + (kind - 12) // 2
    part = payload[place:end]
    if kind % 2 == 0:
        return part, end
    torn = part.find(_TORN)
    part = part[:torn] if torn >= 0 else part
    try:
        return part.decode("utf-8"), end
    except UnicodeDecodeError as error:
        return part[: error.start].decode("utf-8"), end
