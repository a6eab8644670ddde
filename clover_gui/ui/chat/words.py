"""The short lines below an answer: what it cost, and how it ended if not by itself."""

from __future__ import annotations

from clover_gui.chat.message import AnswerStats, Message, MessageState, Role
from clover_gui.i18n import _, duration, ngettext, number


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


def notice_text(message: Message) -> str:
    """How an answer ended, in one sentence; "" for one that is complete."""
    if message.role is not Role.ASSISTANT:
        return ""
    match message.state:
        case MessageState.STOPPED:
            return _("Stopped by you.")
        case MessageState.CUT_LENGTH:
            return _("Cut short: the answer reached its maximum length.")
        case MessageState.CUT_CONTEXT:
            return _(
                "Cut short: the context is full. Begin a new chat, or load the model with a larger context."
            )
        case MessageState.INTERRUPTED:
            return _("Interrupted: the engine or the program ended here. What was written is kept.")
        case MessageState.FAILED:
            return _("The answer failed here.")
        case _:
            return (
                "" if message.text.strip() else _("The model gave no answer. Ask again, or ask differently.")
            )
