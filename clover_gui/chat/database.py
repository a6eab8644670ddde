"""The connection to the chat database: opened, checked, read from and written to in transactions.

What is in it is ``store.py``'s matter, what to do about a file that cannot be used ``opening.py``'s.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from clover_gui.chat.private_file import make_private, take_from_others
from clover_gui.chat.schema import DamagedDatabase, DatabaseTooNew, check_layout, migrate
from clover_gui.chat.search_index import fault_of, index_answers, prepare_index, repair_index
from clover_gui.chat.side_files import beside, free_name, remove_own_sides, stats_of_sides
from clover_gui.chat.soundness import mend_numbers, misfit_of
from clover_gui.errors import ChatStoreError

IN_MEMORY = Path(":memory:")

_log = logging.getLogger(__name__)


class ChatDatabase:
    """One SQLite file with the layout of ``schema.py``."""

    def __init__(self, path: Path = IN_MEMORY, *, clock: Callable[[], float] = time.time) -> None:
        """Open or create the database.

        Raises:
            ChatStoreError: it cannot be opened; the cause is the sqlite3 or schema error.
        """
        self.path = path
        self.times_put_back = 0
        """How often the file was removed by somebody while it was open, and was written anew."""
        self.kept_apart: Path | None = None
        """The file in which it goes on since another file has taken the place of its own."""
        self._clock = clock
        self._open()

    def _open(self) -> None:
        path = self.path
        try:
            if path != IN_MEMORY:
                self._close_to_others()
            self._db = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise ChatStoreError(path, str(error)) from error
        # A byte that is no UTF-8 must not make a whole chat unreadable.
        self._db.text_factory = _text_of_bytes
        try:
            self._db.execute("PRAGMA foreign_keys = ON")
            if path != IN_MEMORY:
                self._db.execute("PRAGMA journal_mode = WAL")
                # In WAL mode FULL also outlives a loss of power, for one fsync per commit in our own thread.
                self._db.execute("PRAGMA synchronous = FULL")
            migrate(self._db)
            check_layout(self._db)
            self._indexed = prepare_index(self._db)
            self._sides = stats_of_sides(path)
            self._file = None if path == IN_MEMORY else path.stat()
        except Exception as error:
            self._db.close()
            raise ChatStoreError(path, str(error)) from error

    def _close_to_others(self) -> None:
        """What is said in chats is nobody else's business, whatever the rights of the folder."""
        names = [self.path.name + end for end in ("", "-wal", "-shm", "-journal")]
        take_from_others(*(self.path.with_name(name) for name in names))
        # Where it cannot be, SQLite says so in its own words.
        with contextlib.suppress(OSError):
            make_private(self.path)

    def close(self) -> None:
        """End the connection; a file that was removed meanwhile is written anew before, if that can be."""
        try:
            self.put_back_if_gone()
        except ChatStoreError as error:
            _log.warning("the chats are lost with their file: %s", error.reason)
        self._db.close()

    def put_back_if_gone(self) -> None:
        """Write the file anew where somebody removed it or its folder: the open connection still has all.

        Without this, everything said from now on would go into a file without a name, and be lost with it.
        Where another file has its name now, that one is left alone: this one goes on beside it.

        Raises:
            ChatStoreError: it cannot be written; this one is still open.
        """
        if self._file is None or self._is_in_place():
            return
        is_taken = os.path.lexists(self.path)
        goal = free_name(self.path, "apart", self._clock()) if is_taken else self.path
        copy = beside(self.path, ".again")
        try:
            # Not the folders above it: where those are gone, a disk was taken away.
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            copy.unlink(missing_ok=True)
            make_private(copy)
            with closing(sqlite3.connect(copy)) as target:
                self._db.backup(target)
            copy.replace(goal)
            # Before the new one is opened: it would take the old journal for its own. SQLite leaves that
            # where it is, since its file is not there any more.
            self._db.close()
            remove_own_sides(self.path, self._sides)
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise ChatStoreError(self.path, reason or str(error)) from error
        self.path = goal
        self._open()
        if is_taken:
            self.kept_apart = goal
            _log.warning("another file has taken the place of the chats; they go on in %s", goal.name)
            return
        self.times_put_back += 1
        _log.warning("the file with the chats was removed by somebody and was written anew")

    def _is_in_place(self) -> bool:
        assert self._file is not None
        try:
            return os.path.samestat(self._file, self.path.stat())
        except OSError:
            return False

    def check(self) -> None:
        """Let SQLite look for damage.

        Raises:
            ChatStoreError: with the first fault found; the cause is an sqlite3 or DamagedDatabase error.
        """
        with self._reading() as db:
            found = fault_of(db)
            if not found and self._indexed and not index_answers(db):
                found = "the index for searching is damaged"
            if found and self._indexed and repair_index(db):
                found = ""
            found = found or misfit_of(db)
        if found:
            raise ChatStoreError(self.path, found) from DamagedDatabase(found)
        with self._writing() as db:
            mend_numbers(db)

    def load_from(self, path: Path) -> None:
        """Take over the content of a file that is only read, never changed.

        Raises:
            ChatStoreError: it cannot be read, or was written by a later version.
        """
        uri = path.absolute().as_uri()
        with self._reading():
            try:
                self._copy_from(f"{uri}?mode=ro")
            except sqlite3.OperationalError:  # its journal index cannot be created in a read-only folder
                self._copy_from(f"{uri}?mode=ro&immutable=1")
        try:
            migrate(self._db)
            check_layout(self._db)
            self._indexed = prepare_index(self._db)
        except (sqlite3.Error, DatabaseTooNew, DamagedDatabase, UnicodeError) as error:
            raise ChatStoreError(path, str(error)) from error

    def fill(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Insert whole rows, tables in the order in which they need each other. A row that does not fit is
        left out; the others come in all or not at all.

        Raises:
            ChatStoreError: the database cannot be written.
        """
        with self._writing() as db:
            for table, rows in tables.items():
                for row in rows:
                    places = ", ".join("?" * len(row))
                    statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})"
                    try:
                        db.execute(statement, (*row.values(),))
                    except (sqlite3.IntegrityError, ValueError, OverflowError) as error:
                        _log.warning("a row of %s does not fit: %s", table, error)

    def count(self) -> tuple[int, int]:
        """Chats that are not deleted, and messages in them."""
        with self._reading() as db:
            chats = db.execute("SELECT count(*) FROM chats WHERE deleted IS NULL").fetchone()[0]
            messages = db.execute(
                "SELECT count(*) FROM messages JOIN chats c ON c.id = chat_id WHERE c.deleted IS NULL"
            ).fetchone()[0]
            return int(chats), int(messages)

    # ------------------------------------------------------------------ for the classes above

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._db
        except (sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
            # The latter ones: of a value that nobody has put there and that reads as something else.
            raise ChatStoreError(self.path, str(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self.put_back_if_gone()
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if isinstance(error, sqlite3.DatabaseError):
                    self._mend_index(error)
                raise

    def _mend_index(self, error: sqlite3.DatabaseError) -> bool:
        """Make the index for searching anew where this error comes from it: it is tried again then."""
        code = getattr(error, "sqlite_errorcode", 0)
        if not self._indexed or code & 0xFF != sqlite3.SQLITE_CORRUPT:
            return False
        mended = repair_index(self._db)
        _log.warning("the chat database: %s; index made anew: %s", error, mended)
        return mended

    def _copy_from(self, uri: str) -> None:
        with closing(sqlite3.connect(uri, uri=True)) as source:
            source.backup(self._db)


def _text_of_bytes(data: bytes) -> str:
    return data.decode("utf-8", "replace")
