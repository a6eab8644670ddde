"""A new header for a file whose tensor data stays where it is.

The data begins at the first aligned byte behind the header, so a new header must end within the last
alignment unit before it. Where it would be shorter, a key of padding fills it up. The vocabulary (the
great mass of a header) keeps its place whenever the keys before it can be made to fill the same room; then
only a few kilobytes change.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from clover_gui.patching.header_map import (
    FILLER_STEMS,
    MAGIC,
    PREFIX_BYTES,
    STRING,
    UINT8,
    HeaderMap,
    KeyEntry,
    is_filler,
    padded,
)
from clover_gui.patching.recipe import Changes

# A key with a name of one letter and a byte as its value.
SMALLEST_FILLER_BYTES = 8 + 1 + 4 + 1
_ANCHOR_BYTES = 16 << 10

# What may go when room is short, the most dispensable first. Never tokenizer, template, hyperparameters,
# quantisation, nor the licence itself.
_DISPENSABLE = (
    re.compile(r"general\.(source|base_model\.\d+|dataset\.\d+)\.(description|url|repo_url|doi|uuid)"),
    re.compile(r"general\.(description|url|repo_url|doi|uuid)"),
    re.compile(r"general\.license\.(link|name)"),
    re.compile(r"general\.tags|general\.languages"),
    re.compile(r"general\.(source|base_model\.\d+|dataset\.\d+)\.(name|author|organization|version)"),
    re.compile(r"general\.(author|organization|quantized_by)"),
)


@dataclass(frozen=True, slots=True)
class NewHeader:
    """The bytes from 0 to the start of the data, and which descriptive keys had to go."""

    data: bytes
    given_up: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """A key on its way into the new header."""

    old: KeyEntry
    data: bytes
    changed: bool


def fit_header(header: HeaderMap, changes: Changes, room: int, inserted: int = 0) -> NewHeader | None:
    """A header that ends just before ``room``, the new start of the data; None if there is no way.

    ``inserted`` bytes have been put in at the front of the file. Descriptive keys are given up only as
    far as needed, and never after an insertion.
    """
    parts, added = _parts(header, changes)
    entries = _tensor_entries(header, changes)
    given_up: list[str] = []
    candidates = [] if inserted else dispensable(header)
    while True:
        data = _anchored(header, parts, added, entries, room, inserted)
        if data is None:
            data = _packed(header, parts, added, entries, room)
        if data is not None:
            return NewHeader(data, tuple(given_up))
        if not candidates:
            return None
        name = candidates.pop(0)
        given_up.append(name)
        parts = [part for part in parts if part.old.name != name]


def free_header(header: HeaderMap, changes: Changes) -> NewHeader:
    """A header of whatever length it needs, for a copy."""
    parts, added = _parts(header, changes)
    entries = _tensor_entries(header, changes)
    # The mark of a repair, because what was dropped will follow the last tensor.
    keys = [part.data for part in parts] + added + _filler(2 * SMALLEST_FILLER_BYTES, 1)
    data = _prefix(header, len(keys), entries) + b"".join(keys) + b"".join(entries)
    return NewHeader(data.ljust(padded(len(data), header.alignment), b"\0"))


def dispensable(header: HeaderMap) -> list[str]:
    """Names of purely descriptive keys, the most dispensable first, long ones before short ones."""
    names = []
    for pattern in _DISPENSABLE:
        found = [key for key in header.keys if pattern.fullmatch(key.name)]
        names += [key.name for key in sorted(found, key=lambda key: -key.size_bytes)]
    return names


def _parts(header: HeaderMap, changes: Changes) -> tuple[list[_Part], list[bytes]]:
    """The keys that stay, in their order, and the keys that come in addition."""
    parts = []
    used = set()
    for key in header.keys:
        if key.name in changes.removed or is_filler(key.name):
            continue
        name = changes.renamed.get(key.name, key.name)
        old = header.header[key.start : key.end]
        if name in changes.values:
            value = changes.values[name]
            data = _name(name) + struct.pack("<I", value.type) + value.data
        elif name != key.name:
            data = _name(name) + header.header[key.value_start - 4 : key.end]
        else:
            data = old
        used.add(name)
        parts.append(_Part(key, data, data != old))
    added = [
        _name(name) + struct.pack("<I", value.type) + value.data
        for name, value in changes.values.items()
        if name not in used
    ]
    return parts, added


def _tensor_entries(header: HeaderMap, changes: Changes) -> list[bytes]:
    """The entries of the tensors that stay, with offsets without gaps."""
    entries = []
    offset = 0
    for tensor in header.tensors:
        if tensor.name not in changes.dropped:
            entries.append(header.header[tensor.start : tensor.end - 8] + struct.pack("<Q", offset))
            offset += tensor.padded_bytes
    return entries


def _anchored(
    header: HeaderMap, parts: list[_Part], added: list[bytes], entries: list[bytes], room: int, inserted: int
) -> bytes | None:
    """A header in which everything from the first to the last big key stays where it is."""
    big = [i for i, part in enumerate(parts) if part.old.size_bytes >= _ANCHOR_BYTES and not part.changed]
    if not big:
        return None
    first, last = big[0], big[-1]
    middle = parts[first : last + 1]
    start, end = middle[0].old.start, middle[-1].old.end
    if any(part.changed for part in middle) or sum(len(part.data) for part in middle) != end - start:
        return None
    front_room = start - PREFIX_BYTES + inserted
    tail = [part.data for part in parts[last + 1 :]]
    for front_added in (added, []):
        front = [part.data for part in parts[:first]] + front_added
        moved = [] if front_added else list(added)
        # The first key is general.architecture, which some readers want there.
        while not _fillable(front_room - sum(map(len, front))) and len(front) > 1:
            moved.insert(0, front.pop())
        rest = front_room - sum(map(len, front))
        tail_end = end + inserted + sum(map(len, (*tail, *moved, *entries)))
        filler = _tail_filler(room - tail_end, header.alignment)
        if _fillable(rest) and filler is not None:
            keys = [*front, *_filler(rest, 0), header.header[start:end], *tail, *moved, *filler]
            count = len(front) + (rest > 0) + len(middle) + len(tail) + len(moved) + len(filler)
            return (_prefix(header, count, entries) + b"".join(keys) + b"".join(entries)).ljust(room, b"\0")
    return None


def _packed(
    header: HeaderMap, parts: list[_Part], added: list[bytes], entries: list[bytes], room: int
) -> bytes | None:
    """A header with all keys one behind the other."""
    keys = [part.data for part in parts] + added
    end = PREFIX_BYTES + sum(map(len, keys)) + sum(map(len, entries))
    filler = _tail_filler(room - end, header.alignment)
    if filler is None:
        return None
    keys += filler
    return (_prefix(header, len(keys), entries) + b"".join(keys) + b"".join(entries)).ljust(room, b"\0")


def _fillable(gap: int) -> bool:
    return gap == 0 or gap >= SMALLEST_FILLER_BYTES


def _tail_filler(gap: int, alignment: int) -> list[bytes] | None:
    """What brings the end of the header to the last alignment unit before the data; None: impossible."""
    if gap < 0:
        return None
    if gap < alignment:
        return []
    return _filler(gap, 1) if gap >= SMALLEST_FILLER_BYTES else None


def _filler(size: int, stem: int) -> list[bytes]:
    """One key of exactly ``size`` bytes that means nothing."""
    if not size:
        return []
    name = FILLER_STEMS[stem]
    text_bytes = size - (8 + len(name) + 4 + 8)
    if text_bytes >= 0:
        return [_name(name) + struct.pack("<IQ", STRING, text_bytes) + b" " * text_bytes]
    length = size - 13
    return [_name(name.ljust(length, ".")[:length]) + struct.pack("<IB", UINT8, 0)]


def _name(name: str) -> bytes:
    raw = name.encode()
    return struct.pack("<Q", len(raw)) + raw


def _prefix(header: HeaderMap, key_count: int, entries: list[bytes]) -> bytes:
    return struct.pack("<4sIQQ", MAGIC, header.version, len(entries), key_count)
