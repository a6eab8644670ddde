"""Search over all chats: titles, messages, thoughts, and the files that went with messages.

Where SQLite lacks FTS5, and for scripts without spaces between words, the texts are read through instead of
asking the index (``search_index.py``).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from clover_gui.chat.message import Chat

# Around what was found in a snippet; characters of the private use area, which no text needs.
FOUND_START, FOUND_END = "\ue000", "\ue001"
RESULT_LIMIT = 100
QUERY_LIMIT = 200
_SNIPPET_WORDS = 10
_BEFORE, _AFTER = 30, 80

# Scripts that do not put spaces between words: there the index knows only whole sentences.
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
# Chats of messages that are in ``found``, the one with the newest of them first.
_BY_CHAT = """
SELECT m.chat_id, max(m.id), count(DISTINCT m.id) FROM found
    JOIN messages m ON m.id = found.id JOIN chats c ON c.id = m.chat_id
    WHERE c.deleted IS NULL GROUP BY m.chat_id ORDER BY max(m.id) DESC LIMIT ?
"""
_FOUND_BY_INDEX = """
WITH found(id) AS (
    SELECT rowid FROM message_search WHERE message_search MATCH ?
    UNION ALL
    SELECT a.message_id FROM file_search f JOIN attachments a ON a.id = f.rowid WHERE file_search MATCH ?
)
"""


class HitPlace(StrEnum):
    """Where in a chat something was found."""

    TITLE = "title"
    TEXT = "text"
    THINKING = "thinking"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A chat in which something was found.

    ``message_id`` is its newest message with it (None: only the title has it), ``snippet`` the words around
    it with FOUND_START and FOUND_END, ``count`` the number of messages. ``file_name`` is that of the file
    whose name or text has it, where ``place`` is FILE.
    """

    chat_id: int
    message_id: int | None
    snippet: str
    count: int
    place: HitPlace = HitPlace.TEXT
    file_name: str = ""


_Place = tuple[HitPlace, str, str]  # with the snippet, and the name of the file


def find_chats(
    db: sqlite3.Connection, query: str, chats: Sequence[Chat], *, indexed: bool
) -> list[SearchHit]:
    """Those of ``chats``, in their order, whose title, or a message or a file of them, has all words of the
    query. A message is searched together with its thoughts, a file with its name."""
    words = query.casefold().split()
    if not words:
        return []
    hits = {hit.chat_id: hit for hit in search_messages(db, query, indexed=indexed)}
    found = []
    for chat in chats:
        if chat.id in hits:
            found.append(hits[chat.id])
        elif all(word in chat.title.casefold() for word in words):
            found.append(SearchHit(chat.id, None, "", 0, HitPlace.TITLE))
    return found


def search_messages(db: sqlite3.Connection, query: str, *, indexed: bool) -> list[SearchHit]:
    """Chats with messages or files that have all words of the query, the newest first. The last word may go
    on."""
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


def _hits(found: Sequence[tuple[int, int, int]], places: dict[int, _Place]) -> list[SearchHit]:
    hits = []
    for chat_id, newest, count in found:
        place, snippet, name = places.get(newest, (HitPlace.TEXT, "", ""))
        hits.append(SearchHit(chat_id, newest, snippet, count, place, name))
    return hits


# ---------------------------------------------------------------------- by the index


def _search_index(db: sqlite3.Connection, matching: str) -> list[SearchHit]:
    found = db.execute(_FOUND_BY_INDEX + _BY_CHAT, (matching, matching, RESULT_LIMIT)).fetchall()
    ids = ",".join(str(int(row[1])) for row in found)
    shape = (FOUND_START, FOUND_END, _SNIPPET_WORDS)
    places: dict[int, _Place] = {}
    for message_id, name, in_name, in_text in db.execute(
        "SELECT a.message_id, a.name, snippet(file_search, 0, ?, ?, '…', ?),"
        " snippet(file_search, 1, ?, ?, '…', ?)"
        " FROM file_search JOIN attachments a ON a.id = file_search.rowid"
        f" WHERE file_search MATCH ? AND a.message_id IN ({ids})",
        (*shape, *shape, matching),
    ):
        snippet = in_text if FOUND_START in in_text else in_name
        places.setdefault(message_id, (HitPlace.FILE, snippet, name))
    # What the message itself says comes before its files.
    for message_id, in_text, in_thinking in db.execute(
        "SELECT rowid, snippet(message_search, 0, ?, ?, '…', ?), snippet(message_search, 1, ?, ?, '…', ?)"
        f" FROM message_search WHERE message_search MATCH ? AND rowid IN ({ids})",
        (*shape, *shape, matching),
    ):
        is_text = FOUND_START in in_text
        place = HitPlace.TEXT if is_text else HitPlace.THINKING
        places[message_id] = (place, in_text if is_text else in_thinking, "")
    return _hits(found, places)


# ---------------------------------------------------------------------- without it


def _read_through(db: sqlite3.Connection, words: Sequence[str]) -> list[SearchHit]:
    def all_in(text: str) -> str:
        return " AND ".join(f"{text} LIKE ? ESCAPE '\\'" for _word in words)

    patterns = ["%" + re.sub(r"([\\%_])", r"\\\1", word) + "%" for word in words]
    found = db.execute(
        f"WITH found(id) AS (SELECT id FROM messages WHERE {all_in('(text || char(10) || thinking)')}"
        f" UNION ALL SELECT message_id FROM attachments WHERE {all_in('(name || char(10) || text)')})"
        + _BY_CHAT,
        (*patterns, *patterns, RESULT_LIMIT),
    ).fetchall()
    return _hits(found, {newest: _place_in(db, newest, words) for _chat, newest, _count in found})


def _place_in(db: sqlite3.Connection, message_id: int, words: Sequence[str]) -> _Place:
    text, thinking = db.execute("SELECT text, thinking FROM messages WHERE id = ?", (message_id,)).fetchone()
    files = db.execute("SELECT name, text FROM attachments WHERE message_id = ?", (message_id,)).fetchall()
    candidates: list[tuple[HitPlace, str, str]] = [
        (HitPlace.TEXT, text, ""),
        (HitPlace.THINKING, thinking, ""),
        *((HitPlace.FILE, content, name) for name, content in files),
        *((HitPlace.FILE, name, name) for name, _content in files),
    ]
    best = max(candidates, key=lambda candidate: _count_in(candidate[1], words))
    return best[0], _snippet_of(best[1], _first_in(best[1], words)), best[2]


def _count_in(text: str, words: Iterable[str]) -> int:
    folded = text.casefold()
    return sum(word.casefold() in folded for word in words)


def _first_in(text: str, words: Sequence[str]) -> str:
    folded = text.casefold()
    return next((word for word in words if word.casefold() in folded), words[0])


def _snippet_of(text: str, word: str) -> str:
    place = text.casefold().find(word.casefold())
    if place < 0:
        return text[:_AFTER]
    start = max(0, place - _BEFORE)
    end = place + len(word)
    before = ("…" if start else "") + text[start:place]
    after = text[end : end + _AFTER] + ("…" if len(text) > end + _AFTER else "")
    return f"{before}{FOUND_START}{text[place:end]}{FOUND_END}{after}"
