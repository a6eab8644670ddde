"""Going on with an answer that was cut: which ones can be, what the engine is told, what it cost in all."""

from __future__ import annotations

from dataclasses import replace

from clover_gui.chat.message import AnswerStats, Message, MessageState, Role
from clover_gui.engine.protocol import Begun

_CUT = frozenset(
    {
        MessageState.STOPPED,
        MessageState.CLOSED,
        MessageState.CUT_LENGTH,
        MessageState.CUT_CONTEXT,
        MessageState.INTERRUPTED,
        MessageState.FAILED,
    }
)


def can_continue(message: Message) -> bool:
    """Whether it is an answer that ended before its end and has something to go on from."""
    written = bool(message.text.strip() or message.thinking.strip())
    return message.role is Role.ASSISTANT and message.state in _CUT and written


def begun_of(message: Message) -> Begun:
    """What the engine is told of it."""
    return Begun(message.text, message.thinking)


def joined_stats(before: AnswerStats | None, after: AnswerStats) -> AnswerStats:
    """The cost of an answer with its newest part: sums, and what can only be told of one part from this."""
    if before is None:
        return after
    return replace(
        after,
        tokens_read=before.tokens_read + after.tokens_read,
        tokens_reused=before.tokens_reused,
        tokens_written=before.tokens_written + after.tokens_written,
        read_seconds=before.read_seconds + after.read_seconds,
        write_seconds=before.write_seconds + after.write_seconds,
        thinking_seconds=before.thinking_seconds + after.thinking_seconds,
        thinking_tokens=before.thinking_tokens + after.thinking_tokens,
        thinking_closed=before.thinking_closed or after.thinking_closed,
        parts=before.parts + after.parts,
    )
