"""Repair and undo: the whole way, safe against an end at any moment.

The order is always the same: the record with the original bytes, then the file, then a word in the
record that it is done. ``recovery.py`` makes sense of whatever an end in between leaves.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clover_gui.errors import (
    RepairContradictory,
    RepairDamaged,
    RepairFileInUse,
    RepairImpossible,
    RepairNotInPlace,
    RepairUndoMissing,
    RepairWriteFailed,
)
from clover_gui.i18n import capped
from clover_gui.patching import apply, copying, journal
from clover_gui.patching.apply import Mismatch
from clover_gui.patching.copying import Cancelled, Progress
from clover_gui.patching.diagnosis import AUTO, choose_target, diagnose_odd, diagnose_open
from clover_gui.patching.filesystem import ModelBytes, PatchFile, remove, sync_folder
from clover_gui.patching.findings import Diagnosis, Finding, Obstacle
from clover_gui.patching.header_map import NotUnderstood, read_map
from clover_gui.patching.journal import Head, Journal, Noted, State
from clover_gui.patching.ownership import foreign_owner, require_regular_file
from clover_gui.patching.plan import Way, Work, plan_work
from clover_gui.patching.recipe import make_changes
from clover_gui.patching.recovery import open_for_change, read_record, recover, restore, unlink_leftovers


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of ``repair``. ``changed`` is False where there was nothing to do.

    ``written_bytes`` counts model file and record; ``given_up`` names descriptive keys that wait in the
    record.
    """

    path: Path
    changed: bool
    target: str
    findings: tuple[Finding, ...] = ()
    way: Way | None = None
    written_bytes: int = 0
    seconds: float = 0.0
    given_up: tuple[str, ...] = ()


def repair(
    path: Path,
    known: Mapping[str, bool],
    *,
    target: str = AUTO,
    force: bool = False,
    reads_next_n: bool = True,
    allow_copy: bool = True,
    file_sha256: str = "",
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Repaired:
    """Make the file one that the engine can run. Idempotent; well under a second unless a copy is needed.

    ``known`` is what the engine says of architecture names. ``force`` applies contradictory findings one
    by one. Without ``allow_copy`` a file that needs a whole copy is left alone. ``file_sha256`` is noted in
    the record. ``progress`` (bytes done, bytes in all) and
    ``cancelled`` are asked while copying.

    Raises:
        ModelFileError: not a whole GGUF file.
        RepairError: one of its subclasses; except for RepairDamaged the file is as it was before.
    """
    started = time.monotonic()
    path = _own_file(path)
    recover(path)
    record = _fitting_record(path)
    if record is not None:
        if _serves(record, known, target):
            return Repaired(path, False, record.head.target)
        force = force or record.head.forced
        undo(path, progress=progress, cancelled=cancelled)
    try:
        seen = _fingerprint(path)
        with ModelBytes(path) as reader:
            header = read_map(reader.raw, path, reader.size)
            diagnosis = diagnose_open(reader.raw, header, known, target=target, reads_next_n=reads_next_n)
        if not _is_work(path, diagnosis, force):
            return Repaired(path, False, diagnosis.target)
        changes = make_changes(header, diagnosis, reads_next_n=reads_next_n)
        with open_for_change(path) as file:
            if _fingerprint(path) != seen:
                raise RepairFileInUse(path)
            work = plan_work(file, header, changes)
            if work.way is Way.COPY and not allow_copy:
                raise RepairImpossible(path, "no-room", f"{work.repaired_size} bytes")
            head = _head(work, diagnosis, force, file_sha256)
            if work.way is Way.COPY:
                written = _build_copy(file, head, work, progress, cancelled)
            else:
                written = _apply_in_place(file, head, work)
    except (NotUnderstood, OSError) as error:
        _is_work(path, diagnose_odd(path, known, str(error)), force)
        return Repaired(path, False, "")
    if work.way is Way.COPY:
        _take_place(path, State.APPLIED)
    seconds = time.monotonic() - started
    return Repaired(
        path, True, diagnosis.target, diagnosis.findings, work.way, written, seconds, work.given_up
    )


def undo(path: Path, *, progress: Progress | None = None, cancelled: Cancelled | None = None) -> None:
    """Bring the original back bit by bit.

    Raises:
        RepairUndoMissing: there is no record of a repair.
        RepairDamaged: the file is not the one that the record belongs to; nothing is changed.
        RepairError: as for ``repair``.
    """
    path = _own_file(path)
    recover(path)
    record = read_record(path)
    if record is None:
        raise RepairUndoMissing(path)
    with open_for_change(path) as file:
        if apply.is_original(file, record):
            journal.delete(record)  # the same file was brought here again
            return
        if not apply.is_repaired(file, record):
            raise RepairDamaged(path, "the file has been changed since it was repaired")
        if record.head.way is not Way.COPY:
            journal.append(record, State.UNDOING)
            restore(file, record)
            return
        try:
            copying.build_original(file, record.head, record.old, progress, cancelled)
            journal.append(record, State.UNDOING)
        except OSError as error:
            raise RepairWriteFailed(path, error.strerror or str(error), restored=True) from error
    _take_place(path, None)


def repaired_copy(
    source: Path,
    target: Path,
    known: Mapping[str, bool],
    *,
    wanted: str = AUTO,
    force: bool = False,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Repaired:
    """For files of others: a copy (shared blocks where the file system can) that is then repaired.

    Raises:
        RepairError, ModelFileError: as for ``repair``; no copy is left then.
    """
    require_regular_file(source)
    real = Path(os.path.realpath(source))
    try:
        if target.exists():
            raise FileExistsError(f"{target.name} is already there")
        copying.duplicate(real, target, progress, cancelled)
        sync_folder(target.parent)
    except OSError as error:
        raise RepairWriteFailed(target, error.strerror or str(error), restored=True) from error
    try:
        return repair(target, known, target=wanted, force=force, progress=progress, cancelled=cancelled)
    except BaseException:
        if not journal.journal_path(target).exists():
            remove(target)
        raise


def _own_file(path: Path) -> Path:
    require_regular_file(path)
    owner = foreign_owner(path)
    if owner:
        raise RepairNotInPlace(path, owner)
    return path


def _is_work(path: Path, diagnosis: Diagnosis, force: bool) -> bool:
    """Whether there is something to change; raises where that is impossible."""
    if diagnosis.obstacle is Obstacle.CONTRADICTORY and not force:
        raise RepairContradictory(path, diagnosis.obstacle_detail)
    if diagnosis.obstacle not in (Obstacle.NONE, Obstacle.CONTRADICTORY):
        raise RepairImpossible(path, diagnosis.obstacle.value, diagnosis.obstacle_detail)
    return bool(diagnosis.findings)


def _head(work: Work, diagnosis: Diagnosis, force: bool, file_sha256: str) -> Head:
    return journal.make_head(
        work,
        architecture=diagnosis.architecture,
        target=diagnosis.target,
        findings=tuple(
            Noted(finding.kind.value, len(finding.names), capped(finding.evidence, 300))
            for finding in diagnosis.findings
        ),
        forced=force and diagnosis.obstacle is Obstacle.CONTRADICTORY,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        file_sha256=file_sha256,
    )


def _apply_in_place(file: PatchFile, head: Head, work: Work) -> int:
    path = file.path
    try:
        written = journal.write(path, head, work)
    except OSError as error:
        raise RepairWriteFailed(path, error.strerror or str(error), restored=True) from error
    record = read_record(path)
    if record is None:
        raise RepairWriteFailed(path, "the undo record is gone", restored=True)
    try:
        apply.write_repair(file, work)
        journal.append(record, State.APPLIED)
    except (OSError, Mismatch) as error:
        restored = _try_restore(file, record)
        raise RepairWriteFailed(path, str(error), restored) from error
    return written + file.written_bytes


def _try_restore(file: PatchFile, record: Journal) -> bool:
    try:
        restore(file, record)
        return True
    except (RepairDamaged, RepairWriteFailed):
        return False


def _build_copy(
    file: PatchFile, head: Head, work: Work, progress: Progress | None, cancelled: Cancelled | None
) -> int:
    try:
        size = copying.build_repaired(file, work, progress, cancelled)
        return size + journal.write(file.path, head, work)
    except OSError as error:
        unlink_leftovers(file.path)
        raise RepairWriteFailed(file.path, error.strerror or str(error), restored=True) from error


def _take_place(path: Path, state: State | None) -> None:
    """The finished copy becomes the file; before this moment the old one is whole, after it the new one.

    Then the record says ``state``, or goes (None).
    """
    try:
        copying.copy_path(path).replace(path)
        sync_folder(path.parent)
        record = read_record(path)
        if record is not None and state is not None:
            journal.append(record, state)
        elif record is not None:
            journal.delete(record)
    except OSError as error:
        recover(path)
        raise RepairWriteFailed(path, error.strerror or str(error), restored=True) from error


def _fitting_record(path: Path) -> Journal | None:
    """The record of the repair that this very file has had; another file's record is set aside."""
    record = read_record(path)
    if record is None:
        return None
    with ModelBytes(path) as reader:
        if apply.is_repaired(reader, record):
            return record
        original = apply.is_original(reader, record)
    with open_for_change(path):
        if original:
            journal.delete(record)
        else:
            journal.set_aside(record)
    return None


def _serves(record: Journal, known: Mapping[str, bool], target: str) -> bool:
    """Whether the repair that the file has had is the one that is wanted."""
    if target == AUTO and known.get(record.head.target):
        return True
    wanted = choose_target(record.head.architecture, known, target)
    if not wanted:
        raise RepairImpossible(record.path, Obstacle.ENGINE_TOO_OLD.value, record.head.target)
    return wanted == record.head.target


def _fingerprint(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns
