"""Removes what this program keeps, as it was shown before. Must not know: who asked, and how."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clover_gui.errors import MoveFailed
from clover_gui.storage.move_state import Step, pending_move
from clover_gui.storage.moving import take_back
from clover_gui.storage.places import Place, PlaceKind


@dataclass(frozen=True, slots=True)
class NotRemoved:
    """What stayed, and the system's reason."""

    path: Path
    reason: str


def remove_places(places: Sequence[Place], root: Path) -> tuple[NotRemoved, ...]:
    """Remove everything of ours in these places, then the folders that are empty now; returns what stayed.

    ``root`` is the data folder; it goes too if nothing is left in it. Links are removed as links. Blocking.
    """
    failed: list[NotRemoved] = []
    if any(place.kind is PlaceKind.MODELS for place in places):
        _drop_copies(root)
    for place in places:
        for path in place.own:
            _remove(path, failed)
        for folder in place.folders:
            _remove_empty(folder)
    _remove_empty(root)
    return tuple(failed)


def _drop_copies(root: Path) -> None:
    """Copies of a move that was interrupted lie in a folder that nothing else knows of."""
    state = pending_move(root)
    if state is not None and state.step is Step.COPYING:
        with contextlib.suppress(MoveFailed):
            take_back(state)


def _remove(path: Path, failed: list[NotRemoved]) -> None:
    def note(_function: object, name: str, error: tuple[object, BaseException, object]) -> None:
        failed.append(NotRemoved(Path(name), _reason(error[1])))

    try:
        if stat.S_ISDIR(path.stat(follow_symlinks=False).st_mode):
            shutil.rmtree(path, onerror=note)  # does not go through links
        else:
            path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        failed.append(NotRemoved(path, _reason(error)))


def _remove_empty(folder: Path) -> None:
    try:
        if not folder.is_symlink():
            os.rmdir(folder)  # noqa: PTH106 - refuses a folder that holds anything
    except OSError:
        return


def _reason(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
