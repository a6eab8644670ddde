"""Rows of the chat database as values, and back."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Sequence

from clover_gui.chat.message import AnswerStats, Attachment, Chat, Message, MessageState, Role
from clover_gui.chat.options import options_from_text
from clover_gui.chat.record import attachments_of, stats_of

CHAT_COLUMNS = "id, title, created, updated, thinking, system_prompt, pinned, options"
MESSAGE_COLUMNS = "id, chat_id, parent_id, role, text, thinking, state, stats, created, begins_context"
PATH_OF_CHAT = f"""
    WITH RECURSIVE path(id, parent_id, depth) AS (
        SELECT m.id, m.parent_id, 0 FROM messages m JOIN chats c ON c.leaf_id = m.id WHERE c.id = ?
        UNION ALL
        SELECT m.id, m.parent_id, path.depth + 1 FROM messages m JOIN path ON m.id = path.parent_id
    )
    SELECT {", ".join("m." + name.strip() for name in MESSAGE_COLUMNS.split(","))}
    FROM messages m JOIN path ON path.id = m.id ORDER BY path.depth DESC
"""


def chat_of(row: tuple[int, str, float, float, int, str, int, str]) -> Chat:
    return Chat(
        id=row[0],
        title=row[1],
        created=row[2],
        updated=row[3],
        thinking=bool(row[4]),
        system_prompt=row[5],
        pinned=bool(row[6]),
        options=options_from_text(row[7]),
    )


def message_of(row: tuple[int, int, int | None, str, str, str, str, str | None, float, int]) -> Message:
    return Message(
        id=row[0],
        chat_id=row[1],
        parent_id=row[2],
        role=Role(row[3]),
        text=row[4],
        thinking=row[5],
        state=MessageState(row[6]),
        stats=stats_of(json.loads(row[7])) if row[7] is not None else None,
        created=row[8],
        begins_context=bool(row[9]),
    )


def with_files(db: sqlite3.Connection, messages: Sequence[Message], chat_id: int) -> list[Message]:
    """The messages of one chat with what is attached to them."""
    rows = db.execute(
        "SELECT a.message_id, a.name, a.text, a.tokens FROM attachments a"
        " JOIN messages m ON m.id = a.message_id WHERE m.chat_id = ? ORDER BY a.message_id, a.id",
        (chat_id,),
    )
    files: dict[int, list[Attachment]] = {}
    for message_id, name, text, tokens in rows:
        files.setdefault(message_id, []).append(Attachment(name, text, tokens))
    return [dataclasses.replace(m, attachments=tuple(files[m.id])) if m.id in files else m for m in messages]


def insert_files(db: sqlite3.Connection, message_id: int, attachments: Sequence[Attachment]) -> None:
    db.executemany(
        "INSERT INTO attachments (message_id, name, text, tokens) VALUES (?, ?, ?, ?)",
        [(message_id, storable(a.name), storable(a.text), a.tokens) for a in attachments],
    )


def files_text(attachments: Sequence[Attachment]) -> str:
    """Attachments of a draft."""
    if not attachments:
        return ""
    return json.dumps([dataclasses.asdict(a) for a in attachments], separators=(",", ":"))


def files_of_text(text: str) -> tuple[Attachment, ...]:
    return attachments_of(json.loads(text)) if text else ()


def stats_text(stats: AnswerStats | None) -> str | None:
    return None if stats is None else json.dumps(dataclasses.asdict(stats), separators=(",", ":"))


def storable(text: str) -> str:
    """Half a surrogate pair cannot be written as UTF-8; it becomes the replacement character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
