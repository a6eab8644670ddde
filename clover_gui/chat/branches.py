"""Versions of messages: reading the tree of a chat, and choosing the path that is shown."""

from __future__ import annotations

import sqlite3

Versions = dict[int, tuple[int, ...]]
"""Of messages that have several versions: the ids of all of them, oldest first (itself among them)."""


def versions_of(db: sqlite3.Connection, chat_id: int) -> Versions:
    """Messages of one role with the same parent are versions of each other."""
    families: dict[tuple[int | None, str], list[int]] = {}
    rows = db.execute("SELECT id, parent_id, role FROM messages WHERE chat_id = ? ORDER BY id", (chat_id,))
    for message_id, parent_id, role in rows:
        families.setdefault((parent_id, role), []).append(message_id)
    found: Versions = {}
    for family in families.values():
        if len(family) > 1:
            found.update(dict.fromkeys(family, tuple(family)))
    return found


def leaf_below(db: sqlite3.Connection, message_id: int) -> int:
    """The end of the newest path that goes through this message. What follows a message is always newer."""
    while True:
        row = db.execute(
            "SELECT max(id) FROM messages WHERE parent_id = ? AND id > ?", (message_id,) * 2
        ).fetchone()
        if row[0] is None:
            return message_id
        message_id = int(row[0])
