"""The folder of installed engines: list, find, put in, take out, and sweep what a killed run left.

A flavour is there whole or not at all: it is made in a folder whose name begins with a dot and renamed into
place; one that is removed or replaced is renamed away first. Knows nothing of where flavours come from.
"""

from __future__ import annotations

import contextlib
import logging
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
PART_PREFIX = ".download-"
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
        place = Path(tempfile.mkdtemp(prefix=_NEW, dir=self.folder))
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def put(self, made: Path, key: str) -> None:
        """Rename a whole flavour into place; one of the same key makes way for it.

        Raises:
            OSError: it cannot be done; what was there is there still.
        """
        target, aside = self.folder / key, self.folder / f"{_OLD}{key}"
        shutil.rmtree(aside, ignore_errors=True)
        replaced = target.exists()
        if replaced:
            replace_file(target, aside)
        try:
            replace_file(made, target)
        except OSError:
            if replaced:
                replace_file(aside, target)
            raise
        shutil.rmtree(aside, ignore_errors=True)

    def remove(self, key: str) -> None:
        """Take a flavour away; nothing happens where there is none.

        Raises:
            FlavourBusy: another process changes the engines.
            OSError: it cannot be done, on Windows while the engine runs from it; it is there still, whole.
        """
        if not is_key(key) or not (self.folder / key).exists():
            return
        with self.changing():
            gone = Path(tempfile.mkdtemp(prefix=_GONE, dir=self.folder))
            try:
                replace_file(self.folder / key, gone / key)
            finally:
                shutil.rmtree(gone, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what killed runs left, and bring back what was being replaced. Never raises."""
        if not self.folder.is_dir():
            return
        try:
            with self.changing():
                for place in list(self.folder.iterdir()):
                    self._sweep_one(place)
        except (OSError, FlavourBusy) as error:
            _log.info("the folder of engines was not swept: %s", error)

    def _sweep_one(self, place: Path) -> None:
        name = place.name
        if name.startswith(_OLD):
            key = name.removeprefix(_OLD)
            if is_key(key) and not (self.folder / key).exists() and _is_whole(place, key):
                replace_file(place, self.folder / key)
            else:
                shutil.rmtree(place, ignore_errors=True)
        elif name.startswith((_NEW, _GONE)):
            shutil.rmtree(place, ignore_errors=True)
        elif name.startswith(PART_PREFIX) and time.time() - place.stat().st_mtime > _PART_LIFE_S:
            place.unlink(missing_ok=True)


def _is_whole(place: Path, key: str) -> bool:
    """Whether the folder that was set aside holds a manifest for this key."""
    try:
        return f'"key": "{key}"' in (place / "manifest.json").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
