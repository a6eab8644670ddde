"""Brings what can still be read of a damaged chat database into a new one. The damaged file stays as it is.

A row is told by its values, since the file may not say any more which table a page belongs to. Answers whose
question is lost, and messages whose chat is lost, are put where they most probably stood.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clover_gui.chat.database import ChatDatabase
from clover_gui.chat.message import MessageState, Role
from clover_gui.chat.rows import storable
from clover_gui.chat.side_files import beside
from clover_gui.chat.sound_values import is_sound_id, sound_count, sound_time
from clover_gui.chat.sqlite_journal import apply_journal, holds_pages
from clover_gui.chat.sqlite_pages import Row, Value, read_rows
from clover_gui.i18n import capped

_log = logging.getLogger(__name__)

_CHAT = (
    "id",
    "title",
    "created",
    "updated",
    "thinking",
    "deleted",
    "leaf_id",
    "system_prompt",
    "pinned",
    "options",
)
_MESSAGE = (
    "id",
    "chat_id",
    "parent_id",
    "role",
    "text",
    "thinking",
    "state",
    "stats",
    "created",
    "begins_context",
)
_FILE = ("id", "message_id", "name", "text", "tokens")
_DRAFT = ("chat_id", "text", "attachments")
_TITLE_LIMIT = 60

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """How much was saved. Chats that were deleted and could still be brought back are not counted."""

    chats: int = 0
    messages: int = 0


@dataclass(slots=True)
class _Found:
    chats: dict[int, Fields] = field(default_factory=dict)
    messages: dict[int, Fields] = field(default_factory=dict)
    files: dict[int, Fields] = field(default_factory=dict)
    drafts: dict[int, Fields] = field(default_factory=dict)


def salvage(damaged: Path, target: ChatDatabase) -> Salvaged:
    """Read ``damaged`` (and its journal) and fill ``target``, which is new.

    Raises:
        OSError: the damaged file cannot be read, or there is no room for a copy of it with its journal.
        ChatStoreError: the new one cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="clover-salvage-", ignore_cleanup_errors=True) as folder:
        found = _sorted_rows(read_rows(_with_journal(damaged, Path(folder))))
    _put_in_order(found)
    target.fill(
        {
            "chats": list(found.chats.values()),
            "messages": [found.messages[number] for number in sorted(found.messages)],
            "attachments": list(found.files.values()),
            "drafts": list(found.drafts.values()),
        }
    )
    saved = Salvaged(*target.count())
    _log.info("saved of the damaged chats: %d chats, %d messages", saved.chats, saved.messages)
    return saved


def _with_journal(damaged: Path, folder: Path) -> Path:
    """The file with what its journal holds beyond it: a copy, where there is a journal."""
    journal = beside(damaged, "-wal")
    if not holds_pages(journal):
        return damaged
    copy = folder / "chats.sqlite3"
    if damaged.exists():
        shutil.copyfile(damaged, copy)
    else:
        copy.touch()
    apply_journal(journal, copy)
    return copy


def _sorted_rows(rows: Iterable[Row]) -> _Found:
    found = _Found()
    for number, values in rows:
        if not is_sound_id(number) and not (number == 0 and _is_draft(values)):
            continue
        if _is_message(values):
            found.messages.setdefault(number, _message(number, values))
        elif _is_chat(values):
            found.chats.setdefault(number, _chat(number, values))
        elif _is_file(values):
            row = _named(_FILE, number, values)
            found.files.setdefault(number, row | {"tokens": sound_count(row["tokens"])})
        elif _is_draft(values):
            found.drafts.setdefault(number, _named(_DRAFT, number, values))
    return found


def _is_message(values: list[Value]) -> bool:
    return (
        9 <= len(values) <= len(_MESSAGE)
        and values[0] is None
        and isinstance(values[1], int)
        and isinstance(values[2], int | None)
        and values[3] in (Role.USER.value, Role.ASSISTANT.value)
        and isinstance(values[4], str)
    )


def _is_chat(values: list[Value]) -> bool:
    return (
        7 <= len(values) <= len(_CHAT)
        and values[0] is None
        and isinstance(values[1], str)
        and all(isinstance(values[place], int | float) for place in (2, 3))
        and values[4] in (0, 1)
        and isinstance(values[5], int | float | None)
        and isinstance(values[6], int | None)
    )


def _is_file(values: list[Value]) -> bool:
    return (
        len(values) == len(_FILE)
        and values[0] is None
        and isinstance(values[1], int)
        and isinstance(values[2], str)
        and isinstance(values[3], str)
    )


def _is_draft(values: list[Value]) -> bool:
    return (
        2 <= len(values) <= len(_DRAFT)
        and values[0] is None
        and all(isinstance(value, str) for value in values[1:])
    )


def _named(names: tuple[str, ...], number: int, values: list[Value]) -> Fields:
    """The columns that the row has, by name; rows of earlier versions lack the newer ones."""
    usual: Fields = {"tokens": 0, "thinking": 1, "pinned": 0}
    usual |= {name: "" for name in ("system_prompt", "options", "attachments") if name in names}
    row = {name: usual[name] for name in names if name in usual}
    row |= dict(zip(names, values, strict=False))
    row = {name: usual[name] if value is None and name in usual else value for name, value in row.items()}
    row[names[0]] = number
    return {name: storable(value) if isinstance(value, str) else value for name, value in row.items()}


def _chat(number: int, values: list[Value]) -> Fields:
    row = _named(_CHAT, number, values)
    texts = {name: row[name] if isinstance(row[name], str) else "" for name in ("system_prompt", "options")}
    times = {name: sound_time(row[name]) for name in ("created", "updated")}
    deleted = None if row["deleted"] is None else sound_time(row["deleted"])
    return row | texts | times | {"deleted": deleted, "pinned": int(row["pinned"] == 1)}


def _message(number: int, values: list[Value]) -> Fields:
    row = _named(_MESSAGE, number, values)
    row["thinking"] = row["thinking"] if isinstance(row["thinking"], str) else ""
    states = {state.value for state in MessageState} - {MessageState.RUNNING.value}
    if row["state"] not in states:  # it was running, or the rest of the row is lost
        row["state"] = MessageState.INTERRUPTED.value
    with suppress(ValueError, TypeError, RecursionError):
        if not isinstance(json.loads(row["stats"]), dict):
            raise ValueError
        row["stats"] = str(row["stats"])
        return row | _times(row)
    return row | _times(row) | {"stats": None}


def _times(row: Fields) -> Fields:
    return {
        "created": sound_time(row.get("created")),
        "begins_context": 1 if row.get("begins_context") == 1 else 0,
    }


def _put_in_order(found: _Found) -> None:
    """Give every message a chat, a place in it, and every chat an end; files without a message go."""
    by_chat: dict[int, list[int]] = {}
    for number in sorted(found.messages):
        by_chat.setdefault(found.messages[number]["chat_id"], []).append(number)
    for chat_id, numbers in by_chat.items():
        earlier: list[int] = []
        for number in numbers:
            message = found.messages[number]
            parent = message["parent_id"]
            if parent is not None and parent not in earlier:
                message["parent_id"] = earlier[-1] if earlier else None
            earlier.append(number)
        if chat_id not in found.chats:
            found.chats[chat_id] = _lost_chat(chat_id, [found.messages[number] for number in numbers])
    for chat_id, chat in found.chats.items():
        numbers = by_chat.get(chat_id, [])
        for number in numbers:
            found.messages[number]["created"] = found.messages[number]["created"] or chat["created"]
        if chat["leaf_id"] not in numbers:
            chat["leaf_id"] = numbers[-1] if numbers else None
    found.files = {n: row for n, row in found.files.items() if row["message_id"] in found.messages}
    found.drafts = {n: row for n, row in found.drafts.items() if n == 0 or n in found.chats}


def _lost_chat(chat_id: int, messages: list[Fields]) -> Fields:
    """A chat of which only messages are left."""
    first = next((m["text"] for m in messages if m["role"] == Role.USER.value), messages[0]["text"])
    row = _named(_CHAT, chat_id, [])
    times = [message["created"] for message in messages]
    return row | {
        "title": capped(first, _TITLE_LIMIT),
        "created": min(times),
        "updated": max(times),
        "deleted": None,
        "leaf_id": None,
    }
