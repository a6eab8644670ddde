"""Which files of a models folder belong to this program, which are models at all, and which belong together.

A folder for models may be anybody's: the home folder, or that of another program. To be moved, everything
in it counts that is a model; to be removed, only what carries a mark of ours that is read and fits: a
receipt, the notes of an unfinished download, or a line in the list of what was moved. A file that was only
repaired is its owner's. Folders are looked into as deep as by the list of models. Symbolic links never count.
Must not know: what is done with the files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clover_gui.catalog.places import DEPTH, MOST_ENTRIES
from clover_gui.download.part_state import PART_SUFFIX, STATE_SUFFIX, load_state
from clover_gui.download.receipt import RECEIPT_SUFFIX, read_receipt
from clover_gui.patching import copying, journal
from clover_gui.patching.header_map import MAGIC

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

Known = Callable[[Path], bool]
"""Whether a file is ours although nothing beside it says so."""


@dataclass(frozen=True, slots=True)
class Belonging:
    """One model, or one unfinished download, with all files that go with it; sizes in bytes.

    ``name`` is its path below the folder, with "/". ``files`` begins with the small ones: where they are,
    their model can follow. ``leftovers`` need not be kept.
    """

    name: str
    files: tuple[Path, ...]
    size_bytes: int
    leftovers: tuple[Path, ...] = ()

    @property
    def is_download(self) -> bool:
        """An unfinished one."""
        return self.name.endswith(PART_SUFFIX)


def belongings(
    folder: Path, *, every_model: bool, known: Known | None = None, without: Path | None = None
) -> tuple[Belonging, ...]:
    """What is ours in this folder and below it, by name. Never raises; an unreadable folder has nothing:
    where that matters, see ``check_listable``.

    ``every_model``: also models without a mark. ``known`` says of further ones that they are ours.
    ``without`` is a folder that is left out, with all below it.
    """
    found = []
    for below, sizes in _levels(folder, without):
        for name in sorted(sizes):
            if below == "" and _is_download(folder / name, sizes):
                companions = [name.removesuffix(PART_SUFFIX) + STATE_SUFFIX]
            elif _counts(folder / below / name, sizes, every_model, known):
                companions = [name + suffix for suffix in _COMPANIONS]
            else:
                continue
            files = [companion for companion in companions if companion in sizes] + [name]
            found.append(
                Belonging(
                    below + name,
                    tuple(folder / below / file for file in files),
                    sum(sizes[file] for file in files),
                    tuple(folder / below / file for file in leftover_names(name) if file in sizes),
                )
            )
    return tuple(found)


def check_listable(folder: Path) -> None:
    """Raises OSError where the folder cannot be listed: it is gone, or its disk is away."""
    with os.scandir(folder):
        pass


def finished_records(
    folder: Path, *, known: Known | None = None, without: Path | None = None
) -> tuple[Path, ...]:
    """Undo records of ours beside files that are whole and somebody else's. Never raises."""
    return tuple(
        journal.journal_path(folder / below / name)
        for below, sizes in _levels(folder, without)
        for name in sorted(sizes)
        if name + journal.SUFFIX in sizes
        and not _counts(folder / below / name, sizes, every_model=False, known=known)
        and _record_state(folder / below / name) is journal.State.APPLIED
    )


def leftover_names(name: str) -> tuple[str, ...]:
    """Names that an interrupted run may have left beside a file of this name."""
    if _PART.fullmatch(name):
        stem = name.removesuffix(PART_SUFFIX)
        return (stem + ".lock", stem + STATE_SUFFIX + ".new", name + MOVING_SUFFIX)
    return tuple(name + suffix for suffix in _LEFTOVERS)


def other_models(
    folder: Path, *, every_model: bool, known: Known | None = None, without: Path | None = None
) -> int:
    """How many files that are called models lie there and below and are none of the ``belongings``."""
    return sum(
        name.lower().endswith(MODEL_SUFFIX) and not _counts(folder / below / name, sizes, every_model, known)
        for below, sizes in _levels(folder, without)
        for name in sizes
    )


def _counts(path: Path, sizes: dict[str, int], every_model: bool, known: Known | None) -> bool:
    name = path.name
    if name + RECEIPT_SUFFIX in sizes and _fits_receipt(path, sizes):
        return True
    if not name.lower().endswith(MODEL_SUFFIX):
        return False
    return (every_model and _is_model(path)) or (known is not None and known(path))


def _fits_receipt(path: Path, sizes: dict[str, int]) -> bool:
    receipt = read_receipt(path)
    if receipt is None:
        return False
    # In the middle of a repair its size is another one.
    is_repaired = path.name + journal.SUFFIX in sizes and _record_state(path) is not None
    return receipt.file_size_bytes == sizes[path.name] or is_repaired


def _record_state(path: Path) -> journal.State | None:
    """How far the repair of this file has come; None without a record of ours."""
    try:
        record = journal.read(path)
    except journal.JournalUnreadable:
        return None
    return None if record is None else record.state


def _is_download(path: Path, sizes: dict[str, int]) -> bool:
    """Whether this is the beginning of a file, and the note beside it says of which."""
    if not _PART.fullmatch(path.name):
        return False
    stem = path.name.removesuffix(PART_SUFFIX)
    if stem + STATE_SUFFIX not in sizes:
        return False
    state = load_state(path.with_name(stem + STATE_SUFFIX))
    return state is not None and state.source.sha256.startswith(stem)


def _is_model(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _levels(folder: Path, without: Path | None) -> Iterator[tuple[str, dict[str, int]]]:
    """The folder and those below it, each with its path ("" or "a/b/"), and its files with their sizes."""
    left = MOST_ENTRIES
    waiting = [("", DEPTH)]
    while waiting:
        below, depth = waiting.pop(0)
        sizes, folders, count = _listed(folder / below)
        left -= count
        if left < 0 and below:
            return
        yield below, sizes
        if depth > 0:
            waiting += [
                (f"{below}{name}/", depth - 1)
                for name in folders
                if without is None or folder / below / name != without
            ]


def _listed(folder: Path) -> tuple[dict[str, int], list[str], int]:
    """Files with sizes, folders, and how many entries there were; links are left out, wherever they lead."""
    sizes: dict[str, int] = {}
    folders: list[str] = []
    count = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                try:
                    if entry.is_file(follow_symlinks=False):
                        sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                except OSError:
                    continue
    except OSError:
        return {}, [], 0
    return sizes, sorted(folders), count
