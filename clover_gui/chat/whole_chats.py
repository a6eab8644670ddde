"""Reading a chat with all its versions out of the database, and writing one into it."""

from __future__ import annotations

import sqlite3

from clover_gui.chat.message import Chat
from clover_gui.chat.record import ChatRecord
from clover_gui.chat.rows import (
    LEAF_OF_CHAT,
    MESSAGE_COLUMNS,
    insert_files,
    message_of,
    stats_text,
    storable,
    with_files,
)


def read_whole(db: sqlite3.Connection, chat: Chat) -> ChatRecord:
    leaf = db.execute(LEAF_OF_CHAT, (chat.id,)).fetchone()[0]
    rows = db.execute(f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE chat_id = ? ORDER BY id", (chat.id,))
    return ChatRecord(chat, tuple(with_files(db, [message_of(row) for row in rows], chat.id)), leaf)


def insert_messages(db: sqlite3.Connection, chat_id: int, record: ChatRecord) -> None:
    """All messages of the record into a chat that has none; its shown path too."""
    ids: dict[int | None, int | None] = {None: None}
    for message in record.messages:
        ids[message.id] = db.execute(
            "INSERT INTO messages (chat_id, parent_id, role, text, thinking, state, stats, created,"
            " begins_context) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                chat_id,
                ids[message.parent_id],
                message.role.value,
                storable(message.text),
                storable(message.thinking),
                message.state.value,
                stats_text(message.stats),
                message.created,
                int(message.begins_context),
            ),
        ).lastrowid
        insert_files(db, ids[message.id] or 0, message.attachments)
    db.execute("UPDATE chats SET leaf_id = ? WHERE id = ?", (ids.get(record.leaf_id), chat_id))
