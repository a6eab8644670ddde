"""What is the state of this file, and what was interrupted? Runs at every start and before every load.

Whatever a repair left behind is finished or taken back here, so that a file is always wholly the original
or wholly the repaired one before anybody loads it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from clover_gui.errors import RepairDamaged, RepairFileInUse, RepairWriteFailed
from clover_gui.i18n import capped
from clover_gui.model_file.container import read_container
from clover_gui.patching import apply, copying, journal
from clover_gui.patching.apply import Mismatch
from clover_gui.patching.filesystem import Busy, PatchFile, unfinished
from clover_gui.patching.header_map import MAGIC
from clover_gui.patching.journal import Head, Journal, JournalUnreadable, State
from clover_gui.patching.ownership import users
from clover_gui.patching.plan import Way


class Recovered(Enum):
    """What ``recover`` found and did."""

    NOTHING = "nothing"
    FINISHED = "finished"
    ROLLED_BACK = "rolled-back"


def recover(path: Path) -> Recovered:
    """Finish or take back whatever was interrupted. Cheap where nothing was.

    Raises:
        RepairDamaged: neither the original nor the repaired file can be made; the file cannot be loaded.
        RepairFileInUse, RepairWriteFailed: it has to be tried again.
    """
    record = read_record(path)
    if record is None or record.state is State.APPLIED:
        _remove_leftovers(path)
        return Recovered.NOTHING
    if not path.exists():
        raise RepairDamaged(path, "the file is gone")
    with open_for_change(path) as file:
        unlink_leftovers(path)
        if apply.is_repaired(file, record):
            # The last word is missing, or the undoing had not begun.
            journal.append(record, State.APPLIED)
            return Recovered.FINISHED
        if apply.is_original(file, record) and _magic(file) == MAGIC:
            journal.delete(record)
            return Recovered.ROLLED_BACK
        if record.head.way is Way.COPY:
            raise RepairDamaged(path, "the file is neither the original nor the repaired copy")
        restore(file, record)
        return Recovered.ROLLED_BACK


def recover_folder(folder: Path) -> dict[Path, Recovered]:
    """``recover`` for every file of a folder that has a record; failures are left for the load."""
    results = {}
    for record in sorted(folder.glob("*" + journal.SUFFIX)):
        model = record.with_name(record.name.removesuffix(journal.SUFFIX))
        try:
            results[model] = recover(model)
        except (OSError, RepairDamaged, RepairFileInUse, RepairWriteFailed):
            continue
    return results


def is_clean(path: Path) -> bool:
    """Whether the file is wholly original or wholly repaired, so that it may be loaded. Never raises."""
    try:
        with path.open("rb") as file:
            whole = file.read(len(MAGIC)) == MAGIC
        record = journal.read(path)
    except JournalUnreadable:
        return whole  # the record is lost, but the file is not in the middle of a change
    except OSError:
        return False
    return whole and (record is None or record.state is State.APPLIED)


def state_of(path: Path) -> Head | None:
    """The facts of the repair that this file has had, or None. Never raises."""
    with contextlib.suppress(JournalUnreadable):
        record = journal.read(path)
        if record is not None and record.state is State.APPLIED and _size(path) == record.head.repaired_size:
            return record.head
    return None


def read_record(path: Path) -> Journal | None:
    try:
        return journal.read(path)
    except JournalUnreadable as error:
        if is_clean(path):
            return None
        raise RepairDamaged(path, f"the undo record cannot be read: {capped(str(error))}") from error


@contextlib.contextmanager
def open_for_change(path: Path) -> Iterator[PatchFile]:
    """The file, held by nobody else."""
    found = users(path)
    if found:
        raise RepairFileInUse(path, tuple(f"{user.name} ({user.pid})" for user in found[:5]))
    try:
        file = PatchFile(path)
    except Busy as error:
        raise RepairFileInUse(path) from error
    except OSError as error:
        read_container(path)
        raise RepairWriteFailed(path, error.strerror or str(error), restored=True) from error
    with file:
        yield file


def restore(file: PatchFile, record: Journal) -> None:
    try:
        apply.write_original(file, record)
        if not apply.is_original(file, record):
            raise RepairDamaged(file.path, "the original cannot be read back")
        journal.delete(record)
    except Mismatch as error:
        raise RepairDamaged(file.path, str(error)) from error
    except OSError as error:
        raise RepairWriteFailed(file.path, error.strerror or str(error), restored=False) from error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _remove_leftovers(path: Path) -> None:
    """Parts of an interrupted run, unless that run is still going on."""
    names = (copying.copy_path(path), unfinished(journal.journal_path(path)))
    if any(name.exists() for name in names):
        with contextlib.suppress(OSError, Busy), PatchFile(path):
            unlink_leftovers(path)


def unlink_leftovers(path: Path) -> None:
    for name in (copying.copy_path(path), unfinished(journal.journal_path(path))):
        with contextlib.suppress(OSError):
            name.unlink(missing_ok=True)


def _magic(file: PatchFile) -> bytes:
    return file.read_at(0, len(MAGIC))
