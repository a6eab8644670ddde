"""The record beside a repaired file, from which the original can be had back bit by bit.

Written whole before the first byte of the model changes; afterwards only short state words are appended.
Layout: a line that names the format, the length of a JSON head, the head, its checksum, the compressed
original bytes, then state records of 16 bytes each. A torn last record is ignored, the one before it
stands.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from clover_gui.patching.filesystem import remove, sync_fd, sync_folder, write_new
from clover_gui.patching.plan import Sample, Segment, Way, Work

SUFFIX = ".clover-undo"
_FORMAT = b"clover-gui undo record 1\n"
_LENGTH = struct.Struct("<Q")
_RECORD = struct.Struct("<12sI")
_LARGEST_HEAD_BYTES = 64 << 20


class State(Enum):
    """How far the work on the file has come."""

    APPLYING = "applying"
    APPLIED = "applied"
    UNDOING = "undoing"


class JournalUnreadable(Exception):
    """The record is damaged or of another version."""


@dataclass(frozen=True, slots=True)
class Noted:
    """One finding that was repaired, as it is shown later."""

    kind: str
    count: int
    evidence: str


@dataclass(frozen=True, slots=True)
class Head:
    """Facts of one repair. Positions are those of the original file; sha256 in hex.

    ``old_sha256`` is that of all original bytes that were replaced, in order; ``new_sha256`` that of
    ``front`` followed by the new bytes (of a copy: of its header). ``file_sha256`` is the hub's value for
    the original, where it was known.
    """

    way: Way
    architecture: str
    target: str
    original_size: int
    repaired_size: int
    front_bytes: int
    ranges: tuple[tuple[int, int], ...]
    old_sha256: str
    new_sha256: str
    samples: tuple[Sample, ...]
    segments: tuple[Segment, ...]
    findings: tuple[Noted, ...]
    given_up: tuple[str, ...]
    forced: bool = False
    created: str = ""
    file_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Journal:
    """A record that has been read; ``old`` holds the original bytes of each range."""

    path: Path
    head: Head
    old: tuple[bytes, ...]
    state: State

    @property
    def inserted(self) -> int:
        """Bytes put in at the front."""
        return self.head.front_bytes if self.head.way is Way.INSERT else 0


def journal_path(model: Path) -> Path:
    """Where the record of a model file lies."""
    return model.with_name(model.name + SUFFIX)


def make_head(
    work: Work,
    *,
    architecture: str,
    target: str,
    findings: tuple[Noted, ...],
    forced: bool,
    created: str,
    file_sha256: str,
) -> Head:
    """The head of a record for this work."""
    new = hashlib.sha256(work.front)
    old = hashlib.sha256()
    for part in work.ranges:
        old.update(part.old)
        if work.way is not Way.COPY:
            new.update(part.new)
    return Head(
        way=work.way,
        original_size=work.original_size,
        repaired_size=work.repaired_size,
        front_bytes=len(work.front),
        ranges=tuple((part.offset, len(part.old)) for part in work.ranges),
        old_sha256=old.hexdigest(),
        new_sha256=new.hexdigest(),
        samples=work.samples,
        segments=work.segments,
        given_up=work.given_up,
        architecture=architecture,
        target=target,
        findings=findings,
        forced=forced,
        created=created,
        file_sha256=file_sha256,
    )


def write(model: Path, head: Head, work: Work) -> int:
    """Write the record with the state "applying"; it lasts when this returns. Returns its size in bytes."""
    fields = dataclasses.asdict(head) | {"way": head.way.value}
    text = json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode()
    body = zlib.compress(b"".join(part.old for part in work.ranges), 1)
    data = b"".join(
        (
            _FORMAT,
            _LENGTH.pack(len(text)),
            text,
            hashlib.sha256(text).digest(),
            _LENGTH.pack(len(body)),
            body,
            _record(State.APPLYING, text),
        )
    )
    write_new(journal_path(model), data)
    return len(data)


def read(model: Path) -> Journal | None:
    """The record beside a model file, or None where there is none.

    Raises:
        JournalUnreadable: damaged, or written by a later version.
    """
    path = journal_path(model)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalUnreadable(str(error)) from error
    try:
        return _parse(path, data)
    except (struct.error, ValueError, TypeError, KeyError, zlib.error) as error:
        raise JournalUnreadable(str(error)) from error


def append(journal: Journal, state: State) -> None:
    """Note that the work has come so far; it lasts when this returns."""
    text = _head_bytes(journal.path.read_bytes())
    with journal.path.open("r+b", buffering=0) as file:
        end = file.seek(0, 2)
        # A torn record would shift all that follow.
        start = len(_FORMAT) + _LENGTH.size + len(text) + 32
        file.seek(start)
        body = start + _LENGTH.size + _LENGTH.unpack(file.read(_LENGTH.size))[0]
        file.seek(body + (end - body) // _RECORD.size * _RECORD.size)
        file.truncate()
        file.write(_record(state, text))
        sync_fd(file.fileno())
    sync_folder(journal.path.parent)


def delete(journal: Journal) -> None:
    """The original is back: the record goes."""
    remove(journal.path)


def set_aside(journal: Journal) -> None:
    """The record belongs to another file that had this name; it is kept under another one."""
    journal.path.replace(journal.path.with_name(journal.path.name + ".old"))
    sync_folder(journal.path.parent)


def _head_bytes(data: bytes) -> bytes:
    if not data.startswith(_FORMAT):
        raise ValueError("not a record of this version")
    at = len(_FORMAT)
    length = _LENGTH.unpack_from(data, at)[0]
    if length > _LARGEST_HEAD_BYTES:
        raise ValueError("the head is too long")
    at += _LENGTH.size
    text = data[at : at + length]
    if hashlib.sha256(text).digest() != data[at + length : at + length + 32]:
        raise ValueError("the head is damaged")
    return text


def _parse(path: Path, data: bytes) -> Journal:
    text = _head_bytes(data)
    head = _head(json.loads(text))
    at = len(_FORMAT) + _LENGTH.size + len(text) + 32
    length = _LENGTH.unpack_from(data, at)[0]
    at += _LENGTH.size
    total = sum(size for _, size in head.ranges)
    body = zlib.decompressobj().decompress(data[at : at + length], total + 1)
    if len(body) != total or hashlib.sha256(body).hexdigest() != head.old_sha256:
        raise ValueError("the original bytes are damaged")
    old = []
    start = 0
    for _, size in head.ranges:
        old.append(body[start : start + size])
        start += size
    return Journal(path, head, tuple(old), _state(data[at + length :], text))


def _state(records: bytes, text: bytes) -> State:
    state = None
    for start in range(0, len(records) - _RECORD.size + 1, _RECORD.size):
        record = records[start : start + _RECORD.size]
        state = next((s for s in State if _record(s, text) == record), state)
    if state is None:
        raise ValueError("there is no state")
    return state


def _record(state: State, text: bytes) -> bytes:
    word = state.value.encode().ljust(12, b"\n")
    return _RECORD.pack(word, zlib.crc32(word + text))


def _head(fields: dict[str, Any]) -> Head:
    known = {field.name for field in dataclasses.fields(Head)}
    values = {name: value for name, value in fields.items() if name in known}
    values["way"] = Way(values["way"])
    values["ranges"] = tuple((int(offset), int(size)) for offset, size in values["ranges"])
    values["samples"] = tuple(Sample(**sample) for sample in values["samples"])
    values["segments"] = tuple(Segment(**segment) for segment in values["segments"])
    values["findings"] = tuple(Noted(**noted) for noted in values["findings"])
    values["given_up"] = tuple(values["given_up"])
    return Head(**values)
