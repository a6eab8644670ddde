"""The layout of the chat database and its numbered migrations.

``user_version`` of the file is the number of migrations that it has seen. A migration that was released
is never changed; a new layout is a new entry at the end. The index for searching is not among them, since
it can be made again at any time (``search_index.py``).
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

_FIRST = """
CREATE TABLE chats (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    updated REAL NOT NULL,
    thinking INTEGER NOT NULL DEFAULT 1,
    deleted REAL,                                   -- when it was deleted; NULL: it was not
    leaf_id INTEGER                                 -- last message of the path that is shown
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id INTEGER NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    parent_id INTEGER REFERENCES messages(id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    text TEXT NOT NULL DEFAULT '',
    thinking TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    stats TEXT,                                     -- AnswerStats as JSON
    created REAL NOT NULL
);
CREATE INDEX messages_by_chat ON messages(chat_id);
CREATE INDEX messages_by_parent ON messages(parent_id);
CREATE INDEX messages_running ON messages(state) WHERE state = 'running';
CREATE TABLE drafts (
    chat_id INTEGER PRIMARY KEY,                    -- 0: the chat that does not exist yet
    text TEXT NOT NULL
);
"""

_SYSTEM_PROMPT_AND_CONTEXT = """
ALTER TABLE chats ADD COLUMN system_prompt TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN begins_context INTEGER NOT NULL DEFAULT 0;
"""

_OPTIONS_AND_ATTACHMENTS = """
ALTER TABLE chats ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chats ADD COLUMN options TEXT NOT NULL DEFAULT '';     -- ChatOptions as JSON
ALTER TABLE drafts ADD COLUMN attachments TEXT NOT NULL DEFAULT '';  -- Attachments as JSON
CREATE TABLE attachments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX attachments_by_message ON attachments(message_id);
"""

# An answer may be 'closed' (the program ended in the middle of it), which earlier programs do not know. Those
# that were stopped before cannot be told apart any more; the layout is the same.
_CLOSED_ANSWERS = """
"""

_TABLES = ("chats", "messages", "drafts", "attachments")
# A number beyond this is not one that a later program has given, but damage.
_LARGEST_VERSION = 1000

MIGRATIONS: tuple[str, ...] = (
    _FIRST,
    _SYSTEM_PROMPT_AND_CONTEXT,
    _OPTIONS_AND_ATTACHMENTS,
    _CLOSED_ANSWERS,
)


class DatabaseTooNew(Exception):
    """The file was written by a later version of this program."""


class DamagedDatabase(Exception):
    """SQLite's own check found faults in the file."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the database to the present layout. Each step is one transaction: done wholly or not at all.

    Raises:
        DatabaseTooNew: its number is higher than ours.
        DamagedDatabase: its number is none that any version has.
        sqlite3.Error: it cannot be read or written.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if not 0 <= version <= _LARGEST_VERSION:
        raise DamagedDatabase(f"version {version}")
    if version > len(MIGRATIONS):
        raise DatabaseTooNew(f"version {version}, this program knows {len(MIGRATIONS)}")
    for number in range(version, len(MIGRATIONS)):
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;{MIGRATIONS[number]}PRAGMA user_version = {number + 1};COMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.rollback()
            raise


def check_layout(connection: sqlite3.Connection) -> None:
    """Compare the tables with those that the migrations make.

    Raises:
        DamagedDatabase: a table or column is missing or is another one.
        sqlite3.Error: it cannot be read.
    """
    with closing(sqlite3.connect(":memory:")) as usual:
        migrate(usual)
        for table in _TABLES:
            if _columns_of(connection, table) != _columns_of(usual, table):
                raise DamagedDatabase(f"the table {table} is not as it was made")


def _columns_of(connection: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    query = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?)'
    return connection.execute(query, (table,)).fetchall()
