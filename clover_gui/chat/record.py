"""A whole chat as one value, and its form as a JSON file: what is written out is what is read back.

All versions of all messages are in it. Ids are those of the file, counted from 1.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_gui.chat.message import AnswerStats, Attachment, Chat, Message, MessageState, Role
from clover_gui.chat.options import options_from_dict, options_to_dict
from clover_gui.chat.sound_values import is_sound_number, sound_count, sound_time
from clover_gui.errors import ChatFileError

FORMAT = "clover-gui-chat"
VERSION = 1
LIMIT_BYTES = 256 * 1024 * 1024
_TITLE_LIMIT = 200


@dataclass(frozen=True, slots=True)
class ChatRecord:
    """``messages`` are all of the chat, each after its parent; ``leaf_id`` is the end of the shown path."""

    chat: Chat
    messages: tuple[Message, ...]
    leaf_id: int | None = None

    def path(self) -> list[Message]:
        """What is shown, oldest first."""
        by_id = {message.id: message for message in self.messages}
        path: list[Message] = []
        place = self.leaf_id
        while place is not None and place in by_id:
            path.append(by_id.pop(place))
            place = path[-1].parent_id
        return path[::-1]


def record_to_json(record: ChatRecord) -> str:
    """The chat as a JSON text that ``record_from_json`` understands."""
    chat = record.chat
    numbers = {message.id: number for number, message in enumerate(record.messages, 1)}
    data = {
        "format": FORMAT,
        "version": VERSION,
        "title": chat.title,
        "created": chat.created,
        "updated": chat.updated,
        "thinking": chat.thinking,
        "system_prompt": chat.system_prompt,
        "options": options_to_dict(chat.options),
        "shown": numbers.get(record.leaf_id or 0),
        "messages": [_message_to_dict(message, numbers) for message in record.messages],
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _message_to_dict(message: Message, numbers: dict[int, int]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": numbers[message.id],
        "parent": numbers.get(message.parent_id or 0),
        "role": message.role.value,
        "text": message.text,
        "state": message.state.value,
        "created": message.created,
    }
    if message.thinking:
        data["thinking"] = message.thinking
    if message.begins_context:
        data["begins_context"] = True
    if message.stats is not None:
        data["stats"] = dataclasses.asdict(message.stats)
    if message.attachments:
        data["attachments"] = [dataclasses.asdict(attachment) for attachment in message.attachments]
    return data


def read_record(path: Path) -> ChatRecord:
    """The chat in a JSON file.

    Raises:
        ChatFileError: it cannot be read, is too large, or is no chat of this program.
    """
    try:
        size_bytes = path.stat().st_size
        if size_bytes > LIMIT_BYTES:
            raise ChatFileError(path, "too-big", str(size_bytes))
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ChatFileError(path, "unreadable", error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise ChatFileError(path, "not-ours", str(error)) from error
    return record_from_json(text, path)


def record_from_json(text: str, path: Path) -> ChatRecord:
    """The chat of a JSON text; ``path`` is only named in errors.

    Raises:
        ChatFileError: it is no chat of this program, or of a later version of it.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ChatFileError(path, "not-ours", str(error)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ChatFileError(path, "not-ours", "no chat of this program")
    version = data.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ChatFileError(path, "too-new", f"version {version}")
    try:
        return _record_of(data)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ChatFileError(path, "damaged", f"{type(error).__name__}: {error}") from error


def _record_of(data: dict[str, Any]) -> ChatRecord:
    created = _time(data.get("created", 0.0))
    chat = Chat(
        id=0,
        title=_text(data.get("title", ""))[:_TITLE_LIMIT],
        created=created,
        updated=_time(data.get("updated", created)),
        thinking=bool(data.get("thinking", True)),
        system_prompt=_text(data.get("system_prompt", "")),
        options=options_from_dict(data.get("options")),
    )
    messages: list[Message] = []
    known: set[int] = set()
    for item in data["messages"]:
        message = _message_of(item)
        if message.id in known or (message.parent_id is not None and message.parent_id not in known):
            raise ValueError(f"message {message.id} has no place")
        known.add(message.id)
        messages.append(message)
    shown = data.get("shown")
    if shown is None or shown not in known:
        shown = messages[-1].id if messages else None
    return ChatRecord(chat, tuple(messages), shown)


def _message_of(item: dict[str, Any]) -> Message:
    role = Role(item["role"])
    if role is Role.SYSTEM:
        raise ValueError("a system message among the messages")
    parent = item.get("parent")
    if type(item["id"]) is not int or (parent is not None and type(parent) is not int):
        raise ValueError("an id is no number")
    state = MessageState(item.get("state", MessageState.COMPLETE.value))
    return Message(
        id=item["id"],
        chat_id=0,
        role=role,
        text=_text(item["text"]),
        thinking=_text(item.get("thinking", "")),
        state=MessageState.INTERRUPTED if state is MessageState.RUNNING else state,
        stats=stats_of(item.get("stats")),
        created=_time(item.get("created", 0.0)),
        parent_id=parent,
        begins_context=item.get("begins_context") is True,
        attachments=attachments_of(item.get("attachments", [])),
    )


def stats_of(values: object) -> AnswerStats | None:
    """Of a dictionary that was read; fields that are unknown, of another type or no sound
    numbers are left out."""
    if not isinstance(values, dict):
        return None
    default = AnswerStats()
    taken: dict[str, Any] = {}
    for field in dataclasses.fields(AnswerStats):
        value, usual = values.get(field.name), getattr(default, field.name)
        if isinstance(usual, str):
            fits = isinstance(value, str)
        else:
            fits = is_sound_number(value) and (isinstance(usual, float) or type(value) is int)
        if fits:
            taken[field.name] = value
    return AnswerStats(**taken)


def attachments_of(items: Sequence[dict[str, Any]]) -> tuple[Attachment, ...]:
    """Of a list that was read.

    Raises:
        KeyError, TypeError, ValueError: it is none of attachments.
    """
    return tuple(
        Attachment(_text(item["name"]), _text(item["text"]), sound_count(item.get("tokens", 0)))
        for item in items
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is something else")
    return value


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a time is no number")
    return sound_time(value)
