"""Messages of the store as the conversation shows them."""

from __future__ import annotations

from collections.abc import Sequence

from clover_gui.chat.branches import Versions
from clover_gui.chat.continuing import can_continue
from clover_gui.chat.message import Message, Role
from clover_gui.explain.answers import dropped_text
from clover_gui.ui.chat.history import HistoryMessage
from clover_gui.ui.chat.words import answer_action, details_text, notice_text


def history_of(
    messages: Sequence[Message], versions: Versions, *, can_grow: bool = False
) -> list[HistoryMessage]:
    """The path in the form that the conversation takes.

    The message above one that begins the context carries the mark; only the last answer can be gone on with.
    ``can_grow``: the model can be loaded with a larger context.
    """
    shown = []
    for place, message in enumerate(messages):
        stats = message.stats
        following = messages[place + 1] if place + 1 < len(messages) else None
        version, count = version_of(message, versions)
        notices = [notice_text(message, can_grow=can_grow)]
        if following is not None and following.begins_context:
            notices.append(dropped_text(0))
        shown.append(
            HistoryMessage(
                is_user=message.role is Role.USER,
                text=message.text,
                files=message.attachments,
                thinking=message.thinking,
                thinking_seconds=stats.thinking_seconds if stats else None,
                thinking_tokens=stats.thinking_tokens if stats else None,
                details=details_text(stats),
                notice=" ".join(filter(None, notices)),
                notice_action=answer_action(message) if following is None else None,
                version=version,
                versions=count,
                can_continue=following is None and can_continue(message),
            )
        )
    return shown


def version_of(message: Message, versions: Versions) -> tuple[int, int]:
    """Which version of itself a message is, from 1, and how many there are."""
    family = versions.get(message.id, (message.id,))
    return family.index(message.id) + 1, len(family)
