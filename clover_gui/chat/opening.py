"""Opens the chat database whatever state it is in, so that a chat is always possible.

Nothing is ever deleted here: a damaged file is set aside under a name with the time, when what could be saved
of it is in a new one; a file or folder that cannot be written is copied into memory. The caller is told and
tells the person.
"""

from __future__ import annotations

import contextlib
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
from clover_gui.chat.side_files import beside, free_name, remove_all, rename_all
from clover_gui.chat.sqlite_journal import holds_pages
from clover_gui.chat.store import ChatStore
from clover_gui.errors import ChatStoreError

_log = logging.getLogger(__name__)

_MAGIC = b"SQLite format 3\0"
_GROWING, _WHOLE = ".salvaging", ".salvaged"
"""What the names of a new file end in: while it is filled, and when all is in it."""
_NOT_OF_THE_CONTENT = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOLFS,
    }
)


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
        _finish_last_time(path, clock)
        if reason := _plainly_damaged(path):
            return _begin_anew(path, reason, clock)
        return _open_file(path, clock)
    except ChatStoreError as error:
        if isinstance(error.__cause__, DatabaseTooNew):
            return _in_memory(path, StoreCondition.TOO_NEW, error.reason, clock)
        if not _is_damage(error):
            return _in_memory(path, StoreCondition.UNUSABLE, error.reason, clock)
        return _begin_anew(path, error.reason, clock)
    except OSError as error:
        return _in_memory(path, StoreCondition.UNUSABLE, error.strerror or str(error), clock)


def _open_file(path: Path, clock: Callable[[], float]) -> OpenedStore:
    store = ChatStore(path, clock=clock)
    try:
        store.check()
        return OpenedStore(store, recovered=store.recover())
    except ChatStoreError:
        store.close()
        raise


def _begin_anew(path: Path, reason: str, clock: Callable[[], float]) -> OpenedStore:
    """Build a new file beside the damaged one, and only when it is whole let it take the other's name.

    Whatever fails or ends the program before that, the damaged file is found again at the next start.
    """
    _log.warning("the chat database is damaged: %s", reason)
    growing = beside(path, _GROWING)
    try:
        remove_all(growing)
        saved = _salvage_into(growing, path, clock)
        whole = growing.replace(beside(path, _WHOLE))
        set_aside = _set_aside(path, clock())
        whole.replace(path)
        store = ChatStore(path, clock=clock)
    except Exception as error:  # of a file in which anything may stand: the program must begin all the same
        _log.warning("the damaged chats could not be brought over: %s", error, exc_info=True)
        with contextlib.suppress(OSError):
            remove_all(growing)
        return _in_memory(path, StoreCondition.UNUSABLE, f"{reason}; {error}", clock)
    return OpenedStore(store, StoreCondition.SET_ASIDE, set_aside=set_aside, reason=reason, salvaged=saved)


def _salvage_into(growing: Path, damaged: Path, clock: Callable[[], float]) -> Salvaged:
    store = ChatStore(growing, clock=clock)
    try:
        saved = salvage(damaged, store)
    finally:
        store.close()
    if beside(growing, "-wal").exists():
        raise ChatStoreError(growing, "its journal could not be written into it")
    return saved


def _salvage_to_look_at(damaged: Path, store: ChatStore) -> Salvaged:
    """What can be shown of a file that could not be opened or brought over, for this time only."""
    try:
        return salvage(damaged, store)
    except Exception as error:
        _log.warning("nothing of the damaged chats can be shown: %s", error)
        return Salvaged()


def _finish_last_time(path: Path, clock: Callable[[], float]) -> None:
    """The program ended between setting the damaged file aside and giving its name to the new one."""
    whole = beside(path, _WHOLE)
    if whole.exists() and not path.exists():
        _set_aside(path, clock())  # its journal, if that is still here
        whole.replace(path)


def _plainly_damaged(path: Path) -> str:
    """What is wrong with a file that SQLite must not touch, since it would throw its journal away, or ""."""
    size = path.stat().st_size if path.exists() else 0
    if size == 0:
        return "the file is empty, its journal is not" if holds_pages(beside(path, "-wal")) else ""
    with path.open("rb") as file:
        return "" if file.read(len(_MAGIC)) == _MAGIC else "the file is not a database"


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
            return OpenedStore(store, condition, reason=reason, salvaged=_salvage_to_look_at(path, store))
    elif condition is StoreCondition.UNUSABLE:
        return OpenedStore(store, condition, reason=reason, salvaged=_salvage_to_look_at(path, store))
    return OpenedStore(store, condition, recovered=recovered, reason=reason)


def _why_not_writable(path: Path) -> str:
    """The system's reason why the file cannot be written, or "" when it can (or may be created)."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        existed = path.exists()
        if existed and not path.is_file():
            return "not an ordinary file"  # opening a pipe would wait for somebody who reads from it
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
    """Whether it is the content that is wrong (as opposed to a lock, a full disk, missing rights).

    Anything may follow from a wrong byte, up to a table that is not there; so what counts is what does not.
    """
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    if isinstance(code, int):
        if code == sqlite3.SQLITE_READONLY:  # the file can be written, but says of itself that it cannot
            return True
        return code & 0xFF not in _NOT_OF_THE_CONTENT and "no such module: fts5" not in str(cause)
    return isinstance(cause, DamagedDatabase | ValueError | TypeError | OverflowError | RecursionError)


def _set_aside(path: Path, now: float) -> Path:
    """Rename the file and its journal to names with the time that are free; returns the new main name, or
    that of the journal where there is no more than that."""
    target = free_name(path, "damaged", now)
    rename_all(path, target)
    return target if target.exists() else beside(target, "-wal")
