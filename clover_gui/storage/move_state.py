"""The note in the data folder that a move of the models is going on, so that a kill at any moment is mended.

Must not know: how files are carried.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from clover_gui.download.json_file import read_json
from clover_gui.patching.filesystem import remove, write_new

FILE_NAME = "moving-models.json"
_VERSION = 1


class Step(StrEnum):
    """How far a move has come. After COPYING it is only ever gone on with."""

    COPYING = "copying"  # the old folder has everything
    RENAMING = "renaming"  # on one disk: each file is in one of the two folders
    SWITCHING = "switching"  # the new folder has everything, and so perhaps has the old one
    REMOVING = "removing"  # the new folder is the one in use


@dataclass(frozen=True, slots=True)
class MoveState:
    """One move. ``note`` is the file that keeps this.

    ``kept`` are names that were in the target before, ``made_target`` says that the folder was not there,
    ``every_model`` is that of ``belongings`` for the source. ``planned`` are the models that were to be moved
    when it began, ``carried`` the files that arrived; while it is COPYING, those that it makes. Names are
    paths below the folders, with "/".
    """

    note: Path
    source: Path
    target: Path
    step: Step
    every_model: bool
    made_target: bool = False
    kept: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()

    def at(self, step: Step, carried: tuple[str, ...] | None = None) -> MoveState:
        """The same, so far, and noted on the disk. Raises OSError when that cannot be written."""
        state = replace(self, step=step, carried=self.carried if carried is None else carried)
        state.save()
        return state

    def save(self) -> None:
        """Raises OSError; the former note is untouched then."""
        values = {
            "version": _VERSION,
            "source": str(self.source),
            "target": str(self.target),
            "step": self.step.value,
            "every_model": self.every_model,
            "made_target": self.made_target,
            "kept": self.kept,
            "planned": self.planned,
            "carried": self.carried,
        }
        # In ASCII: names of files may hold bytes that are no text, and they come back as they were.
        write_new(self.note, json.dumps(values, indent=1).encode("ascii") + b"\n")

    def as_noted(self) -> MoveState:
        """This move as far as its note says, which may be farther than whoever holds this knows."""
        noted = pending_move(self.note.parent)
        same = noted is not None and (noted.source, noted.target) == (self.source, self.target)
        return noted if noted is not None and same else self

    def forget(self) -> None:
        """The move is over. Raises OSError."""
        remove(self.note)


def pending_move(data_root: Path) -> MoveState | None:
    """The move that was interrupted, if there is one. Never raises; a damaged note is none."""
    note = data_root / FILE_NAME
    value = read_json(note)
    if value is None or value.get("version") != _VERSION:
        return None
    source, target = value.get("source"), value.get("target")
    if not isinstance(source, str) or not isinstance(target, str):
        return None
    if not Path(source).is_absolute() or not Path(target).is_absolute():
        return None
    try:
        step = Step(str(value.get("step")))
    except ValueError:
        return None
    return MoveState(
        note,
        Path(source),
        Path(target),
        step,
        value.get("every_model") is True,
        value.get("made_target") is True,
        _names(value.get("kept")),
        _names(value.get("planned")),
        _names(value.get("carried")),
    )


def _names(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - from JSON
    """Names below the folder only: a damaged note must not lead anywhere else."""
    if not isinstance(value, list):
        return ()
    return tuple(name for name in value if isinstance(name, str) and _is_below(name))


def _is_below(name: str) -> bool:
    return all(part == Path(part).name and part not in ("", "..") for part in name.split("/"))
