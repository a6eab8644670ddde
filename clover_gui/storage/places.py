"""Where everything lies that this program keeps, and what of it is surely its own.

Only names that this program gives count as its own: whatever else lies in these folders is nobody's
business here, also when a folder is a link or the home folder. Links are never followed.
Must not know: what is in the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from clover_gui.paths import DataFolder
from clover_gui.storage import own_names
from clover_gui.storage.belongings import belongings, finished_records, other_models
from clover_gui.storage.moved_files import MovedFiles


class PlaceKind(StrEnum):
    """What is kept, in the order in which people ask for it."""

    CHATS = "chats"
    MODELS = "models"
    ENGINES = "engines"
    SETTINGS = "settings"
    LOGS = "logs"
    CACHES = "caches"


@dataclass(frozen=True, slots=True)
class Locations:
    """The folders in use. ``models`` may be anybody's; ``cache`` holds what can be made again."""

    data: DataFolder
    models: Path
    cache: Path


@dataclass(frozen=True, slots=True)
class Place:
    """One kind of things and where they lie.

    ``own`` are files and whole folders that are ours; ``folders`` may go when nothing is left in them.
    ``others`` counts model files that are not ours.
    """

    kind: PlaceKind
    folder: Path
    own: tuple[Path, ...]
    folders: tuple[Path, ...] = ()
    others: int = 0


def find_places(locations: Locations) -> tuple[Place, ...]:
    """All kinds, also those of which nothing is there. Blocking (lists folders); never raises."""
    data = locations.data
    cached, cache_folders = own_names.cached_entries(locations.cache)
    logs = () if data.logs.is_symlink() else own_names.files_named(data.logs, own_names.LOGS)
    return (
        Place(PlaceKind.CHATS, data.root, own_names.files_named(data.root, own_names.CHATS)),
        _models(locations),
        Place(PlaceKind.ENGINES, data.engines, own_names.engine_entries(data.engines), (data.engines,)),
        Place(PlaceKind.SETTINGS, data.root, own_names.files_named(data.root, own_names.SETTINGS)),
        Place(PlaceKind.LOGS, data.logs, logs, (data.logs,)),
        Place(PlaceKind.CACHES, locations.cache, cached, cache_folders),
    )


def size_of(paths: Iterable[Path]) -> int:
    """Bytes of these files and folders as listed; what cannot be read counts nothing. Blocking."""
    return sum(_size(path) for path in paths)


def _models(locations: Locations) -> Place:
    chosen, usual = locations.models, locations.data.models
    private = _is_private(locations.data)
    known = MovedFiles(locations.data.root).knows
    folders = [usual]
    if not _is_same(chosen, usual) and not (private and chosen.is_relative_to(usual)):
        folders = [chosen, usual]
    own: list[Path] = []
    others = 0
    for folder in folders:
        is_usual = _is_same(folder, usual)
        all_of_it, without = private and is_usual, None if is_usual else usual
        for item in belongings(folder, every_model=all_of_it, known=known, without=without):
            own += (*item.files, *item.leftovers)
        if not all_of_it:
            own += finished_records(folder, known=known, without=without)
        others += other_models(folder, every_model=all_of_it, known=known, without=without)
    below = {above for path in own for above in path.parents if usual in above.parents}
    emptied = sorted(below, key=lambda path: -len(path.parts))
    return Place(PlaceKind.MODELS, chosen, tuple(dict.fromkeys(own)), (*emptied, usual), others)


def _is_private(data: DataFolder) -> bool:
    """Whether the usual models folder is surely nobody else's: the data folder is not the home folder."""
    try:
        home = Path.home().resolve()
    except RuntimeError:  # there is none
        return True
    root = data.root.resolve()
    return root != home and root not in home.parents


def _size(path: Path) -> int:
    try:
        if path.is_symlink() or not path.is_dir():
            return path.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
    return sum(entry.stat(follow_symlinks=False).st_size for entry in _walk(path))


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield entry
    except OSError:
        return


def _is_same(one: Path, other: Path) -> bool:
    return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))
