"""Chats and messages in one SQLite file. Synchronous; used from one thread (see ``async_store.py``).

Every operation is one transaction, so a kill at any moment loses nothing that was answered. Opening a file
that may be damaged or not writable is in ``opening.py``.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from clover_gui.chat.message import AnswerStats, Chat, Message, MessageState, Role
from clover_gui.chat.schema import DamagedDatabase, DatabaseTooNew, migrate
from clover_gui.errors import ChatStoreError
from clover_gui.i18n import capped

TITLE_LIMIT = 60
IN_MEMORY = Path(":memory:")

_CHAT_COLUMNS = "id, title, created, updated, thinking, system_prompt"
_MESSAGE_COLUMNS = "id, chat_id, parent_id, role, text, thinking, state, stats, created, begins_context"
_PATH_OF_CHAT = f"""
    WITH RECURSIVE path(id, parent_id, depth) AS (
        SELECT m.id, m.parent_id, 0 FROM messages m JOIN chats c ON c.leaf_id = m.id WHERE c.id = ?
        UNION ALL
        SELECT m.id, m.parent_id, path.depth + 1 FROM messages m JOIN path ON m.id = path.parent_id
    )
    SELECT {", ".join("m." + name.strip() for name in _MESSAGE_COLUMNS.split(","))}
    FROM messages m JOIN path ON path.id = m.id ORDER BY path.depth DESC
"""


class ChatStore:
    """All chats of one data folder. Times are seconds since 1970 UTC; ids are never used twice."""

    def __init__(self, path: Path = IN_MEMORY, *, clock: Callable[[], float] = time.time) -> None:
        """Open or create the database.

        Raises:
            ChatStoreError: it cannot be opened; the cause is the sqlite3 or schema error.
        """
        self.path = path
        self._clock = clock
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
        except Exception as error:
            self._db.close()
            raise ChatStoreError(path, str(error)) from error

    def close(self) -> None:
        self._db.close()

    def check(self) -> None:
        """Let SQLite look for damage.

        Raises:
            ChatStoreError: with the first fault found; the cause is an sqlite3 or DamagedDatabase error.
        """
        with self._reading() as db:
            found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        if found != "ok":
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
        except (sqlite3.Error, DatabaseTooNew) as error:
            raise ChatStoreError(path, str(error)) from error

    # ------------------------------------------------------------------ chats

    def create_chat(self, *, title: str = "", thinking: bool = True, system_prompt: str = "") -> Chat:
        now = self._clock()
        with self._writing() as db:
            row = db.execute(
                "INSERT INTO chats (title, created, updated, thinking, system_prompt) VALUES (?, ?, ?, ?, ?)",
                (capped(title, TITLE_LIMIT), now, now, int(thinking), _storable(system_prompt)),
            )
            return self._chat(row.lastrowid)

    def list_chats(self) -> list[Chat]:
        """All chats that are not deleted, the one used last first."""
        with self._reading() as db:
            rows = db.execute(
                f"SELECT {_CHAT_COLUMNS} FROM chats WHERE deleted IS NULL ORDER BY updated DESC, id DESC"
            )
            return [_chat_of(row) for row in rows]

    def chat(self, chat_id: int) -> Chat:
        with self._reading():
            return self._chat(chat_id)

    def rename_chat(self, chat_id: int, title: str) -> Chat:
        return self._change_chat(chat_id, "title", capped(title, TITLE_LIMIT))

    def set_thinking(self, chat_id: int, thinking: bool) -> Chat:
        return self._change_chat(chat_id, "thinking", int(thinking))

    def set_system_prompt(self, chat_id: int, text: str) -> Chat:
        """What the model is told before everything else in this chat."""
        return self._change_chat(chat_id, "system_prompt", _storable(text))

    def delete_chat(self, chat_id: int) -> None:
        """Hide the chat. ``undo_delete`` brings it back until ``purge_deleted``."""
        self._change_chat(chat_id, "deleted", self._clock())

    def undo_delete(self, chat_id: int) -> Chat:
        return self._change_chat(chat_id, "deleted", None)

    def purge_deleted(self, older_than_s: float = 0.0) -> int:
        """Remove for good what was deleted at least so long ago; returns the number of chats."""
        limit = self._clock() - older_than_s
        with self._writing() as db:
            chosen = "SELECT id FROM chats WHERE deleted IS NOT NULL AND deleted <= ?"
            db.execute(f"DELETE FROM drafts WHERE chat_id IN ({chosen})", (limit,))
            return db.execute(f"DELETE FROM chats WHERE id IN ({chosen})", (limit,)).rowcount

    # ------------------------------------------------------------------ messages

    def messages(self, chat_id: int) -> list[Message]:
        """The path that is shown, oldest first."""
        with self._reading() as db:
            return [_message_of(row) for row in db.execute(_PATH_OF_CHAT, (chat_id,))]

    def add_user_message(self, chat_id: int, text: str) -> Message:
        """Append a message of the person. The first one gives a chat without a title its title."""
        with self._writing() as db:
            chat = self._chat(chat_id)
            if not chat.title:
                title = capped(text, TITLE_LIMIT)
                db.execute("UPDATE chats SET title = ? WHERE id = ?", (title, chat_id))
            db.execute("DELETE FROM drafts WHERE chat_id = ?", (chat_id,))
            leaf = db.execute("SELECT leaf_id FROM chats WHERE id = ?", (chat_id,)).fetchone()[0]
            return self._insert(chat_id, leaf, Role.USER, text, MessageState.COMPLETE)

    def revise_user_message(self, message_id: int, text: str) -> Message:
        """Another version of a message of the person; it becomes the end of the shown path. The former one
        and what followed it stay in the store."""
        with self._writing():
            former = self._message(message_id)
            return self._insert(former.chat_id, former.parent_id, Role.USER, text, MessageState.COMPLETE)

    def begin_context(self, message_id: int, begins: bool = True) -> Message:
        """Mark the message from which on the chat is sent to the model, or take the mark away."""
        with self._writing() as db:
            db.execute("UPDATE messages SET begins_context = ? WHERE id = ?", (int(begins), message_id))
            return self._message(message_id)

    def begin_answer(self, chat_id: int, parent_id: int) -> Message:
        """Insert an empty RUNNING answer after ``parent_id``; it becomes the end of the shown path."""
        with self._writing():
            return self._insert(chat_id, parent_id, Role.ASSISTANT, "", MessageState.RUNNING)

    def update_answer(self, message_id: int, text: str, thinking: str) -> None:
        """Keep what was written so far."""
        with self._writing() as db:
            db.execute(
                "UPDATE messages SET text = ?, thinking = ? WHERE id = ?",
                (_storable(text), _storable(thinking), message_id),
            )

    def finish_answer(
        self, message_id: int, text: str, thinking: str, state: MessageState, stats: AnswerStats | None
    ) -> Message:
        """Write the final text, state and cost."""
        with self._writing() as db:
            db.execute(
                "UPDATE messages SET text = ?, thinking = ?, state = ?, stats = ? WHERE id = ?",
                (_storable(text), _storable(thinking), state.value, _stats_text(stats), message_id),
            )
            message = self._message(message_id)
            db.execute("UPDATE chats SET updated = ? WHERE id = ?", (self._clock(), message.chat_id))
            return message

    def recover(self) -> int:
        """Turn answers that were running when the program ended into INTERRUPTED; returns their number."""
        with self._writing() as db:
            return db.execute(
                "UPDATE messages SET state = ? WHERE state = ?",
                (MessageState.INTERRUPTED.value, MessageState.RUNNING.value),
            ).rowcount

    # ------------------------------------------------------------------ drafts

    def draft(self, chat_id: int) -> str:
        """The text that was typed but not sent; ``chat_id`` 0 is the chat that does not exist yet."""
        with self._reading() as db:
            row = db.execute("SELECT text FROM drafts WHERE chat_id = ?", (chat_id,)).fetchone()
            return str(row[0]) if row else ""

    def save_draft(self, chat_id: int, text: str) -> None:
        with self._writing() as db:
            if text:
                db.execute(
                    "INSERT INTO drafts (chat_id, text) VALUES (?, ?)"
                    " ON CONFLICT (chat_id) DO UPDATE SET text = excluded.text",
                    (chat_id, _storable(text)),
                )
            else:
                db.execute("DELETE FROM drafts WHERE chat_id = ?", (chat_id,))

    # ------------------------------------------------------------------ inside

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._db
        except sqlite3.Error as error:
            raise ChatStoreError(self.path, str(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _insert(
        self, chat_id: int, parent_id: int | None, role: Role, text: str, state: MessageState
    ) -> Message:
        now = self._clock()
        row = self._db.execute(
            "INSERT INTO messages (chat_id, parent_id, role, text, state, created) VALUES (?, ?, ?, ?, ?, ?)",
            (chat_id, parent_id, role.value, _storable(text), state.value, now),
        )
        self._db.execute(
            "UPDATE chats SET leaf_id = ?, updated = ? WHERE id = ?", (row.lastrowid, now, chat_id)
        )
        return self._message(row.lastrowid)

    def _copy_from(self, uri: str) -> None:
        with closing(sqlite3.connect(uri, uri=True)) as source:
            source.backup(self._db)

    def _change_chat(self, chat_id: int, column: str, value: object) -> Chat:
        with self._writing() as db:
            db.execute(f"UPDATE chats SET {column} = ? WHERE id = ?", (value, chat_id))
            return self._chat(chat_id)

    def _chat(self, chat_id: int | None) -> Chat:
        row = self._db.execute(f"SELECT {_CHAT_COLUMNS} FROM chats WHERE id = ?", (chat_id,)).fetchone()
        if row is None:
            raise ChatStoreError(self.path, f"there is no chat {chat_id}")
        return _chat_of(row)

    def _message(self, message_id: int | None) -> Message:
        row = self._db.execute(
            f"SELECT {_MESSAGE_COLUMNS} FROM messages WHERE id = ?", (message_id,)
        ).fetchone()
        if row is None:
            raise ChatStoreError(self.path, f"there is no message {message_id}")
        return _message_of(row)


def _chat_of(row: tuple[int, str, float, float, int, str]) -> Chat:
    return Chat(
        id=row[0],
        title=row[1],
        created=row[2],
        updated=row[3],
        thinking=bool(row[4]),
        system_prompt=row[5],
    )


def _message_of(row: tuple[int, int, int | None, str, str, str, str, str | None, float, int]) -> Message:
    return Message(
        id=row[0],
        chat_id=row[1],
        parent_id=row[2],
        role=Role(row[3]),
        text=row[4],
        thinking=row[5],
        state=MessageState(row[6]),
        stats=_stats_of(row[7]),
        created=row[8],
        begins_context=bool(row[9]),
    )


def _storable(text: str) -> str:
    """Half a surrogate pair cannot be written as UTF-8; it becomes the replacement character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _stats_text(stats: AnswerStats | None) -> str | None:
    return None if stats is None else json.dumps(dataclasses.asdict(stats), separators=(",", ":"))


def _stats_of(text: str | None) -> AnswerStats | None:
    if text is None:
        return None
    known = {field.name for field in dataclasses.fields(AnswerStats)}
    return AnswerStats(**{key: value for key, value in json.loads(text).items() if key in known})
