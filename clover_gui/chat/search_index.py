"""Search over all chats: an FTS5 index beside the messages, kept up to date by triggers.

The index holds nothing of its own: it can be dropped and made again at any time, and where SQLite lacks
FTS5 the messages are read through instead. Answers are indexed when they are complete, not while they grow.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from clover_gui.chat.message import Chat

# Around what was found in a snippet; characters of the private use area, which no text needs.
FOUND_START, FOUND_END = "\ue000", "\ue001"
RESULT_LIMIT = 100
QUERY_LIMIT = 200
_SNIPPET_WORDS = 10
_BEFORE, _AFTER = 30, 80

_CREATE = """
CREATE VIEW IF NOT EXISTS searchable AS SELECT id, text FROM messages WHERE state <> 'running';
CREATE VIRTUAL TABLE message_search USING fts5(
    text, content='searchable', content_rowid='id', tokenize='unicode61 remove_diacritics 2', prefix='2 3'
);
CREATE TRIGGER message_search_insert AFTER INSERT ON messages WHEN new.state <> 'running' BEGIN
    INSERT INTO message_search(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER message_search_delete AFTER DELETE ON messages WHEN old.state <> 'running' BEGIN
    INSERT INTO message_search(message_search, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER message_search_leave AFTER UPDATE OF text, state ON messages
WHEN old.state <> 'running' BEGIN
    INSERT INTO message_search(message_search, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER message_search_enter AFTER UPDATE OF text, state ON messages
WHEN new.state <> 'running' BEGIN
    INSERT INTO message_search(rowid, text) VALUES (new.id, new.text);
END;
INSERT INTO message_search(message_search) VALUES ('rebuild');
"""
_TRIGGERS = ("message_search_insert", "message_search_delete", "message_search_leave", "message_search_enter")

# Scripts that do not put spaces between words: there the index knows only whole sentences.
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A chat in which something was found.

    ``message_id`` is its newest message with it (None: only the title has it), ``snippet`` the words around
    it with FOUND_START and FOUND_END, ``count`` the number of messages.
    """

    chat_id: int
    message_id: int | None
    snippet: str
    count: int


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
    names = {str(row[0]) for row in db.execute("SELECT name FROM sqlite_master")}
    if {"message_search", *_TRIGGERS} <= names:
        return True
    try:
        db.executescript(f"BEGIN IMMEDIATE;{_DROP}{_CREATE}COMMIT;")
    except sqlite3.Error:
        if db.in_transaction:
            db.rollback()
        raise
    return True


_DROP = "".join(f"DROP TRIGGER IF EXISTS {name};" for name in _TRIGGERS) + (
    "DROP TABLE IF EXISTS message_search;DROP VIEW IF EXISTS searchable;"
)


def fault_of(db: sqlite3.Connection) -> str:
    """The first fault that SQLite's own check finds in the database, or ""."""
    found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    return "" if found == "ok" else found


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


def find_chats(
    db: sqlite3.Connection, query: str, chats: Sequence[Chat], *, indexed: bool
) -> list[SearchHit]:
    """Those of ``chats``, in their order, whose title or messages have all words of the query."""
    words = query.casefold().split()
    if not words:
        return []
    hits = {hit.chat_id: hit for hit in search_messages(db, query, indexed=indexed)}
    found = []
    for chat in chats:
        if chat.id in hits:
            found.append(hits[chat.id])
        elif all(word in chat.title.casefold() for word in words):
            found.append(SearchHit(chat.id, None, "", 0))
    return found


def search_messages(db: sqlite3.Connection, query: str, *, indexed: bool) -> list[SearchHit]:
    """Chats with messages that have all words of the query, the newest first. The last word may go on."""
    words = query[:QUERY_LIMIT].split()
    if not words:
        return []
    if indexed and not _NO_SPACES.search(query):
        matching = _match_of(words)
        return _search_index(db, matching) if matching else []
    return _read_through(db, words)


def _match_of(words: Sequence[str]) -> str:
    """The words as FTS5 strings, so that nothing in them is an operator; all but single letters (which begin
    half of all words) may be beginnings."""
    useful = [word.replace('"', '""') for word in words if any(c.isalnum() for c in word)]
    return " ".join(f'"{word}"' + (" *" if len(word) > 1 else "") for word in useful)


def _search_index(db: sqlite3.Connection, matching: str) -> list[SearchHit]:
    found = db.execute(
        "SELECT m.chat_id, max(m.id), count(*) FROM message_search s JOIN messages m ON m.id = s.rowid"
        " JOIN chats c ON c.id = m.chat_id WHERE message_search MATCH ? AND c.deleted IS NULL"
        " GROUP BY m.chat_id ORDER BY max(m.id) DESC LIMIT ?",
        (matching, RESULT_LIMIT),
    ).fetchall()
    ids = ",".join(str(int(row[1])) for row in found)
    snippets: dict[int, str] = dict(
        db.execute(
            "SELECT rowid, snippet(message_search, 0, ?, ?, '…', ?) FROM message_search"
            f" WHERE message_search MATCH ? AND rowid IN ({ids})",
            (FOUND_START, FOUND_END, _SNIPPET_WORDS, matching),
        )
    )
    return [SearchHit(chat_id, newest, snippets.get(newest, ""), count) for chat_id, newest, count in found]


def _read_through(db: sqlite3.Connection, words: Sequence[str]) -> list[SearchHit]:
    conditions = " AND ".join("m.text LIKE ? ESCAPE '\\'" for _word in words)
    patterns = ["%" + re.sub(r"([\\%_])", r"\\\1", word) + "%" for word in words]
    found = db.execute(
        "SELECT m.chat_id, max(m.id), count(*), m.text FROM messages m JOIN chats c ON c.id = m.chat_id"
        f" WHERE c.deleted IS NULL AND {conditions}"
        " GROUP BY m.chat_id ORDER BY max(m.id) DESC LIMIT ?",
        (*patterns, RESULT_LIMIT),
    )
    hits = []
    for chat_id, newest, count, text in found:
        hits.append(SearchHit(chat_id, newest, _snippet_of(text, words[0]), count))
    return hits


def _snippet_of(text: str, word: str) -> str:
    place = text.casefold().find(word.casefold())
    if place < 0:
        return text[:_AFTER]
    start = max(0, place - _BEFORE)
    end = place + len(word)
    before = ("…" if start else "") + text[start:place]
    after = text[end : end + _AFTER] + ("…" if len(text) > end + _AFTER else "")
    return f"{before}{FOUND_START}{text[place:end]}{FOUND_END}{after}"
