"""The short lines below an answer: what it cost, and how it ended if not by itself."""

from __future__ import annotations

from clover_gui.chat.continuing import can_continue
from clover_gui.chat.message import AnswerStats, Message, MessageState, Role
from clover_gui.engine.protocol import CAUSE_REPETITION, STOP_LOOP, STOP_NOT_A_NUMBER
from clover_gui.explain.answers import (
    empty_answer_text,
    ending_text,
    thinking_closed_text,
    unasked_thinking_text,
)
from clover_gui.i18n import _, duration, ngettext, number
from clover_gui.ui.shortcuts import Keys, native

REGENERATE, CONTINUE = "regenerate", "continue"
SAVING = "saving"
"""The matter of notices about what cannot be saved, and is saved again."""


def details_text(stats: AnswerStats | None) -> str:
    """For example "204 tokens · 62.1 tok/s · read 1,024 tokens in 0.9 s · 310 reused"."""
    if stats is None:
        return ""
    parts = []
    if stats.tokens_written:
        parts.append(
            ngettext("{count} token", "{count} tokens", stats.tokens_written).format(
                count=number(stats.tokens_written)
            )
        )
    if (speed := stats.write_tokens_per_second) is not None:
        parts.append(_("{rate} tok/s").format(rate=number(speed, 1)))
    if stats.tokens_read:
        parts.append(
            ngettext(
                "read {count} token in {time}", "read {count} tokens in {time}", stats.tokens_read
            ).format(count=number(stats.tokens_read), time=duration(stats.read_seconds))
        )
    if stats.tokens_reused:
        parts.append(_("{count} reused").format(count=number(stats.tokens_reused)))
    return " · ".join(parts)


def notice_text(message: Message, *, unasked_thinking: bool = False, can_grow: bool = False) -> str:
    """How an answer ended, and what else went another way than expected; "" for one that is complete.

    ``can_grow``: the model can be loaded with a larger context.
    """
    if message.role is not Role.ASSISTANT:
        return ""
    stats = message.stats
    parts = [_ending(message, can_grow=can_grow)]
    if stats is not None:
        parts.append(thinking_closed_text(stats.thinking_closed, stats.thinking_tokens))
    if unasked_thinking:
        parts.append(unasked_thinking_text())
    return " ".join(filter(None, parts))


def _ending(message: Message, *, can_grow: bool) -> str:
    cause = message.stats.cause if message.stats else ""
    match message.state:
        case MessageState.STOPPED:
            return _("Stopped by you.")
        case MessageState.CLOSED:
            return _("The program was closed here. What was written is kept.")
        case MessageState.CUT_LENGTH:
            return _("Cut short: the answer reached its maximum length.")
        case MessageState.CUT_CONTEXT:
            if not can_grow:
                return _("Cut short: the context is full. Begin a new chat.")
            return _(
                "Cut short: the context is full. Begin a new chat, or load the model with a larger context."
            )
        case MessageState.INTERRUPTED:
            return _("Interrupted: the engine or the program ended here. What was written is kept.")
        case MessageState.FAILED:
            return _("The answer failed here.")
        case MessageState.LOOPED:
            where = _where_to_change() if cause == CAUSE_REPETITION else ""
            return f"{ending_text(STOP_LOOP, cause)} {where}".strip()
        case MessageState.BROKEN:
            return ending_text(STOP_NOT_A_NUMBER, cause)
        case _:
            return "" if message.text.strip() else empty_answer_text(message.stats)


def _where_to_change() -> str:
    return _("Both are under “This chat” ({keys}): “{penalty}” and “{freedom}”.").format(
        keys=native(Keys.OPTIONS), penalty=_("Against repetition"), freedom=_("Freedom")
    )


def answer_action(message: Message) -> tuple[str, str] | None:
    """What can be done about the last answer of a chat: (key, text of a button)."""
    if message.role is not Role.ASSISTANT or message.state is MessageState.RUNNING:
        return None
    if can_continue(message):
        return (CONTINUE, _("Continue"))
    if not message.text.strip() or message.state in (MessageState.LOOPED, MessageState.BROKEN):
        return (REGENERATE, _("Try again"))
    return None
