"""The GGUF container: keys, tensor list and where the data begins. Knows nothing of what they mean.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3. Small numbers, texts
and short number lists are kept; of every other array only its length. The same checks as the engine's
own reader makes, so that a file that passes here is not refused there for its form.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from pathlib import Path

from clover_gui.errors import (
    ModelFileCorrupt,
    ModelFileError,
    ModelFileMissing,
    ModelFileTruncated,
    ModelFileUnreadable,
    ModelFileUnsupported,
    NotAModelFile,
)
from clover_gui.model_file.tensor_types import TENSOR_TYPES, TensorType
from clover_gui.model_file.window import CutShort, Impossible, Window

_U32 = struct.Struct("<I")
_LAYOUTS = {
    number: struct.Struct(f"<{code}")
    for number, code in {
        0: "B",
        1: "b",
        2: "H",
        3: "h",
        4: "I",
        5: "i",
        6: "f",
        7: "?",
        10: "Q",
        11: "q",
    }.items()
} | {12: struct.Struct("<d")}
_STRING, _ARRAY = 8, 9

# No real file comes near these; they bound time and memory for hostile ones.
_MAX_KEYS = 1 << 16
_MAX_TENSORS = 1 << 16
_MAX_NAME_BYTES = 1 << 10
_MAX_TEXT_BYTES = 1 << 30
_MAX_ARRAY_TEXTS = 1 << 23
_MAX_ARRAY_NUMBERS = 1 << 36
_MAX_DIMENSIONS = 4
_MAX_VALUES = 1 << 62
_MAX_ALIGNMENT = 1 << 20
_KEPT_TEXT_BYTES = 4 << 10
_KEPT_TEMPLATE_BYTES = 1 << 20
_KEPT_NUMBERS = 4096
TEMPLATE_KEY = "tokenizer.chat_template"


@dataclass(frozen=True, slots=True)
class ArrayLength:
    """An array whose elements were passed over."""

    count: int


Value = int | float | bool | str | tuple[int | float | bool, ...] | ArrayLength


@dataclass(frozen=True, slots=True)
class Tensor:
    """One entry of the tensor list. ``offset`` counts from the start of the data."""

    name: str
    dims: tuple[int, ...]
    type: TensorType
    offset: int
    size_bytes: int
    value_count: int


@dataclass(frozen=True, slots=True)
class Container:
    """Everything in front of the tensor data, with the size of the whole file."""

    path: Path
    size_bytes: int
    version: int
    keys: dict[str, Value]
    tensors: tuple[Tensor, ...]
    data_offset: int


def read_container(path: Path) -> Container:
    """Read the front part of a GGUF file.

    Raises:
        ModelFileError: one of its subclasses, with what is wrong and where.
    """
    try:
        if not path.is_file():
            raise _not_a_file(path)
        size = path.stat().st_size
        with path.open("rb") as file:
            return _Reader(path, Window(file, size), size, file.read(512)).read()
    except FileNotFoundError as error:
        raise ModelFileMissing(path) from error
    except OSError as error:
        raise ModelFileUnreadable(path, error.strerror or str(error)) from error


def read_container_beginning(path: Path, size: int, beginning: bytes) -> Container:
    """The same from the first bytes of a file of this size that lies elsewhere; ``path`` only names it.

    Raises:
        ModelFileError: as above; ModelFileTruncated with a part other than "data" also where ``beginning``
            is too short.
    """
    window = Window(io.BytesIO(beginning), len(beginning))
    return _Reader(path, window, size, beginning[:512]).read()


def _not_a_file(path: Path) -> ModelFileError:
    if path.is_dir():
        return ModelFileUnreadable(path, "this is a folder")
    return ModelFileUnreadable(path, "not a regular file") if path.exists() else ModelFileMissing(path)


class _Reader:
    """One pass through one file; ``_where`` names the part for the message about a cut."""

    def __init__(self, path: Path, window: Window, size: int, head: bytes) -> None:
        self._path = path
        self._window = window
        self._size = size
        self._head = head
        self._where = "header"

    def read(self) -> Container:
        try:
            return self._read()
        except CutShort as error:
            # Inside the list of keys or tensors nobody can know how long the whole file was.
            raise ModelFileTruncated(self._path, self._where, self._size, None) from error
        except Impossible as error:
            raise ModelFileCorrupt(self._path, str(error)) from error

    def _read(self) -> Container:
        self._check_magic()
        window = self._window
        window.skip(4)
        version = self._check_version(int(window.number(_U32)))
        tensor_count, key_count = window.u64(), window.u64()
        if tensor_count > _MAX_TENSORS or key_count > _MAX_KEYS:
            raise Impossible(f"{tensor_count} tensors and {key_count} keys")
        self._where = "keys"
        keys: dict[str, Value] = {}
        for _ in range(key_count):
            name = window.text(_MAX_NAME_BYTES, _MAX_NAME_BYTES)
            if name in keys:
                raise Impossible(f"the key {name[:64]!r} stands there twice")
            keys[name] = self._value(name)
        self._where = "tensors"
        alignment = self._alignment(keys)
        tensors = tuple(self._tensor(alignment) for _ in range(tensor_count))
        data_offset = -(-window.position // alignment) * alignment
        self._check_tensors(tensors, data_offset)
        return Container(self._path, self._size, version, keys, tensors, data_offset)

    def _check_magic(self) -> None:
        head = self._head
        if head[:4] == b"GGUF":
            return
        if not head:
            raise NotAModelFile(self._path, "empty")
        if b"GGUF".startswith(head):
            raise ModelFileTruncated(self._path, "header", self._size, None)
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")) or b"<html" in start:
            raise NotAModelFile(self._path, "html")
        if head[:4] in (b"lmgg", b"fmgg", b"tjgg", b"algg", b"ggml", b"GGML", b"ggjt"):
            raise NotAModelFile(self._path, "ggml")
        pointer = b"git-lfs" in start
        detail = "a Git LFS pointer, not the file itself" if pointer else f"starts with {head[:4].hex(' ')}"
        raise NotAModelFile(self._path, "other", detail)

    def _check_version(self, version: int) -> int:
        if version in (2, 3):
            return version
        if version & 0xFFFF == 0 and version:
            raise ModelFileUnsupported(self._path, "big-endian", "written for big-endian machines")
        if version < 100:
            raise ModelFileUnsupported(self._path, "version", f"GGUF version {version}; 2 and 3 are read")
        raise Impossible(f"GGUF version {version}")

    def _value(self, name: str) -> Value:
        window = self._window
        kind = int(window.number(_U32))
        if kind == _STRING:
            keep = _KEPT_TEMPLATE_BYTES if name == TEMPLATE_KEY else _KEPT_TEXT_BYTES
            return window.text(keep, _MAX_TEXT_BYTES)
        if kind == _ARRAY:
            return self._array(name)
        if kind not in _LAYOUTS:
            raise Impossible(f"the key {name[:64]!r} has the unknown type {kind}")
        return window.number(_LAYOUTS[kind])

    def _array(self, name: str) -> Value:
        window = self._window
        kind, count = int(window.number(_U32)), window.u64()
        if kind == _STRING:
            if count > _MAX_ARRAY_TEXTS:
                raise Impossible(f"the key {name[:64]!r} has {count} texts")
            window.skip_texts(count)
            return ArrayLength(count)
        if kind not in _LAYOUTS:  # arrays of arrays as well: the engine does not read them either
            raise Impossible(f"the key {name[:64]!r} is an array of the unknown type {kind}")
        if count > _MAX_ARRAY_NUMBERS:
            raise Impossible(f"the key {name[:64]!r} has {count} numbers")
        if count <= _KEPT_NUMBERS:
            return window.numbers(_LAYOUTS[kind], count)
        window.skip(count * _LAYOUTS[kind].size)
        return ArrayLength(count)

    def _alignment(self, keys: dict[str, Value]) -> int:
        alignment = keys.get("general.alignment", 32)
        if type(alignment) is not int or not 0 < alignment <= _MAX_ALIGNMENT or alignment & (alignment - 1):
            raise Impossible("the alignment is not a power of two")
        return alignment

    def _tensor(self, alignment: int) -> Tensor:
        window = self._window
        name = window.text(_MAX_NAME_BYTES, _MAX_NAME_BYTES)
        dimensions = int(window.number(_U32))
        if dimensions > _MAX_DIMENSIONS:
            raise Impossible(f"the tensor {name[:64]!r} has {dimensions} dimensions")
        dims = tuple(window.u64() for _ in range(dimensions))
        number, offset = int(window.number(_U32)), window.u64()
        kind = TENSOR_TYPES.get(number)
        if kind is None:
            if number > 1000:
                raise Impossible(f"the tensor {name[:64]!r} has the type {number}")
            raise ModelFileUnsupported(self._path, "tensor-type", f"{name[:64]!r} has the type {number}")
        count = 1
        for length in dims:
            count *= length
            if not 0 < count <= _MAX_VALUES:
                raise Impossible(f"the tensor {name[:64]!r} has the shape {dims}")
        if (dims[0] if dims else 1) % kind.block_values:
            raise Impossible(f"rows of the tensor {name[:64]!r} are no whole {kind.name} blocks")
        if offset % alignment:
            raise Impossible(f"the tensor {name[:64]!r} is not aligned")
        return Tensor(name, dims, kind, offset, count // kind.block_values * kind.block_bytes, count)

    def _check_tensors(self, tensors: tuple[Tensor, ...], data_offset: int) -> None:
        if len({tensor.name for tensor in tensors}) != len(tensors):
            raise Impossible("two tensors have the same name")
        end = 0
        for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
            if tensor.offset < end:
                raise Impossible(f"the tensor {tensor.name[:64]!r} overlaps another")
            end = tensor.offset + tensor.size_bytes
        if end > _MAX_VALUES:
            raise Impossible(f"tensor data of {end} bytes")
        if tensors and data_offset + end > self._size:
            raise ModelFileTruncated(self._path, "data", self._size, data_offset + end)
