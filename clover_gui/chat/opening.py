"""Opens the chat database whatever state it is in, so that a chat is always possible.

Nothing is ever deleted here: a damaged file is set aside under a name with the time, and a file or folder
that cannot be written is copied into memory. The caller is told and tells the person.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from clover_gui.chat.salvage import Salvaged, salvage
from clover_gui.chat.schema import DamagedDatabase, DatabaseTooNew
from clover_gui.chat.store import ChatStore
from clover_gui.errors import ChatStoreError

_log = logging.getLogger(__name__)

_SIDE_FILES = ("", "-wal", "-shm")


class StoreCondition(StrEnum):
    """How the opening went. Everything but FINE and SET_ASIDE means: new chats are not kept."""

    FINE = "fine"
    SET_ASIDE = "set-aside"  # the file was damaged; a new one was begun with what could be saved of it
    READ_ONLY = "read-only"  # the folder or file cannot be written
    TOO_NEW = "too-new"  # written by a later version of the program
    UNUSABLE = "unusable"  # anything else


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """A store that works, and what is to be said about it.

    ``recovered`` counts answers that were cut by the end of the last run. ``set_aside`` is the new name
    of a damaged file, ``salvaged`` what was brought over from it. ``reason`` is the system's or SQLite's own
    word.
    """

    store: ChatStore
    condition: StoreCondition = StoreCondition.FINE
    recovered: int = 0
    set_aside: Path | None = None
    reason: str = ""
    salvaged: Salvaged = field(default_factory=Salvaged)

    @property
    def in_memory(self) -> bool:
        """Whether chats are lost when the program ends."""
        return self.condition not in (StoreCondition.FINE, StoreCondition.SET_ASIDE)


def open_store(path: Path, *, clock: Callable[[], float] = time.time) -> OpenedStore:
    """Open the chat database at ``path``, or the best that is possible instead. Never raises."""
    if reason := _why_not_writable(path):
        return _in_memory(path, StoreCondition.READ_ONLY, reason, clock)
    try:
        return _open_file(path, clock)
    except ChatStoreError as error:
        if isinstance(error.__cause__, DatabaseTooNew):
            return _in_memory(path, StoreCondition.TOO_NEW, error.reason, clock)
        if not _is_damage(error):
            return _in_memory(path, StoreCondition.UNUSABLE, error.reason, clock)
        _log.warning("the chat database is damaged: %s", error.reason)
        return _begin_anew(path, error.reason, clock)


def _open_file(path: Path, clock: Callable[[], float]) -> OpenedStore:
    store = ChatStore(path, clock=clock)
    try:
        store.check()
        return OpenedStore(store, recovered=store.recover())
    except ChatStoreError:
        store.close()
        raise


def _begin_anew(path: Path, reason: str, clock: Callable[[], float]) -> OpenedStore:
    try:
        set_aside = _set_aside(path, clock())
        store = ChatStore(path, clock=clock)
    except (OSError, ChatStoreError) as error:
        return _in_memory(path, StoreCondition.UNUSABLE, f"{reason}; {error}", clock)
    saved = salvage(set_aside, store)
    return OpenedStore(store, StoreCondition.SET_ASIDE, set_aside=set_aside, reason=reason, salvaged=saved)


def _in_memory(path: Path, condition: StoreCondition, reason: str, clock: Callable[[], float]) -> OpenedStore:
    store = ChatStore(clock=clock)
    recovered = 0
    if condition is StoreCondition.READ_ONLY and path.is_file():
        try:
            store.load_from(path)
            recovered = store.recover()
        except ChatStoreError as error:
            _log.warning("the chats so far cannot be read: %s", error.reason)
            store.close()
            store = ChatStore(clock=clock)
    return OpenedStore(store, condition, recovered=recovered, reason=reason)


def _why_not_writable(path: Path) -> str:
    """The system's reason why the file cannot be written, or "" when it can (or may be created)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        existed = path.exists()
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()  # SQLite makes its own file; nothing may be left where that fails
        # The journal beside the file must be possible as well.
        if not os.access(path.parent, os.W_OK):
            return os.strerror(errno.EACCES)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _is_damage(error: ChatStoreError) -> bool:
    """Whether SQLite found the content broken (as opposed to a lock, a full disk, missing rights)."""
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    if isinstance(code, int):
        return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return isinstance(cause, DamagedDatabase)


def _set_aside(path: Path, now: float) -> Path:
    """Rename the file and its journal to names with the time that are free; returns the new main name."""
    stamp = time.strftime("%Y-%m-%d-%H%M%S", time.localtime(now))
    number = 0
    while True:
        suffix = f".damaged-{stamp}" + (f"-{number}" if number else "")
        target = path.with_name(path.name + suffix)
        if not target.exists():
            break
        number += 1
    for side in _SIDE_FILES:
        source = path.with_name(path.name + side)
        if source.exists():
            source.rename(target.with_name(target.name + side))
    return target
