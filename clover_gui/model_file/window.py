"""Reading little-endian values from the front part of a file, piece by piece and bounds-checked.

The file is read in large pieces into one window that moves forward; nothing is mapped, because a mapped
file that somebody shortens kills the process. No length that stands in the file is believed before it
has been compared with the size of the file.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

_PIECE_BYTES = 4 << 20
_U64 = struct.Struct("<Q")


class CutShort(Exception):
    """The file ends before a value that it promised. ``needed_bytes``: the size it would have to have."""

    def __init__(self, needed_bytes: int) -> None:
        super().__init__(needed_bytes)
        self.needed_bytes = needed_bytes


class Impossible(Exception):
    """A length or count that no file can have; the text says which."""


class Window:
    """A position in ``file``, whose size is ``size_bytes``. Memory: one piece plus one text."""

    def __init__(self, file: BinaryIO, size_bytes: int) -> None:
        self._file = file
        self._size = size_bytes
        self._data = b""
        self._base = 0  # file offset of the window
        self._at = 0  # position within the window

    @property
    def position(self) -> int:
        """The file offset of the next value."""
        return self._base + self._at

    @property
    def remaining(self) -> int:
        """Bytes from the position to the end of the file."""
        return self._size - self.position

    def number(self, layout: struct.Struct) -> int | float | bool:
        """The next value of this layout.

        Raises:
            CutShort: the file ends first.
        """
        self._need(layout.size)
        value: int | float | bool = layout.unpack_from(self._data, self._at)[0]
        self._at += layout.size
        return value

    def u64(self) -> int:
        """The next 64-bit count or length."""
        self._need(8)
        value: int = _U64.unpack_from(self._data, self._at)[0]
        self._at += 8
        return value

    def numbers(self, layout: struct.Struct, count: int) -> tuple[int | float | bool, ...]:
        """``count`` values; the caller has capped the count."""
        many = struct.Struct(f"<{count}{layout.format[-1]}")
        self._need(many.size)
        values = many.unpack_from(self._data, self._at)
        self._at += many.size
        return values

    def text(self, keep_bytes: int, limit_bytes: int) -> str:
        """The next string; of a longer one the first ``keep_bytes``, invalid UTF-8 replaced.

        Raises:
            CutShort: it reaches beyond the end of the file.
            Impossible: it claims more than ``limit_bytes``.
        """
        length = self.u64()
        if length > limit_bytes:
            raise Impossible(f"a text of {length} bytes at {self.position - 8}")
        self._within(length)
        kept = min(length, keep_bytes)
        self._need(kept)
        raw = self._data[self._at : self._at + kept]
        self.skip(length)
        return raw.decode("utf-8", "replace")

    def skip(self, length: int) -> None:
        """Pass over ``length`` bytes without reading them.

        Raises:
            CutShort: they reach beyond the end of the file.
        """
        self._within(length)
        self._at += length
        if self._at > len(self._data):
            self._base += self._at
            self._at, self._data = 0, b""

    def skip_texts(self, count: int) -> None:
        """Pass over ``count`` strings by walking their lengths; a vocabulary takes about 30 ms.

        Raises:
            CutShort: the file ends among them.
        """
        self._within(8 * count)
        unpack = _U64.unpack_from
        while count:
            self._need(8)
            data, at, end = self._data, self._at, len(self._data) - 8
            while count and at <= end:
                at += 8 + unpack(data, at)[0]
                count -= 1
            self._at = 0
            base, self._base, self._data = self._base, self._base + min(at, len(data)), data[at:]
            if at > len(data):
                self.skip(base + at - self._base)

    def _within(self, length: int) -> None:
        if length > self.remaining:
            raise CutShort(self.position + length)

    def _need(self, length: int) -> None:
        """Make the next ``length`` bytes part of the window."""
        if self._at + length <= len(self._data):
            return
        self._within(length)
        self._base += self._at
        rest = self._data[self._at :]
        self._file.seek(self._base + len(rest))
        self._data = rest + self._file.read(max(_PIECE_BYTES, length - len(rest)))
        self._at = 0
        if len(self._data) < length:  # the file was shortened while it was read
            raise CutShort(self._base + length)
