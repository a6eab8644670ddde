"""The exact byte map of a GGUF header: where every key and every tensor entry begins and ends.

``model_file`` reads what a file means; this map is for changing a header without touching a byte that
need not change. It is therefore stricter: whatever it does not understand completely it refuses. Format:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from clover_gui.model_file.tensor_types import TENSOR_TYPES

MAGIC = b"GGUF"
PREFIX_BYTES = 24  # magic, version, number of tensors, number of keys
UINT8, UINT32, INT32, FLOAT32, STRING, ARRAY = 0, 4, 5, 6, 8, 9
F32 = 0  # tensor type

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_SIZES = {kind: struct.calcsize(f"<{code}") for kind, code in _SCALARS.items()}
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_PREFIX = struct.Struct("<4sIQQ")
_FIRST_READ_BYTES = 16 << 20
_LARGEST_HEADER_BYTES = 512 << 20
_MAX_ENTRIES = 1 << 16
_MAX_NAME_BYTES = 1 << 10
_MAX_TENSOR_NAME_BYTES = 63  # the engine refuses longer ones
_KEPT_ELEMENTS = 4096

Scalar = int | float | bool | str
Value = Scalar | tuple[int | float | bool, ...]


# Keys of padding that a repair writes; two stems, so that one may stand before the vocabulary and one behind.
FILLER_STEMS = ("clover_gui.pad", "_clover_gui.pad")
_FILLER = re.compile(r"_?clover_gui\.pad\.*")


class NotUnderstood(Exception):
    """The header is of a form that must not be edited; the text says why."""


class _NeedMore(Exception):
    """The bytes at hand end inside the header."""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """One key: the bytes ``start``..``end`` of the header; its value begins at ``value_start``.

    ``element_type`` and ``count`` describe an array; a scalar has its own type and count 1.
    """

    name: str
    start: int
    end: int
    type: int
    value_start: int
    element_type: int
    count: int

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One tensor: its entry is ``start``..``end`` of the header, its data at ``offset`` from the data start.

    ``padded_bytes`` reaches to where the next tensor begins.
    """

    name: str
    dims: tuple[int, ...]
    type: int
    offset: int
    start: int
    end: int
    size_bytes: int
    padded_bytes: int


@dataclass(frozen=True, slots=True)
class HeaderMap:
    """A whole header. ``header`` holds the bytes from 0 to ``data_offset``."""

    path: Path
    file_size: int
    header: bytes
    version: int
    keys: tuple[KeyEntry, ...]
    tensors: tuple[TensorEntry, ...]
    alignment: int
    keys_end: int
    entries_end: int
    data_offset: int

    def key(self, name: str) -> KeyEntry | None:
        return next((key for key in self.keys if key.name == name), None)

    def value(self, name: str) -> Value | None:
        """A scalar, a text, or an array of at most 4096 numbers; None for anything else."""
        key = self.key(name)
        if key is None:
            return None
        if key.type == STRING:
            return self.header[key.value_start + 8 : key.end].decode("utf-8", "replace")
        if key.element_type == STRING or key.count > _KEPT_ELEMENTS:
            return None
        start = key.value_start + (12 if key.type == ARRAY else 0)
        numbers = struct.unpack_from(f"<{key.count}{_SCALARS[key.element_type]}", self.header, start)
        return numbers if key.type == ARRAY else numbers[0]

    def tensor(self, name: str) -> TensorEntry | None:
        return next((tensor for tensor in self.tensors if tensor.name == name), None)


def read_map(file: BinaryIO, path: Path, file_size: int) -> HeaderMap:
    """Map the header of an open file.

    Raises:
        NotUnderstood: something in it is not as the format or the engine's reader wants it.
        OSError: reading failed.
    """
    length = _FIRST_READ_BYTES
    while True:
        file.seek(0)
        data = file.read(min(length, file_size))
        try:
            return _Parser(data, path, file_size).parse()
        except _NeedMore:
            if len(data) >= file_size:
                raise NotUnderstood("the file ends inside its header") from None
            if length >= _LARGEST_HEADER_BYTES:
                raise NotUnderstood("the header is larger than any known one") from None
            length *= 4


class _Parser:
    """One pass over the header bytes."""

    def __init__(self, data: bytes, path: Path, file_size: int) -> None:
        self._data = data
        self._path = path
        self._size = file_size
        self._at = 0

    def parse(self) -> HeaderMap:
        self._need(PREFIX_BYTES)
        magic, version, tensor_count, key_count = _PREFIX.unpack_from(self._data, 0)
        if magic != MAGIC or version not in (2, 3):
            raise NotUnderstood("not a little-endian GGUF file of version 2 or 3")
        if not 0 < tensor_count <= _MAX_ENTRIES or key_count > _MAX_ENTRIES:
            raise NotUnderstood(f"{tensor_count} tensors and {key_count} keys")
        self._at = PREFIX_BYTES
        keys = tuple(self._key() for _ in range(key_count))
        if len({key.name for key in keys}) != len(keys):
            raise NotUnderstood("a key stands there twice")
        keys_end = self._at
        alignment = self._alignment(keys)
        tensors: list[TensorEntry] = []
        expected = 0
        for _ in range(tensor_count):
            tensor = self._tensor(alignment)
            if tensor.offset != expected:
                raise NotUnderstood(f"the data of {tensor.name} is not where it belongs")
            expected += tensor.padded_bytes
            tensors.append(tensor)
        if len({tensor.name for tensor in tensors}) != len(tensors):
            raise NotUnderstood("two tensors have the same name")
        return self._map(version, keys, tuple(tensors), alignment, keys_end)

    def _map(
        self,
        version: int,
        keys: tuple[KeyEntry, ...],
        tensors: tuple[TensorEntry, ...],
        alignment: int,
        keys_end: int,
    ) -> HeaderMap:
        entries_end = self._at
        data_offset = padded(entries_end, alignment)
        self._at = data_offset
        self._need(0)
        end = data_offset + tensors[-1].offset + tensors[-1].size_bytes
        if end > self._size:
            raise NotUnderstood(f"the file has {self._size} bytes, its header asks for {end}")
        header = self._data[:data_offset]
        # A wrong count would make the map end too early, and everything behind it would be misread.
        if header[entries_end:].strip(b"\0"):
            raise NotUnderstood("there is something between the tensor list and the data")
        if self._size - end >= alignment and not any(is_filler(key.name) for key in keys):
            raise NotUnderstood(f"{self._size - end} bytes follow the last tensor")
        return HeaderMap(
            self._path,
            self._size,
            header,
            version,
            keys,
            tensors,
            alignment,
            keys_end,
            entries_end,
            data_offset,
        )

    def _need(self, length: int) -> None:
        if self._at + length > len(self._data):
            raise _NeedMore

    def _u32(self) -> int:
        self._need(4)
        self._at += 4
        value: int = _U32.unpack_from(self._data, self._at - 4)[0]
        return value

    def _u64(self) -> int:
        self._need(8)
        self._at += 8
        value: int = _U64.unpack_from(self._data, self._at - 8)[0]
        return value

    def _skip(self, length: int) -> None:
        if length > self._size:
            raise NotUnderstood("a length goes beyond the end of the file")
        self._need(length)
        self._at += length

    def _name(self, limit: int) -> str:
        length = self._u64()
        if not 0 < length <= limit:
            raise NotUnderstood(f"a name of {length} bytes")
        self._skip(length)
        try:
            return self._data[self._at - length : self._at].decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotUnderstood("a name that is no text") from error

    def _key(self) -> KeyEntry:
        start = self._at
        name = self._name(_MAX_NAME_BYTES)
        kind = self._u32()
        value_start, element, count = self._at, kind, 1
        if kind == ARRAY:
            element, count = self._u32(), self._u64()
        if element == STRING:
            self._texts(count)
        elif element in _SIZES:
            self._skip(count * _SIZES[element])
        else:
            raise NotUnderstood(f"the key {name} has the unknown type {element}")
        return KeyEntry(name, start, self._at, kind, value_start, element, count)

    def _texts(self, count: int) -> None:
        # A vocabulary: walked with local names, a quarter of a million steps.
        data, at, last, unpack = self._data, self._at, len(self._data) - 8, _U64.unpack_from
        if count * 8 > self._size:
            raise NotUnderstood("more texts than the file has bytes")
        for _ in range(count):
            if at > last:
                raise _NeedMore
            length = unpack(data, at)[0]
            if length > self._size:
                raise NotUnderstood("a text goes beyond the end of the file")
            at += 8 + length
        self._at = at
        self._need(0)

    def _alignment(self, keys: tuple[KeyEntry, ...]) -> int:
        key = next((key for key in keys if key.name == "general.alignment"), None)
        if key is None:
            return 32
        alignment = _U32.unpack_from(self._data, key.value_start)[0] if key.type == UINT32 else 0
        if not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
            raise NotUnderstood("the alignment is not a power of two")
        return int(alignment)

    def _tensor(self, alignment: int) -> TensorEntry:
        start = self._at
        name = self._name(_MAX_TENSOR_NAME_BYTES)
        dimensions = self._u32()
        if dimensions > 4:
            raise NotUnderstood(f"{name} has {dimensions} dimensions")
        dims = tuple(self._u64() for _ in range(dimensions))
        number, offset = self._u32(), self._u64()
        kind = TENSOR_TYPES.get(number)
        if kind is None:
            raise NotUnderstood(f"{name} has the unknown type {number}")
        count = 1
        for length in dims:
            count *= length
        if not 0 < count < 1 << 62 or (dims[0] if dims else 1) % kind.block_values:
            raise NotUnderstood(f"{name} has the shape {dims}")
        size = count // kind.block_values * kind.block_bytes
        return TensorEntry(name, dims, number, offset, start, self._at, size, padded(size, alignment))


def is_filler(name: str) -> bool:
    """Whether a key of this name is padding that a repair wrote."""
    return _FILLER.fullmatch(name) is not None or any(stem.startswith(name) for stem in FILLER_STEMS)


def padded(length: int, alignment: int) -> int:
    """``length`` rounded up to a multiple of ``alignment``."""
    return -(-length // alignment) * alignment
