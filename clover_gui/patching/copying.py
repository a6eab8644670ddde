"""The last way: a whole copy beside the file, which then takes its place. And copies of files of others."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from clover_gui.errors import RepairCancelled, RepairNoSpace
from clover_gui.patching.filesystem import PatchFile, clone, copy_range, sync_fd
from clover_gui.patching.journal import Head
from clover_gui.patching.plan import Segment, Work

SUFFIX = ".clover-copy"
_MARGIN_BYTES = 64 << 20

Progress = Callable[[int, int], None]
Cancelled = Callable[[], bool]


def copy_path(model: Path) -> Path:
    """Where the copy grows; it is worth nothing until it has been renamed."""
    return model.with_name(model.name + SUFFIX)


def build_repaired(
    model: PatchFile, work: Work, progress: Progress | None, cancelled: Cancelled | None
) -> int:
    """The repaired copy, complete and on the disk, but not yet in place. Returns its size in bytes.

    Raises:
        RepairNoSpace: before anything is written.
        RepairCancelled: the part copy is removed.
        OSError: reading or writing failed; the part copy is removed.
    """
    moves = [(segment.original, segment.copied, segment.length) for segment in work.segments]
    patches = [(0, work.front)]
    patches += [(_copied(work.segments, part.offset), part.new) for part in work.ranges[1:]]
    return _build(model, moves, patches, work.repaired_size, progress, cancelled)


def build_original(
    model: PatchFile, head: Head, old: Sequence[bytes], progress: Progress | None, cancelled: Cancelled | None
) -> int:
    """The original made from a repaired copy; as ``build_repaired``."""
    moves = [(segment.copied, segment.original, segment.length) for segment in head.segments]
    patches = [(offset, data) for (offset, _), data in zip(head.ranges, old, strict=True)]
    return _build(model, moves, patches, head.original_size, progress, cancelled)


def duplicate(source: Path, target: Path, progress: Progress | None, cancelled: Cancelled | None) -> bool:
    """A copy of a file of others under a name of its own, complete or not there. True: blocks are shared.

    Raises:
        RepairNoSpace: before anything is written.
        RepairCancelled: nothing is left.
        OSError: reading or writing failed; nothing is left.
    """
    part = copy_path(target)
    size = source.stat().st_size
    try:
        with source.open("rb") as reader, part.open("wb") as writer:
            shared = clone(reader.fileno(), writer.fileno())
            if not shared:
                _require_space(target, size)
                _copy(reader.fileno(), writer.fileno(), [(0, 0, size)], size, target, progress, cancelled)
            sync_fd(writer.fileno())
        part.replace(target)
        return shared
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _build(
    source: PatchFile,
    moves: Sequence[tuple[int, int, int]],
    patches: Sequence[tuple[int, bytes]],
    size: int,
    progress: Progress | None,
    cancelled: Cancelled | None,
) -> int:
    model = source.path
    part = copy_path(model)
    _require_space(model, size)
    try:
        with part.open("wb") as writer:
            writer.truncate(size)
            _copy(source.raw.fileno(), writer.fileno(), moves, size, model, progress, cancelled)
            for offset, data in patches:
                writer.seek(offset)
                writer.write(data)
            writer.flush()
            sync_fd(writer.fileno())
        shutil.copymode(model, part)
        return size
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _copy(
    reader: int,
    writer: int,
    moves: Sequence[tuple[int, int, int]],
    size: int,
    model: Path,
    progress: Progress | None,
    cancelled: Cancelled | None,
) -> None:
    done = 0
    for start, to, length in moves:
        for count in copy_range(reader, writer, start, length, to):
            done += count
            if cancelled is not None and cancelled():
                raise RepairCancelled(model)
            if progress is not None:
                progress(done, size)


def _require_space(model: Path, size: int) -> None:
    available = shutil.disk_usage(os.path.realpath(model.parent)).free
    if available < size + _MARGIN_BYTES:
        raise RepairNoSpace(model, size + _MARGIN_BYTES, available)


def _copied(segments: Sequence[Segment], offset: int) -> int:
    """Where a byte of the original stands in the copy."""
    for segment in segments:
        if segment.original <= offset < segment.original + segment.length:
            return offset - segment.original + segment.copied
    raise AssertionError("a changed tensor lies outside the copied data")
