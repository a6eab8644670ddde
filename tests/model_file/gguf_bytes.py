"""GGUF headers built byte by byte: forms that no writer library produces."""

from __future__ import annotations

import struct
from collections.abc import Iterable

U32, STRING, ARRAY, BOOL, U64 = 4, 8, 9, 7, 10
Key = tuple[str, bytes]
TensorInfo = tuple[str, tuple[int, ...], int, int]


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def u32(name: str, value: int) -> Key:
    return name, struct.pack("<II", U32, value)


def string(name: str, value: str | bytes) -> Key:
    return name, struct.pack("<I", STRING) + text(value)


def numbers(name: str, values: Iterable[int]) -> Key:
    items = list(values)
    return name, struct.pack(f"<IIQ{len(items)}I", ARRAY, U32, len(items), *items)


def flags(name: str, values: Iterable[bool]) -> Key:
    items = list(values)
    return name, struct.pack(f"<IIQ{len(items)}?", ARRAY, BOOL, len(items), *items)


def strings(name: str, values: Iterable[str]) -> Key:
    items = [text(value) for value in values]
    return name, struct.pack("<IIQ", ARRAY, STRING, len(items)) + b"".join(items)


def build(
    keys: Iterable[Key],
    tensors: Iterable[TensorInfo],
    *,
    version: int = 3,
    data: int = 0,
    alignment: int = 32,
) -> bytes:
    """A whole file: header, keys, tensor list (name, dims, type, offset) and ``data`` zero bytes."""
    keys, tensors = list(keys), list(tensors)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    head += b"".join(text(name) + value for name, value in keys)
    for name, dims, kind, offset in tensors:
        head += (
            text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims) + struct.pack("<IQ", kind, offset)
        )
    return head + bytes(-len(head) % alignment) + bytes(data)


ARCHITECTURE = string("general.architecture", "llama")
# One F32 tensor of 8 values.
TENSOR: TensorInfo = ("token_embd.weight", (4, 2), 0, 0)
