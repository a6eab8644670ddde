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

from clover_gui.download.json_file import read_json
from clover_gui.paths import DataFolder
from clover_gui.storage.belongings import belongings, other_models

# The data folder may be the home folder, so only whole names count.
_SETTINGS = tuple(
    name + ending
    for name in ("settings", "presets", "measurements", "access-token", "new-version", "moving-models")
    for ending in (".json", ".json*.new", ".json.tmp", ".broken.json", ".broken-*.json")
)
_CHATS = ("", "-wal", "-shm", "-journal", ".damaged-*")
_LOGS = ("window.log", "window.log.*", "terminal.log", "terminal.log.*")
_CACHES = ("engine", "logs")
_ENGINE_NOTE = "manifest.json"
_UNFINISHED_ENGINES = (".new-", ".old-", ".gone-", ".download-", ".lock")


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
    return (
        Place(PlaceKind.CHATS, data.root, _files(data.root, tuple(data.chats.name + end for end in _CHATS))),
        _models(locations),
        Place(PlaceKind.ENGINES, data.engines, _engines(data.engines), (data.engines,)),
        Place(PlaceKind.SETTINGS, data.root, _files(data.root, (*_SETTINGS, data.instance_lock.name))),
        Place(PlaceKind.LOGS, data.logs, _files(data.logs, _LOGS), (data.logs,)),
        Place(PlaceKind.CACHES, locations.cache, _trees(locations.cache, _CACHES), (locations.cache,)),
    )


def size_of(paths: Iterable[Path]) -> int:
    """Bytes of these files and folders as listed; what cannot be read counts nothing. Blocking."""
    return sum(_size(path) for path in paths)


def _models(locations: Locations) -> Place:
    usual = locations.data.models
    folders = [locations.models] if _is_same(locations.models, usual) else [locations.models, usual]
    found = [item for folder in folders for item in belongings(folder, every_model=False)]
    return Place(
        PlaceKind.MODELS,
        locations.models,
        tuple(path for item in found for path in (*item.files, *item.leftovers)),
        (usual,),
        sum(other_models(folder, every_model=False) for folder in folders),
    )


def _files(folder: Path, patterns: tuple[str, ...]) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    for pattern in patterns:
        try:
            found.update(dict.fromkeys(sorted(folder.glob(pattern))))
        except OSError:
            continue
    return tuple(path for path in found if path.is_file() and not path.is_symlink())


def _engines(folder: Path) -> tuple[Path, ...]:
    """Folders that say of themselves that they are an engine, and what an interrupted installation left."""
    try:
        entries = sorted(folder.iterdir()) if not folder.is_symlink() else []
    except OSError:
        return ()
    return tuple(entry for entry in entries if not entry.is_symlink() and _is_engine(entry))


def _is_engine(path: Path) -> bool:
    if path.name.startswith(_UNFINISHED_ENGINES):
        return True
    note = read_json(path / _ENGINE_NOTE)
    return note is not None and note.get("key") == path.name


def _trees(folder: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    paths = (folder / name for name in names)
    return tuple(path for path in paths if path.is_dir() and not path.is_symlink())


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
