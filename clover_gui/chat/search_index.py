"""The index for searching: FTS5 tables beside the messages and the files, kept up to date by triggers.

The index holds nothing of its own: it can be dropped and made again at any time. Answers, with their
thoughts, are indexed when they are complete, not while they grow.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from clover_gui.chat.schema import migrate

_TOKENS = "tokenize='unicode61 remove_diacritics 2', prefix='2 3'"
_CREATE = f"""
CREATE VIEW IF NOT EXISTS searchable AS SELECT id, text, thinking FROM messages WHERE state <> 'running';
CREATE VIRTUAL TABLE message_search USING fts5(
    text, thinking, content='searchable', content_rowid='id', {_TOKENS}
);
CREATE TRIGGER message_search_insert AFTER INSERT ON messages WHEN new.state <> 'running' BEGIN
    INSERT INTO message_search(rowid, text, thinking) VALUES (new.id, new.text, new.thinking);
END;
CREATE TRIGGER message_search_delete AFTER DELETE ON messages WHEN old.state <> 'running' BEGIN
    INSERT INTO message_search(message_search, rowid, text, thinking)
        VALUES ('delete', old.id, old.text, old.thinking);
END;
CREATE TRIGGER message_search_leave AFTER UPDATE OF text, thinking, state ON messages
WHEN old.state <> 'running' BEGIN
    INSERT INTO message_search(message_search, rowid, text, thinking)
        VALUES ('delete', old.id, old.text, old.thinking);
END;
CREATE TRIGGER message_search_enter AFTER UPDATE OF text, thinking, state ON messages
WHEN new.state <> 'running' BEGIN
    INSERT INTO message_search(rowid, text, thinking) VALUES (new.id, new.text, new.thinking);
END;
CREATE VIRTUAL TABLE file_search USING fts5(
    name, text, content='attachments', content_rowid='id', {_TOKENS}
);
CREATE TRIGGER file_search_insert AFTER INSERT ON attachments BEGIN
    INSERT INTO file_search(rowid, name, text) VALUES (new.id, new.name, new.text);
END;
CREATE TRIGGER file_search_delete AFTER DELETE ON attachments BEGIN
    INSERT INTO file_search(file_search, rowid, name, text) VALUES ('delete', old.id, old.name, old.text);
END;
INSERT INTO message_search(message_search) VALUES ('rebuild');
INSERT INTO file_search(file_search) VALUES ('rebuild');
"""
_TABLES = ("message_search", "file_search")
_TRIGGERS = (
    *(f"message_search_{name}" for name in ("insert", "delete", "leave", "enter")),
    *(f"file_search_{name}" for name in ("insert", "delete")),
)


def prepare_index(db: sqlite3.Connection) -> bool:
    """Make the index if it is not there; whether it can be used. One transaction.

    Raises:
        sqlite3.Error: the database cannot be written.
    """
    if not db.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone():
        # A trigger that is left over from elsewhere would make every write fail.
        for name in _TRIGGERS:
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
        return False
    if _statements_of(db) == _usual_statements():
        return True
    try:
        db.executescript(f"BEGIN IMMEDIATE;{_DROP}{_CREATE}COMMIT;")
    except sqlite3.Error:
        if db.in_transaction:
            db.rollback()
        raise
    return True


_DROP = "".join(f"DROP TRIGGER IF EXISTS {name};" for name in _TRIGGERS) + (
    "".join(f"DROP TABLE IF EXISTS {name};" for name in _TABLES) + "DROP VIEW IF EXISTS searchable;"
)


def _statements_of(db: sqlite3.Connection) -> dict[str, str]:
    """How the parts of the index were made: by an earlier version otherwise, and a damaged file may say
    anything."""
    names = (*_TABLES, *_TRIGGERS, "searchable")
    places = ", ".join("?" * len(names))
    return dict(db.execute(f"SELECT name, sql FROM sqlite_master WHERE name IN ({places})", names))


def _usual_statements() -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as usual:
        migrate(usual)
        usual.executescript(_CREATE)
        return _statements_of(usual)


def fault_of(db: sqlite3.Connection) -> str:
    """The first fault that SQLite's own check finds in the database, or ""."""
    # The quick one reads all pages; whether the indexes fit their tables is asked of those that have some.
    for check in ("quick_check(1)", "integrity_check(messages)", "integrity_check(attachments)"):
        found = str(db.execute(f"PRAGMA {check}").fetchone()[0])
        if found != "ok":
            return found
    return ""


def index_answers(db: sqlite3.Connection) -> bool:
    """Whether the index can be used at all; its inside is only looked at when it is searched."""
    try:
        for table in _TABLES:
            db.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH 'a*' LIMIT 1").fetchone()
    except sqlite3.Error:
        return False
    return True


def repair_index(db: sqlite3.Connection) -> bool:
    """Make the index anew where it is all that is damaged. Else False, and nothing was changed."""
    sound = False
    try:
        db.execute("BEGIN IMMEDIATE")
        for statement in filter(None, _DROP.split(";")):
            db.execute(statement)
        if sound := not fault_of(db):
            db.execute("COMMIT")
    except sqlite3.Error:
        sound = False
    if db.in_transaction:
        db.execute("ROLLBACK")
    return sound and prepare_index(db)
