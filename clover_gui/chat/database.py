"""The connection to the chat database: opened, checked, read from and written to in transactions.

What is in it is ``store.py``'s matter, what to do about a file that cannot be used ``opening.py``'s.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from clover_gui.chat.schema import DamagedDatabase, DatabaseTooNew, migrate
from clover_gui.chat.search_index import fault_of, prepare_index, repair_index
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
        self._clock = clock
        self._open()

    def _open(self) -> None:
        path = self.path
        try:
            self._db = sqlite3.connect(path, timeout=5.0, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise ChatStoreError(path, str(error)) from error
        try:
            self._db.execute("PRAGMA foreign_keys = ON")
            if path != IN_MEMORY:
                self._db.execute("PRAGMA journal_mode = WAL")
                # In WAL mode FULL also outlives a loss of power, for one fsync per commit in our own thread.
                self._db.execute("PRAGMA synchronous = FULL")
            migrate(self._db)
            self._indexed = prepare_index(self._db)
            self._file = None if path == IN_MEMORY else path.stat()
        except Exception as error:
            self._db.close()
            raise ChatStoreError(path, str(error)) from error

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

        Raises:
            ChatStoreError: it cannot be written, or another file has this name now; this one is still open.
        """
        if self._file is None or self._is_in_place():
            return
        copy = self.path.with_name(self.path.name + ".again")
        try:
            if self.path.exists():
                raise FileExistsError(errno.EEXIST, "another file has taken its place")
            # Not the folders above it: where those are gone, a disk was taken away.
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            copy.unlink(missing_ok=True)
            with closing(sqlite3.connect(copy)) as target:
                self._db.backup(target)
            copy.replace(self.path)
            # Before the new one is opened: the old connection removes its journal by name.
            self._db.close()
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise ChatStoreError(self.path, reason or str(error)) from error
        self._open()
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
            if found and self._indexed and repair_index(db):
                found = ""
        if found:
            raise ChatStoreError(self.path, found) from DamagedDatabase(found)

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
            self._indexed = prepare_index(self._db)
        except (sqlite3.Error, DatabaseTooNew) as error:
            raise ChatStoreError(path, str(error)) from error

    def fill(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Insert whole rows, tables in the order in which they need each other: all of them or none.

        Raises:
            ChatStoreError: a row does not fit.
        """
        with self._writing() as db:
            for table, rows in tables.items():
                for row in rows:
                    places = ", ".join("?" * len(row))
                    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", (*row.values(),))

    # ------------------------------------------------------------------ for the classes above

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._db
        except sqlite3.Error as error:
            raise ChatStoreError(self.path, str(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self.put_back_if_gone()
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _copy_from(self, uri: str) -> None:
        with closing(sqlite3.connect(uri, uri=True)) as source:
            source.backup(self._db)
