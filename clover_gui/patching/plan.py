"""From changes to work: which bytes of the file are replaced, and by which of the three ways.

In place where a header fits before the data; else with a block inserted at the front, where the file
system can; else a copy. Reads, but writes nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum

from clover_gui.patching import values
from clover_gui.patching.filesystem import PatchFile, block_bytes
from clover_gui.patching.gguf_edit import NewHeader, fit_header, free_header
from clover_gui.patching.header_map import HeaderMap, TensorEntry, padded
from clover_gui.patching.recipe import Changes

_COMPARED_BYTES = 1024
_SAMPLE_COUNT = 64
_SAMPLE_BYTES = 256


class Way(Enum):
    """How the file is changed."""

    IN_PLACE = "in-place"
    INSERT = "insert"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes that change: at ``offset`` of the original file."""

    offset: int
    old: bytes
    new: bytes


@dataclass(frozen=True, slots=True)
class Sample:
    """A piece of data that stays as it is, to recognise the file by: ``offset`` in the original file."""

    offset: int
    length: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of original bytes and where it stands in a copy."""

    original: int
    copied: int
    length: int


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that is to be done to one file.

    ``front`` are the bytes of the inserted block, or the whole header of a copy; ``ranges`` lie in the
    original's positions, for a copy with the whole old header as the first one.
    """

    way: Way
    front: bytes
    ranges: tuple[Range, ...]
    samples: tuple[Sample, ...]
    segments: tuple[Segment, ...]
    original_size: int
    repaired_size: int
    given_up: tuple[str, ...]


def plan_work(file: PatchFile, header: HeaderMap, changes: Changes) -> Work:
    """Choose the way and read the bytes that will be replaced."""
    tensors = _tensor_ranges(file, header, changes)
    samples = _samples(file, header, changes)
    fitting = _fit(file, header, changes) if _kept_is_prefix(header, changes) else None
    if fitting is None:
        return _copy_work(header, changes, tensors, samples)
    new, inserted = fitting
    ranges = (*_differences(header.header, new.data[inserted:], always_first=not inserted), *tensors)
    return Work(
        Way.INSERT if inserted else Way.IN_PLACE,
        new.data[:inserted],
        ranges,
        samples,
        (),
        header.file_size,
        header.file_size + inserted,
        new.given_up,
    )


def _fit(file: PatchFile, header: HeaderMap, changes: Changes) -> tuple[NewHeader, int] | None:
    new = fit_header(header, changes, header.data_offset)
    if new is not None:
        return new, 0
    block = block_bytes(file.path)
    if block:
        inserted = max(block, header.alignment)  # both are powers of two
        new = fit_header(header, changes, header.data_offset + inserted, inserted)
        if new is not None:
            return new, inserted
    return None


def _kept_is_prefix(header: HeaderMap, changes: Changes) -> bool:
    """The dropped tensors are the last ones: what stays needs no other offsets."""
    kept = len(header.tensors) - sum(tensor.name in changes.dropped for tensor in header.tensors)
    return not any(tensor.name in changes.dropped for tensor in header.tensors[:kept])


def _tensor_ranges(file: PatchFile, header: HeaderMap, changes: Changes) -> tuple[Range, ...]:
    ranges = []
    for tensor in header.tensors:
        transform = changes.transforms.get(tensor.name)
        if transform is not None:
            old = values.read_raw(file.raw, header, tensor)
            ranges.append(Range(header.data_offset + tensor.offset, old, transform(old)))
    return tuple(ranges)


def _samples(file: PatchFile, header: HeaderMap, changes: Changes) -> tuple[Sample, ...]:
    """The middles of up to 64 tensors that are not touched, spread over the file."""
    untouched = [t for t in header.tensors if t.name not in changes.transforms and t.size_bytes >= 32]
    step = max(1, len(untouched) // _SAMPLE_COUNT)
    samples = []
    for tensor in untouched[::step]:
        length = min(_SAMPLE_BYTES, tensor.size_bytes)
        offset = header.data_offset + tensor.offset + (tensor.size_bytes - length) // 2
        digest = hashlib.sha256(file.read_at(offset, length)).hexdigest()
        samples.append(Sample(offset, length, digest))
    return tuple(samples)


def _differences(old: bytes, new: bytes, *, always_first: bool) -> list[Range]:
    """The parts in which two headers of one length differ; the first always where its magic is switched."""
    ranges: list[Range] = []
    start = None
    for at in range(0, len(old) + _COMPARED_BYTES, _COMPARED_BYTES):
        end = at + _COMPARED_BYTES
        differs = old[at:end] != new[at:end] or (always_first and at == 0)
        if differs and start is None:
            start = at
        elif not differs and start is not None:
            ranges.append(Range(start, old[start:at], new[start:at]))
            start = None
    return ranges


def _copy_work(
    header: HeaderMap, changes: Changes, tensors: tuple[Range, ...], samples: tuple[Sample, ...]
) -> Work:
    """A copy in which the kept data closes up; what was dropped follows behind, so that nothing is lost."""
    new = free_header(header, changes)
    segments: list[Segment] = []
    at = len(new.data)
    for dropped in (False, True):
        for start, end in _runs(header, changes, dropped):
            at = padded(at, header.alignment)
            segments.append(Segment(start, at, end - start))
            at += end - start
    return Work(
        Way.COPY,
        new.data,
        (Range(0, header.header, b""), *tensors),
        samples,
        tuple(segments),
        header.file_size,
        at,
        (),
    )


def _runs(header: HeaderMap, changes: Changes, dropped: bool) -> list[tuple[int, int]]:
    """Neighbouring tensors of one kind as file positions; the last one reaches to the end of the file."""
    runs: list[tuple[int, int]] = []
    last: TensorEntry = header.tensors[-1]
    for tensor in header.tensors:
        if (tensor.name in changes.dropped) is not dropped:
            continue
        start = header.data_offset + tensor.offset
        end = header.file_size if tensor is last else start + tensor.padded_bytes
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs
