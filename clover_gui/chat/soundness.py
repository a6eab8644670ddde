"""What SQLite's own check does not see in the chat database: rows that do not fit together."""

from __future__ import annotations

import sqlite3

_LARGEST_NUMBER = 1 << 48
_NUMBERED = ("chats", "messages", "attachments")
_TURNED_AROUND = """
    SELECT m.id FROM messages m JOIN messages p ON p.id = m.parent_id
    WHERE p.id >= m.id OR p.chat_id <> m.chat_id LIMIT 1
"""


def misfit_of(db: sqlite3.Connection) -> str:
    """The first row that belongs to nothing or to itself, in words for the log, or "".

    Raises:
        sqlite3.Error: it cannot be read.
    """
    lost = db.execute("PRAGMA foreign_key_check").fetchone()
    if lost is not None:
        return f"row {lost[1]} of {lost[0]} belongs to none of {lost[2]}"
    turned = db.execute(_TURNED_AROUND).fetchone()
    if turned is not None:
        return f"message {turned[0]} follows one that it cannot follow"
    for table in _NUMBERED:
        largest = db.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
        if largest is not None and not 0 < largest <= _LARGEST_NUMBER:
            return f"row {largest} of {table} has an impossible number"
    return ""


def mend_numbers(db: sqlite3.Connection) -> None:
    """See to it that new rows get numbers: where the note of the last one is impossible, no row can be added.

    Raises:
        sqlite3.Error: it cannot be written.
    """
    for table in _NUMBERED:
        largest = db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]
        db.execute(
            "UPDATE sqlite_sequence SET seq = ? WHERE name = ?"
            " AND (typeof(seq) <> 'integer' OR seq < ? OR seq > ?)",
            (largest, table, largest, _LARGEST_NUMBER),
        )
