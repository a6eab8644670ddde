"""Rows of the chat database as values, and back.

A row may hold anything: SQLite's own check does not see a wrong value in a sound page. Such a value reads as
the most harmless one, so that the rest of the chat can be shown.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from clover_gui.chat.message import AnswerStats, Attachment, Chat, Message, MessageState, Role
from clover_gui.chat.options import options_from_text
from clover_gui.chat.record import attachments_of, stats_of
from clover_gui.chat.sound_values import sound_count, sound_text, sound_time

CHAT_COLUMNS = "id, title, created, updated, thinking, system_prompt, pinned, options"
MESSAGE_COLUMNS = "id, chat_id, parent_id, role, text, thinking, state, stats, created, begins_context"
LEAF_OF_CHAT = """
    SELECT coalesce(
        (SELECT m.id FROM messages m WHERE m.id = c.leaf_id AND m.chat_id = c.id),
        (SELECT max(m.id) FROM messages m WHERE m.chat_id = c.id)
    ) FROM chats c WHERE c.id = ?
"""
"""The end of the shown path; where a damaged row names none of the chat, its newest message."""
# A parent is always the older one. Asking for that ends the way up even where damaged rows go in a circle.
PATH_OF_CHAT = f"""
    WITH RECURSIVE path(id, parent_id, chat_id) AS (
        SELECT id, parent_id, chat_id FROM messages WHERE id = ({LEAF_OF_CHAT})
        UNION
        SELECT m.id, m.parent_id, m.chat_id FROM messages m
            JOIN path ON m.id = path.parent_id AND m.id < path.id AND m.chat_id = path.chat_id
    )
    SELECT {", ".join("m." + name.strip() for name in MESSAGE_COLUMNS.split(","))}
    FROM messages m JOIN path ON path.id = m.id ORDER BY m.id
"""
_STATES = {state.value: state for state in MessageState}


def chat_of(row: Sequence[Any]) -> Chat:
    return Chat(
        id=row[0],
        title=sound_text(row[1]),
        created=sound_time(row[2]),
        updated=sound_time(row[3]),
        thinking=bool(row[4]),
        system_prompt=sound_text(row[5]),
        pinned=bool(row[6]),
        options=options_from_text(sound_text(row[7])),
    )


def message_of(row: Sequence[Any]) -> Message:
    parent_id = row[2] if isinstance(row[2], int) and row[2] < row[0] else None
    return Message(
        id=row[0],
        chat_id=row[1],
        parent_id=parent_id,
        role=Role.USER if row[3] == Role.USER.value else Role.ASSISTANT,
        text=sound_text(row[4]),
        thinking=sound_text(row[5]),
        state=_STATES.get(sound_text(row[6]), MessageState.INTERRUPTED),
        stats=_stats_of_text(row[7]),
        created=sound_time(row[8]),
        begins_context=bool(row[9]),
    )


def _stats_of_text(text: object) -> AnswerStats | None:
    try:
        return None if text is None else stats_of(json.loads(sound_text(text)))
    except (ValueError, RecursionError):
        return None


def with_files(db: sqlite3.Connection, messages: Sequence[Message], chat_id: int) -> list[Message]:
    """The messages of one chat with what is attached to them."""
    rows = db.execute(
        "SELECT a.message_id, a.name, a.text, a.tokens FROM attachments a"
        " JOIN messages m ON m.id = a.message_id WHERE m.chat_id = ? ORDER BY a.message_id, a.id",
        (chat_id,),
    )
    files: dict[int, list[Attachment]] = {}
    for message_id, name, text, tokens in rows:
        file = Attachment(sound_text(name), sound_text(text), sound_count(tokens))
        files.setdefault(message_id, []).append(file)
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


def files_of_text(text: object) -> tuple[Attachment, ...]:
    """Attachments of a draft; none where they cannot be read."""
    if not text:
        return ()
    try:
        return attachments_of(json.loads(sound_text(text)))
    except (KeyError, TypeError, ValueError, RecursionError):
        return ()


def stats_text(stats: AnswerStats | None) -> str | None:
    return None if stats is None else json.dumps(dataclasses.asdict(stats), separators=(",", ":"))


def storable(text: str) -> str:
    """Half a surrogate pair cannot be written as UTF-8; it becomes the replacement character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
