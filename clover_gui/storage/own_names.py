"""The names that this program gives to its files, and nobody else gives by chance.

The folders may be the home folder, so a name counts only as a whole, with the exact form of every number,
date and ending. Must not know: what is done with the files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from clover_gui.download.json_file import read_json

# The eight characters of a temporary file.
_RANDOM = r"[a-z0-9_]{8}"

SETTINGS = re.compile(
    r"(?:settings|presets|measurements|access-token|new-version|moving-models|moved-models)\.json"
    rf"|(?:settings|presets|measurements|access-token)\.json{_RANDOM}\.new"
    r"|(?:new-version|moved-models)\.json\.new|moving-models\.json\.tmp"
    r"|(?:settings|presets)\.broken(?:-\d+)?\.json"
    r"|instance\.lock"
)
CHATS = re.compile(
    r"chats\.sqlite3"
    r"(?:\.again|\.salvaging|\.salvaged|\.(?:damaged|apart)-\d{4}-\d\d-\d\d-\d{6}(?:-\d+)?)?"
    r"(?:-wal|-shm|-journal)?"
)
LOGS = re.compile(r"(?:window|terminal)\.log(?:\.\d+)?")

_ENGINE_FILES = re.compile(
    r"\.lock|\.working\.json(?:\.new)?|\.download-[0-9a-f]{16}\.(?:whl|json(?:\.new)?)"
)
_UNFINISHED_ENGINE = re.compile(rf"\.(?:new|gone|old)-{_RANDOM}")
_ENGINE_NOTE = "manifest.json"
_ENGINE_MARK = ".clover-temporary"
_MARK_BYTES = b"Made by Clover "

# What the set-up keeps in the folder of caches.
_SETUP_LOGS = re.compile(r"(?:set-up|engine)\.log")
_WHEELS = re.compile(r"llama_cpp_python-[0-9][^/]*\.whl(?:\.part)?")
_SOURCES = re.compile(r"llama_cpp_python-[0-9][0-9.]*\.tar\.gz")
_WHEEL_FOLDER = re.compile(r"\d+(?:\.\d+)+-[a-z0-9_.+-]+")
_BUILD_FOLDER = re.compile(rf"work-{_RANDOM}")
_SETUP_LOCK = re.compile(r"lock")


def files_named(folder: Path, pattern: re.Pattern[str]) -> tuple[Path, ...]:
    """Ordinary files whose whole name fits. Never raises."""
    return tuple(Path(entry) for entry in _entries(folder) if _fits(entry, pattern, is_folder=False))


def folders_named(folder: Path, pattern: re.Pattern[str]) -> tuple[Path, ...]:
    """Folders whose whole name fits, and no links to folders. Never raises."""
    return tuple(Path(entry) for entry in _entries(folder) if _fits(entry, pattern, is_folder=True))


def engine_entries(folder: Path) -> tuple[Path, ...]:
    """Whole engines, and what an interrupted installation left, in the folder of engines."""
    if folder.is_symlink():
        return ()
    whole = []
    for entry in _entries(folder):
        if _is_kind(entry, is_folder=True) and (note := read_json(Path(entry) / _ENGINE_NOTE)):
            whole += [Path(entry)] if note.get("key") == entry.name else []
    unfinished = (path for path in folders_named(folder, _UNFINISHED_ENGINE) if _is_marked(path))
    return (*whole, *unfinished, *files_named(folder, _ENGINE_FILES))


def cached_entries(cache: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """What the set-up keeps there, and the folders that it made, the inner ones first."""
    engine, logs = cache / "engine", cache / "logs"
    own: list[Path] = []
    folders: list[Path] = []
    if not engine.is_symlink():
        lock = files_named(engine, _SETUP_LOCK)
        wheels = [path for path in folders_named(engine, _WHEEL_FOLDER) if files_named(path, _WHEELS)]
        sources = engine / "sources"
        own += [file for folder in wheels for file in files_named(folder, _WHEELS)]
        if not sources.is_symlink():
            own += files_named(sources, _SOURCES)
        if lock:  # it builds nowhere without
            own += folders_named(engine, _BUILD_FOLDER)
        own += lock
        folders += [*wheels, sources, engine]
    if not logs.is_symlink():
        own += files_named(logs, _SETUP_LOGS)
        folders.append(logs)
    return tuple(own), (*folders, cache)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return


def _fits(entry: os.DirEntry[str], pattern: re.Pattern[str], *, is_folder: bool) -> bool:
    return pattern.fullmatch(entry.name) is not None and _is_kind(entry, is_folder=is_folder)


def _is_kind(entry: os.DirEntry[str], *, is_folder: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) if is_folder else entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _is_marked(folder: Path) -> bool:
    """Whether the small file of ours is in it, or nothing at all: then nothing is lost."""
    mark = folder / _ENGINE_MARK
    try:
        if not any(folder.iterdir()):
            return True
        return mark.is_file() and not mark.is_symlink() and mark.read_bytes().startswith(_MARK_BYTES)
    except OSError:
        return False
