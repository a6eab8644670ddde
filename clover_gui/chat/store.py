"""Chats and messages in one SQLite file. Synchronous; used from one thread (see ``async_store.py``).

Every operation is one transaction, so a kill at any moment loses nothing that was answered.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from clover_gui.chat.branches import Versions, leaf_below, versions_of
from clover_gui.chat.database import ChatDatabase
from clover_gui.chat.message import AnswerStats, Attachment, Chat, Message, MessageState, Role
from clover_gui.chat.options import ChatOptions, options_to_text
from clover_gui.chat.record import ChatRecord
from clover_gui.chat.rows import (
    CHAT_COLUMNS,
    LEAF_OF_CHAT,
    MESSAGE_COLUMNS,
    PATH_OF_CHAT,
    chat_of,
    files_of_text,
    files_text,
    insert_files,
    message_of,
    stats_text,
    storable,
    with_files,
)
from clover_gui.chat.search import SearchHit, find_chats
from clover_gui.chat.sound_values import sound_text
from clover_gui.chat.whole_chats import insert_messages, read_whole
from clover_gui.errors import ChatStoreError
from clover_gui.i18n import capped

TITLE_LIMIT = 60


class ChatStore(ChatDatabase):
    """All chats of one data folder. Times are seconds since 1970 UTC; ids are never used twice."""

    # ------------------------------------------------------------------ chats

    def create_chat(self, *, title: str = "", thinking: bool = True, system_prompt: str = "") -> Chat:
        now = self._clock()
        with self._writing() as db:
            row = db.execute(
                "INSERT INTO chats (title, created, updated, thinking, system_prompt) VALUES (?, ?, ?, ?, ?)",
                (capped(title, TITLE_LIMIT), now, now, int(thinking), storable(system_prompt)),
            )
            return self._chat(row.lastrowid)

    def list_chats(self) -> list[Chat]:
        """All chats that are not deleted: the pinned ones, then the others, the one used last first."""
        with self._reading() as db:
            rows = db.execute(
                f"SELECT {CHAT_COLUMNS} FROM chats WHERE deleted IS NULL"
                " ORDER BY pinned DESC, updated DESC, id DESC"
            )
            return [chat_of(row) for row in rows]

    def chat(self, chat_id: int) -> Chat:
        with self._reading():
            return self._chat(chat_id)

    def rename_chat(self, chat_id: int, title: str) -> Chat:
        return self._change_chat(chat_id, "title", capped(title, TITLE_LIMIT))

    def set_thinking(self, chat_id: int, thinking: bool) -> Chat:
        return self._change_chat(chat_id, "thinking", int(thinking))

    def set_system_prompt(self, chat_id: int, text: str) -> Chat:
        """What the model is told before everything else in this chat."""
        return self._change_chat(chat_id, "system_prompt", storable(text))

    def set_pinned(self, chat_id: int, pinned: bool) -> Chat:
        return self._change_chat(chat_id, "pinned", int(pinned))

    def set_options(self, chat_id: int, options: ChatOptions) -> Chat:
        """What is set for this chat apart from the model's own values."""
        return self._change_chat(chat_id, "options", options_to_text(options))

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
            path = [message_of(row) for row in db.execute(PATH_OF_CHAT, (chat_id,))]
            return with_files(db, path, chat_id)

    def add_user_message(self, chat_id: int, text: str, attachments: Sequence[Attachment] = ()) -> Message:
        """Append a message of the person. The first one gives a chat without a title its title."""
        with self._writing() as db:
            chat = self._chat(chat_id)
            if not chat.title:
                title = capped(text, TITLE_LIMIT) or (capped(attachments[0].name) if attachments else "")
                db.execute("UPDATE chats SET title = ? WHERE id = ?", (title, chat_id))
            db.execute("DELETE FROM drafts WHERE chat_id = ?", (chat_id,))
            leaf = db.execute(LEAF_OF_CHAT, (chat_id,)).fetchone()[0]
            return self._insert(chat_id, leaf, Role.USER, text, MessageState.COMPLETE, attachments)

    def revise_user_message(self, message_id: int, text: str) -> Message:
        """Another version of a message of the person, with the same files; it becomes the end of the shown
        path. The former one and what followed it stay in the store."""
        with self._writing():
            former = self._message(message_id)
            return self._insert(
                former.chat_id, former.parent_id, Role.USER, text, MessageState.COMPLETE, former.attachments
            )

    def versions(self, chat_id: int) -> Versions:
        """Which messages of the chat have several versions."""
        with self._reading() as db:
            return versions_of(db, chat_id)

    def show_message(self, message_id: int) -> Chat:
        """Let the chat show the newest path through this message."""
        with self._writing() as db:
            chat_id = self._message(message_id).chat_id
            leaf = leaf_below(db, message_id)
            db.execute("UPDATE chats SET leaf_id = ? WHERE id = ?", (leaf, chat_id))
            return self._chat(chat_id)

    def search(self, query: str) -> list[SearchHit]:
        """Chats whose title or messages have all words of the query, the one used last first."""
        with self._reading() as db:
            chats = self.list_chats()
            try:
                return find_chats(db, query, chats, indexed=self._indexed)
            except sqlite3.DatabaseError as error:
                return find_chats(db, query, chats, indexed=self._mend_index(error))

    # ------------------------------------------------------------------ whole chats

    def record(self, chat_id: int) -> ChatRecord:
        """The chat with all versions of its messages."""
        with self._reading() as db:
            chat = self._chat(chat_id)
            return read_whole(db, chat)

    def import_record(self, record: ChatRecord) -> Chat:
        """Add a chat that was read from a file, as a new one; it is the one used last then."""
        source, now = record.chat, self._clock()
        with self._writing() as db:
            chat_id = db.execute(
                "INSERT INTO chats (title, created, updated, thinking, system_prompt, options)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    storable(capped(source.title, TITLE_LIMIT)),
                    source.created,
                    now,
                    int(source.thinking),
                    storable(source.system_prompt),
                    options_to_text(source.options),
                ),
            ).lastrowid
            insert_messages(db, chat_id or 0, record)
            return self._chat(chat_id)

    # ------------------------------------------------------------------ answers

    def begin_context(self, message_id: int, begins: bool = True) -> Message:
        """Mark the message from which on the chat is sent to the model, or take the mark away."""
        with self._writing() as db:
            db.execute("UPDATE messages SET begins_context = ? WHERE id = ?", (int(begins), message_id))
            return self._message(message_id)

    def begin_answer(self, chat_id: int, parent_id: int) -> Message:
        """Insert an empty RUNNING answer after ``parent_id``; it becomes the end of the shown path."""
        with self._writing():
            return self._insert(chat_id, parent_id, Role.ASSISTANT, "", MessageState.RUNNING)

    def resume_answer(self, message_id: int) -> Message:
        """Let an answer that was cut be RUNNING again; its text stays, and so does its place."""
        with self._writing() as db:
            db.execute("UPDATE messages SET state = ? WHERE id = ?", (MessageState.RUNNING.value, message_id))
            return self._message(message_id)

    def update_answer(self, message_id: int, text: str, thinking: str) -> None:
        """Keep what was written so far."""
        with self._writing() as db:
            db.execute(
                "UPDATE messages SET text = ?, thinking = ? WHERE id = ?",
                (storable(text), storable(thinking), message_id),
            )

    def finish_answer(
        self, message_id: int, text: str, thinking: str, state: MessageState, stats: AnswerStats | None
    ) -> Message:
        """Write the final text, state and cost."""
        with self._writing() as db:
            db.execute(
                "UPDATE messages SET text = ?, thinking = ?, state = ?, stats = ? WHERE id = ?",
                (storable(text), storable(thinking), state.value, stats_text(stats), message_id),
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
            return sound_text(row[0]) if row else ""

    def draft_attachments(self, chat_id: int) -> tuple[Attachment, ...]:
        """What was attached but not sent."""
        with self._reading() as db:
            row = db.execute("SELECT attachments FROM drafts WHERE chat_id = ?", (chat_id,)).fetchone()
            return files_of_text(row[0]) if row else ()

    def save_draft(self, chat_id: int, text: str, attachments: Sequence[Attachment] | None = None) -> None:
        """``attachments`` None: they are as they were saved last."""
        with self._writing() as db:
            db.execute(
                "INSERT INTO drafts (chat_id, text) VALUES (?, ?)"
                " ON CONFLICT (chat_id) DO UPDATE SET text = excluded.text",
                (chat_id, storable(text)),
            )
            if attachments is not None:
                files = files_text(attachments)
                db.execute("UPDATE drafts SET attachments = ? WHERE chat_id = ?", (files, chat_id))
            db.execute("DELETE FROM drafts WHERE chat_id = ? AND text = '' AND attachments = ''", (chat_id,))

    # ------------------------------------------------------------------ inside

    def _insert(
        self,
        chat_id: int,
        parent_id: int | None,
        role: Role,
        text: str,
        state: MessageState,
        attachments: Sequence[Attachment] = (),
    ) -> Message:
        now = self._clock()
        row = self._db.execute(
            "INSERT INTO messages (chat_id, parent_id, role, text, state, created) VALUES (?, ?, ?, ?, ?, ?)",
            (chat_id, parent_id, role.value, storable(text), state.value, now),
        )
        insert_files(self._db, row.lastrowid or 0, attachments)
        self._db.execute(
            "UPDATE chats SET leaf_id = ?, updated = ? WHERE id = ?", (row.lastrowid, now, chat_id)
        )
        return self._message(row.lastrowid)

    def _change_chat(self, chat_id: int, column: str, value: object) -> Chat:
        with self._writing() as db:
            db.execute(f"UPDATE chats SET {column} = ? WHERE id = ?", (value, chat_id))
            return self._chat(chat_id)

    def _chat(self, chat_id: int | None) -> Chat:
        row = self._db.execute(f"SELECT {CHAT_COLUMNS} FROM chats WHERE id = ?", (chat_id,)).fetchone()
        if row is None:
            raise ChatStoreError(self.path, f"there is no chat {chat_id}")
        return chat_of(row)

    def _message(self, message_id: int | None) -> Message:
        row = self._db.execute(
            f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE id = ?", (message_id,)
        ).fetchone()
        if row is None:
            raise ChatStoreError(self.path, f"there is no message {message_id}")
        message = message_of(row)
        if message.role is Role.ASSISTANT:
            return message
        return with_files(self._db, [message], message.chat_id)[0]
