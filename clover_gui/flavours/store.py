"""The folder of installed engines: list, find, put in, take out, and sweep what a killed run left.

A flavour is there whole or not at all: it is made in a temporary folder and renamed into place; one that is
removed or replaced is renamed into such a folder first. A temporary folder has a name of a fixed form and a
small file of ours in it from its beginning to its end; whatever lacks one of the two is left alone. Knows
nothing of where flavours come from.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from clover_gui.download.file_lock import FileLock
from clover_gui.download.json_file import replace_file
from clover_gui.errors import FlavourBusy
from clover_gui.flavours.flavour import Flavour, is_key, read_manifest

_NEW, _GONE, _OLD = ".new-", ".gone-", ".old-"
_TEMPORARY = re.compile(r"\.(?:new|gone|old)-[a-z0-9_]{8}")
_MARK = ".clover-temporary"
_MARK_TEXT = "Made by Clover while an engine is installed or removed. It may be deleted.\n"
_MADE = "made"
PART_PREFIX = ".download-"
_PART = re.compile(r"\.download-[0-9a-f]{16}\.(?:whl|json)")
# An unfinished download is worth going on with for a while.
_PART_LIFE_S = 14 * 86400.0
_log = logging.getLogger(__name__)


class FlavourStore:
    """``folder`` need not exist; it is made when something is installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> tuple[Flavour, ...]:
        """What is installed, by key. Never raises."""
        try:
            places = sorted(self.folder.iterdir())
        except OSError:
            return ()
        found = (read_manifest(place) for place in places if is_key(place.name))
        return tuple(flavour for flavour in found if flavour is not None)

    def get(self, key: str) -> Flavour | None:
        """One flavour by its key, which may be any text."""
        return read_manifest(self.folder / key) if is_key(key) else None

    def library_folder(self, key: str) -> Path:
        """Where the libraries of a flavour lie."""
        return self.folder / key

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Held while something is installed or removed: one process at a time.

        Raises:
            FlavourBusy: another one is at it.
            OSError: the folder cannot be made.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / ".lock")
        if not lock.take():
            raise FlavourBusy("another window or terminal installs or removes an engine just now")
        try:
            yield
        finally:
            lock.release()

    @contextlib.contextmanager
    def making(self) -> Iterator[Path]:
        """An empty folder to make a flavour in; what is still in it at the end is removed."""
        place = self._temporary(_NEW)
        try:
            made = place / _MADE
            made.mkdir()
            yield made
        finally:
            _discard(place)

    def put(self, made: Path, key: str) -> None:
        """Rename a whole flavour into place; one of the same key makes way for it.

        Raises:
            OSError: it cannot be done; what was there is there still.
        """
        target = self.folder / key
        if not target.exists():
            replace_file(made, target)
            return
        aside = self._temporary(_OLD)
        try:
            replace_file(target, aside / key)
            try:
                replace_file(made, target)
            except OSError:
                replace_file(aside / key, target)
                raise
        finally:
            if target.exists():  # else the old one is in there, and the next sweep brings it back
                _discard(aside)

    def remove(self, key: str) -> None:
        """Take a flavour away; nothing happens where there is none.

        Raises:
            FlavourBusy: another process changes the engines.
            OSError: it cannot be done, on Windows while the engine runs from it; it is there still, whole.
        """
        if not is_key(key) or not (self.folder / key).exists():
            return
        with self.changing():
            gone = self._temporary(_GONE)
            try:
                replace_file(self.folder / key, gone / key)
            finally:
                _discard(gone)

    def sweep(self) -> None:
        """Remove what killed runs left, and bring back what was being replaced. Never raises."""
        if not self.folder.is_dir():
            return
        try:
            with self.changing():
                for place in list(self.folder.iterdir()):
                    with contextlib.suppress(OSError):  # one that cannot be removed keeps no other
                        self._sweep_one(place)
        except (OSError, FlavourBusy) as error:
            _log.info("the folder of engines was not swept: %s", error)

    def _sweep_one(self, place: Path) -> None:
        if _PART.fullmatch(place.name):
            if _is_plain_file(place) and time.time() - place.stat().st_mtime > _PART_LIFE_S:
                place.unlink()
        elif _TEMPORARY.fullmatch(place.name) and not place.is_symlink() and place.is_dir():
            if not any(place.iterdir()):
                place.rmdir()  # killed before it was marked; if it is somebody's, nothing is lost
            elif _is_marked(place):
                if place.name.startswith(_OLD):
                    self._bring_back(place)
                _discard(place)

    def _bring_back(self, aside: Path) -> None:
        """What was set aside, unless something is in its place."""
        for old in list(aside.iterdir()):
            if not (self.folder / old.name).exists() and self._is_flavour(old):
                replace_file(old, self.folder / old.name)

    @staticmethod
    def _is_flavour(place: Path) -> bool:
        return is_key(place.name) and not place.is_symlink() and read_manifest(place) is not None

    def _temporary(self, prefix: str) -> Path:
        """A new folder with the mark that it is ours."""
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=self.folder))
        try:
            (place / _MARK).write_text(_MARK_TEXT, encoding="utf-8")
        except OSError:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return place


def _is_marked(place: Path) -> bool:
    mark = place / _MARK
    try:
        return _is_plain_file(mark) and mark.read_bytes().startswith(_MARK_TEXT.strip().encode())
    except OSError:
        return False


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _discard(place: Path) -> None:
    """Remove a temporary folder, the mark last: after a kill it is still known whose it is."""
    with contextlib.suppress(OSError):
        for inside in list(place.iterdir()):
            if inside.name == _MARK:
                continue
            if inside.is_dir() and not inside.is_symlink():
                shutil.rmtree(inside, ignore_errors=True)
            else:
                inside.unlink()
        if [left.name for left in place.iterdir()] == [_MARK]:
            (place / _MARK).unlink()
        place.rmdir()
