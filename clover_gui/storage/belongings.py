"""Which files of a models folder belong to this program, and which of them belong together.

A folder for models may be anybody's: the home folder, or that of another program. Only what carries a mark
of ours counts there: a receipt, an undo record, or the name of an unfinished download. In the usual folder,
which nobody else uses, every model counts. Symbolic links never do.
Must not know: what is done with the files.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from clover_gui.download.part_state import PART_SUFFIX, STATE_SUFFIX
from clover_gui.download.receipt import RECEIPT_SUFFIX
from clover_gui.patching import copying, journal

MOVING_SUFFIX = ".clover-moving"
"""A copy that is still growing."""

MODEL_SUFFIX = ".gguf"
# What lies beside a model and goes where it goes.
_COMPANIONS = (RECEIPT_SUFFIX, journal.SUFFIX, journal.SUFFIX + ".old")
# What an interrupted run left; worth nothing, and made again where it is needed.
_LEFTOVERS = (
    copying.SUFFIX,
    journal.SUFFIX + ".tmp",
    RECEIPT_SUFFIX + ".new",
    MOVING_SUFFIX,
)
_PART = re.compile(r"[0-9a-f]{12}" + re.escape(PART_SUFFIX))


@dataclass(frozen=True, slots=True)
class Belonging:
    """One model, or one unfinished download, with all files that go with it; sizes in bytes.

    ``files`` begins with the small ones: where they are, their model can follow. ``leftovers`` need not be
    kept.
    """

    name: str
    files: tuple[Path, ...]
    size_bytes: int
    leftovers: tuple[Path, ...] = ()

    @property
    def is_download(self) -> bool:
        """An unfinished one."""
        return self.name.endswith(PART_SUFFIX)


def belongings(folder: Path, *, every_model: bool) -> tuple[Belonging, ...]:
    """What is ours in this folder (not below it), by name. Never raises; an unreadable folder has nothing.

    ``every_model``: also models without a mark, for the folder that only this program uses.
    """
    sizes = _regular_files(folder)
    found = []
    for name in sorted(sizes):
        if _PART.fullmatch(name):
            stem = name.removesuffix(PART_SUFFIX)
            companions = [stem + STATE_SUFFIX]
        elif _is_ours(name, sizes, every_model):
            companions = [name + suffix for suffix in _COMPANIONS]
        else:
            continue
        files = [companion for companion in companions if companion in sizes] + [name]
        found.append(
            Belonging(
                name,
                tuple(folder / file for file in files),
                sum(sizes[file] for file in files),
                tuple(folder / file for file in leftover_names(name) if file in sizes),
            )
        )
    return tuple(found)


def leftover_names(name: str) -> tuple[str, ...]:
    """Names that an interrupted run may have left beside a file of this name."""
    if _PART.fullmatch(name):
        stem = name.removesuffix(PART_SUFFIX)
        return (stem + ".lock", stem + STATE_SUFFIX + ".new", name + MOVING_SUFFIX)
    return tuple(name + suffix for suffix in _LEFTOVERS)


def other_models(folder: Path, *, every_model: bool) -> int:
    """How many model files lie there that are not ours."""
    sizes = _regular_files(folder)
    return sum(
        name.lower().endswith(MODEL_SUFFIX) and not _is_ours(name, sizes, every_model) for name in sizes
    )


def _is_ours(name: str, sizes: dict[str, int], every_model: bool) -> bool:
    if every_model and name.lower().endswith(MODEL_SUFFIX):
        return True
    return name + RECEIPT_SUFFIX in sizes or name + journal.SUFFIX in sizes


def _regular_files(folder: Path) -> dict[str, int]:
    """Names and sizes; links are left out, whatever they lead to."""
    found: dict[str, int] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_file(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False).st_size
                except OSError:
                    continue
    except OSError:
        return {}
    return found
