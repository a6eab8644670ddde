"""Brings the files of a move to the new folder: renamed on one disk, copied and checked onto another.

Must not know: what happens before and after that.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from clover_gui.download.file_lock import FileLock
from clover_gui.download.json_file import replace_file
from clover_gui.errors import MoveFailed, MoveNameTaken, MoveSourceInUse
from clover_gui.patching.filesystem import sync_folder
from clover_gui.storage.belongings import Belonging, belongings, check_listable
from clover_gui.storage.move_state import MoveState, Step
from clover_gui.storage.verified_copy import PIECE_BYTES, copy_verified


@dataclass(frozen=True, slots=True)
class MoveProgress:
    """``name`` is the model that is being carried; bytes of all files together, each counted twice."""

    name: str
    done_bytes: int
    total_bytes: int

    @property
    def fraction(self) -> float:
        return self.done_bytes / self.total_bytes if self.total_bytes else 1.0


Listener = Callable[[MoveProgress], None]
Cancelled = Callable[[], bool]


def carry(
    state: MoveState, listener: Listener, cancelled: Cancelled, piece_bytes: int = PIECE_BYTES
) -> MoveState:
    """Bring all files to the target; the state is SWITCHING when this returns. Blocking.

    Files that came into the source meanwhile come along. None of the plan may be missing.

    Raises:
        MoveCancelled: call ``take_back``, or ``carry`` again to go on.
        StorageError: the same choice.
    """
    state = state.as_noted()
    try:
        if state.step is Step.RENAMING:
            state = _rename_all(state)
        if state.step is Step.COPYING:
            state = _copy_all(state, listener, cancelled, piece_bytes)
        return state
    except OSError as error:
        raise MoveFailed(Path(error.filename or state.target), error.strerror or str(error)) from error


@contextlib.contextmanager
def downloads_stopped(items: tuple[Belonging, ...]) -> Iterator[None]:
    """Nobody may write to an unfinished download while it is carried."""
    locks: list[FileLock] = []
    try:
        for item in items:
            if item.is_download:
                part = item.files[-1]
                lock = FileLock(part.with_suffix(".lock"))
                if not lock.take():
                    raise MoveSourceInUse(part, "a download")
                locks.append(lock)
        yield
    finally:
        for lock in locks:
            lock.release()


def items_of(state: MoveState) -> tuple[Belonging, ...]:
    """What lies in the source and is to be moved. A target below the source is no part of that.

    Raises:
        OSError: the source cannot be listed.
    """
    check_listable(state.source)
    return belongings(state.source, every_model=state.every_model, without=state.target)


def below(file: Path, folder: Path) -> str:
    """The name of a file as a move notes it: its path below the folder, with "/"."""
    return file.relative_to(folder).as_posix()


def remove_empty(folder: Path, carried: Iterable[str]) -> None:
    """Take away the folders below this one that held these files, where nothing else is in them."""
    parents = {PurePosixPath(name).parent for name in carried}
    parents |= {above for parent in parents for above in parent.parents}
    for parent in sorted(parents - {PurePosixPath()}, key=lambda path: -len(path.parts)):
        with contextlib.suppress(OSError):
            (folder / parent).rmdir()


class _Counter:
    """Bytes of all files together, told to the listener with the name of the model."""

    def __init__(self, listener: Listener, total_bytes: int) -> None:
        self.name = ""
        self._listener = listener
        self._total_bytes = total_bytes
        self._done_bytes = 0

    def advance(self, count: int) -> None:
        self._done_bytes += count
        self._listener(MoveProgress(self.name, self._done_bytes, self._total_bytes))


def _rename_all(state: MoveState) -> MoveState:
    """Every file by its name. A kill leaves each in one of the folders, and the note has all names."""
    for name in state.carried:
        if not (state.source / name).exists() and not (state.target / name).exists():
            raise _missing(state, name)
    items = belongings(state.source, every_model=True, without=state.target)
    with downloads_stopped(tuple(item for item in items if item.name in state.carried)):
        for name in state.carried:
            old, new = state.source / name, state.target / name
            if not old.exists():
                continue
            if new.exists() or new.is_symlink():
                raise MoveNameTaken(new)
            try:
                new.parent.mkdir(parents=True, exist_ok=True)
                replace_file(old, new)
            except PermissionError as error:  # Windows: somebody has it open
                raise MoveSourceInUse(old, error.strerror or "") from error
            except OSError as error:
                # One disk that is mounted in two places: nothing was renamed yet.
                if error.errno != errno.EXDEV:
                    raise
                return state.at(Step.COPYING, ())
    _sync(state.target, state.carried)
    _sync(state.source, state.carried)
    return state.at(Step.SWITCHING)


def _copy_all(state: MoveState, listener: Listener, cancelled: Cancelled, piece_bytes: int) -> MoveState:
    carried: list[str] = []
    while items := _not_carried(state, carried):
        counter = _Counter(listener, 2 * sum(item.size_bytes for item in items))
        with downloads_stopped(items):
            for item in items:
                counter.name = item.name
                for file in item.files:
                    name = below(file, state.source)
                    copy = state.target / name
                    if not copy.exists() and not copy.is_symlink() and name not in state.carried:
                        state = state.at(Step.COPYING, (*state.carried, name))
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy_verified(file, copy, counter.advance, cancelled, piece_bytes)
        carried += [below(file, state.source) for item in items for file in item.files]
    _sync(state.target, carried)
    return state.at(Step.SWITCHING, tuple(carried))


def _not_carried(state: MoveState, carried: list[str]) -> tuple[Belonging, ...]:
    items = items_of(state)
    there = {*carried, *(item.name for item in items)}
    for name in state.planned:
        if name not in there:
            raise _missing(state, name)
    return tuple(
        item for item in items if any(below(file, state.source) not in carried for file in item.files)
    )


def _missing(state: MoveState, name: str) -> MoveFailed:
    """A model of the plan is nowhere: deleted, or on a disk that is away. That must not look like done."""
    return MoveFailed(state.source / name, os.strerror(errno.ENOENT))


def _sync(folder: Path, carried: Iterable[str]) -> None:
    for parent in {folder, *((folder / name).parent for name in carried)}:
        with contextlib.suppress(FileNotFoundError):
            sync_folder(parent)
