"""Moves the models to another folder: copied and checked first, then in use, and only then removed here.

    begin ──► carry ──► (the setting is switched by the caller) ──► finish
                 └────► take_back

Until the switch the old folder has everything; after it the new one has. On one disk the files are renamed.
A kill at any moment leaves a note from which ``carry``, ``finish`` or ``take_back`` go on.
Must not know: settings, the engine, windows.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from clover_gui.download.json_file import replace_file
from clover_gui.download.manager import free_bytes
from clover_gui.errors import MoveFailed, MoveNameTaken, MoveNoSpace, MoveTargetUnusable, StorageError
from clover_gui.patching.filesystem import sync_folder
from clover_gui.patching.recovery import recover_folder
from clover_gui.storage.belongings import Belonging, belongings, check_listable, leftover_names
from clover_gui.storage.carrying import below, downloads_stopped, items_of, remove_empty
from clover_gui.storage.move_state import FILE_NAME, MoveState, Step
from clover_gui.storage.moved_files import MovedFiles
from clover_gui.storage.verified_copy import growing_path, is_the_copy

MARGIN_BYTES = 64 << 20


def begin(
    data_root: Path,
    source: Path,
    target: Path,
    *,
    every_model: bool,
    free: Callable[[Path], int] = free_bytes,
) -> MoveState:
    """Look whether the move is possible, and note that it has begun. Blocking.

    Raises:
        MoveTargetUnusable, MoveNoSpace, MoveNameTaken, MoveSourceInUse: nothing was changed.
        MoveFailed: the source cannot be listed, or has no model: its disk may be away.
    """
    if _same_folder(source, target):
        raise MoveTargetUnusable(target, "same")
    items = _put_in_order(source, target, every_model)
    files = [file for item in items for file in item.files]
    made = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target):
            pass
        renaming = source.stat().st_dev == target.stat().st_dev
        pairs = [(file, target / below(file, source)) for file in files]
        _require_names(pairs, may_be_same=not renaming)
        if not renaming:
            _require_room(pairs, target, free)
        state = MoveState(
            data_root / FILE_NAME,
            source,
            target,
            Step.RENAMING if renaming else Step.COPYING,
            every_model,
            made,
            kept=tuple(below(file, source) for file, new in pairs if new.exists()),
            planned=tuple(item.name for item in items if not item.is_download),
            carried=tuple(below(file, source) for file in files) if renaming else (),
        )
        with downloads_stopped(items):
            state.save()
    except OSError as error:
        _remove_made(target, made)
        raise MoveTargetUnusable(target, error.strerror or str(error)) from error
    except StorageError:
        _remove_made(target, made)
        raise
    return state


def can_finish(state: MoveState) -> bool:
    """Whether the target has everything that was carried there; False while its disk is away."""
    return state.step in (Step.SWITCHING, Step.REMOVING) and all(
        (state.target / name).is_file() for name in state.carried
    )


def finish(state: MoveState) -> tuple[Path, ...]:
    """The new folder is in use: remove what lies in the old one; returns what could not be removed.

    A file that was changed there since, or of which the new folder has no copy, stays. Blocking. What is
    held by another program (Windows) is tried again when this is called once more.

    Raises:
        MoveFailed: the note cannot be written; nothing was removed.
    """
    try:
        if state.step is not Step.REMOVING:
            state = state.at(Step.REMOVING)
    except OSError as error:
        raise MoveFailed(state.note, error.strerror or str(error)) from error
    busy: list[Path] = []
    for name in state.carried:
        old = state.source / name
        if is_the_copy(old, state.target / name) and not _is_one_file(old, state.target / name):
            _try_to_remove(old, busy)
        if not old.exists():
            for leftover in leftover_names(old.name):
                _try_to_remove(old.with_name(leftover), busy)
    if not busy:
        remove_empty(state.source, state.carried)
        with contextlib.suppress(OSError):
            sync_folder(state.source)
        with contextlib.suppress(OSError):  # else the next start does it once more
            arrived = (state.target / name for name in state.carried if name not in state.kept)
            MovedFiles(state.note.parent).add(arrived)
            state.forget()
    return tuple(busy)


def take_back(state: MoveState) -> None:
    """The old folder stays in use: remove the copies, or rename back. Only while it is COPYING or RENAMING.

    Raises:
        MoveFailed: it must be tried again; every model is still whole in one of the two folders. So while
            the source cannot be listed: the copies may be all that is left.
    """
    state = state.as_noted()
    if state.step not in (Step.COPYING, Step.RENAMING):
        raise ValueError("after the switch a move is finished, not taken back")
    try:
        check_listable(state.source)
        if state.step is Step.RENAMING:
            for name in state.carried:
                if not (state.source / name).exists() and not (state.target / name).exists():
                    check_listable(state.target)
                if (state.target / name).exists() and not (state.source / name).exists():
                    (state.source / name).parent.mkdir(parents=True, exist_ok=True)
                    replace_file(state.target / name, state.source / name)
            remove_empty(state.target, state.carried)
        else:
            found = [below(file, state.source) for item in items_of(state) for file in item.files]
            for name in dict.fromkeys((*found, *state.carried)):
                _remove_copy(state, name)
            remove_empty(state.target, (*found, *state.carried))
        _remove_made(state.target, state.made_target)
        state.forget()
    except OSError as error:
        raise MoveFailed(Path(error.filename or state.target), error.strerror or str(error)) from error


def _remove_copy(state: MoveState, name: str) -> None:
    """A copy that the move itself has made; one of the person's own stays."""
    copy = state.target / name
    growing_path(copy).unlink(missing_ok=True)
    if name in state.carried and name not in state.kept and is_the_copy(state.source / name, copy):
        copy.unlink()


def _put_in_order(source: Path, target: Path, every_model: bool) -> tuple[Belonging, ...]:
    """What is to be moved, once repairs that were interrupted are ended."""
    try:
        check_listable(source)
    except OSError as error:
        raise MoveFailed(source, error.strerror or str(error)) from error
    recover_folder(source)
    items = belongings(source, every_model=every_model, without=target)
    for folder in {item.files[-1].parent for item in items} - {source}:
        recover_folder(folder)
    items = belongings(source, every_model=every_model, without=target)
    if not items:
        raise MoveFailed(source, os.strerror(errno.ENOENT))
    return items


def _require_names(pairs: list[tuple[Path, Path]], *, may_be_same: bool) -> None:
    for file, there in pairs:
        same = may_be_same and there.is_file() and _size(file) == _size(there)
        if there.is_symlink() or (there.exists() and not same):
            raise MoveNameTaken(there)


def _require_room(pairs: list[tuple[Path, Path]], target: Path, free: Callable[[Path], int]) -> None:
    needed = sum(
        max(0, file.stat().st_size - _size(growing_path(new))) for file, new in pairs if not new.exists()
    )
    room = free(target)
    if needed and needed + MARGIN_BYTES > room:
        raise MoveNoSpace(target, needed + MARGIN_BYTES, room)


def _try_to_remove(path: Path, busy: list[Path]) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        busy.append(path)


def _same_folder(one: Path, other: Path) -> bool:
    return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))


def _is_one_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _remove_made(folder: Path, made: bool) -> None:
    """Take away a folder that was made for the move; one with anything in it stays."""
    if made:
        with contextlib.suppress(OSError):
            folder.rmdir()
