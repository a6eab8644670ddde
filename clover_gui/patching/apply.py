"""Writing to a model file in place, and bringing the original back.

While bytes are changing the file's first four are zero: whatever happens, no program can load a file that
is half one thing and half the other. Each step lasts before the next one begins.
"""

from __future__ import annotations

import hashlib

from clover_gui.patching.filesystem import ModelBytes, PatchFile
from clover_gui.patching.header_map import MAGIC
from clover_gui.patching.journal import Journal
from clover_gui.patching.plan import Way, Work

_NO_MAGIC = bytes(len(MAGIC))


class Mismatch(Exception):
    """The bytes of the file are neither those of the original nor those that were written."""


def write_repair(file: PatchFile, work: Work) -> None:
    """Make the repaired file; the record must have been written.

    Raises:
        OSError: a write failed; ``write_original`` brings the file back.
        Mismatch: what was written cannot be read back.
    """
    inserted = len(work.front)
    if inserted:
        file.insert_front(inserted)
        file.sync()
    pieces = [(0, work.front)] if inserted else []
    pieces += [(part.offset + inserted, part.new) for part in work.ranges]
    _write(file, pieces)


def write_original(file: PatchFile, journal: Journal) -> None:
    """Bring the original back from any state in between; doing it twice does no harm.

    Raises:
        OSError: a write failed; it can be tried again.
        Mismatch: this is not the file that the record belongs to.
    """
    size = file.size
    inserted = journal.inserted if size == journal.head.repaired_size else 0
    if size != journal.head.original_size + inserted:
        raise Mismatch(f"{size} bytes")
    if not _samples_match(file, journal, inserted):
        raise Mismatch("the data is not that of the recorded file")
    if journal.inserted and not inserted:
        return  # nothing was inserted yet, or it has been taken out again
    if inserted:
        # The inserted block keeps its zeros until it goes, so that the file cannot be loaded before.
        file.write_at(0, _NO_MAGIC)
        file.sync()
        for (offset, _), old in zip(journal.head.ranges, journal.old, strict=True):
            file.write_at(offset + inserted, old)
        file.sync()
        file.collapse_front(inserted)
        file.sync()
    else:
        _write(
            file, [(offset, old) for (offset, _), old in zip(journal.head.ranges, journal.old, strict=True)]
        )


def is_repaired(file: ModelBytes, journal: Journal) -> bool:
    """Whether the file holds exactly what the recorded repair wrote."""
    head = journal.head
    if file.size != head.repaired_size:
        return False
    digest = hashlib.sha256()
    if head.way is Way.COPY or journal.inserted:
        digest.update(file.read_at(0, head.front_bytes))
    if head.way is not Way.COPY:
        for offset, length in head.ranges:
            digest.update(file.read_at(offset + journal.inserted, length))
    return digest.hexdigest() == head.new_sha256


def is_original(file: ModelBytes, journal: Journal) -> bool:
    """Whether the file holds the original bytes wherever the repair would change them."""
    if file.size != journal.head.original_size:
        return False
    digest = hashlib.sha256()
    for offset, length in journal.head.ranges:
        digest.update(file.read_at(offset, length))
    return digest.hexdigest() == journal.head.old_sha256 and _samples_match(file, journal, 0)


def _samples_match(file: ModelBytes, journal: Journal, inserted: int) -> bool:
    return all(
        hashlib.sha256(file.read_at(sample.offset + inserted, sample.length)).hexdigest() == sample.sha256
        for sample in journal.head.samples
    )


def _write(file: PatchFile, pieces: list[tuple[int, bytes]]) -> None:
    """Write pieces, the first of which begins with the magic, which comes last."""
    at, first = pieces[0]
    if at != 0 or not first.startswith(MAGIC):
        raise Mismatch("the first piece is not the start of a model file")
    file.write_at(0, _NO_MAGIC)
    file.sync()
    file.write_at(len(MAGIC), first[len(MAGIC) :])
    for offset, data in pieces[1:]:
        file.write_at(offset, data)
    file.sync()
    if any(file.read_at(offset, len(data)) != data for offset, data in pieces[1:]):
        raise Mismatch("what was written cannot be read back")
    file.write_at(0, MAGIC)
    file.sync()
