"""How an answer went and ended, and whether the next one fits, in sentences for both front ends."""

from __future__ import annotations

from clover_gui.chat.context import ContextCheck
from clover_gui.chat.message import AnswerStats
from clover_gui.engine.protocol import (
    CAUSE_FILE,
    CAUSE_LONG_CONTEXT,
    CAUSE_REPETITION,
    CLOSED_BUDGET,
    CLOSED_LOOP,
    CLOSED_RESERVE,
    STOP_CANCELLED,
    STOP_CONTEXT,
    STOP_LENGTH,
    STOP_LOOP,
    STOP_NOT_A_NUMBER,
    STOP_STRING,
)
from clover_gui.i18n import _, ngettext, number


def ending_text(stop_reason: str, cause: str = "", *, may_need_repair: bool = False) -> str:
    """Why an answer ended, with the next step; "" when it simply came to its end.

    ``may_need_repair``: the file has a known fault that this program could repair, and it was not done.
    """
    if stop_reason in (STOP_LOOP, STOP_NOT_A_NUMBER):
        text = (
            _("Stopped: the model repeated itself.")
            if stop_reason == STOP_LOOP
            else _("Stopped: the engine computed values that are no numbers.")
        )
        return f"{text} {_cause_text(cause, may_need_repair=may_need_repair)}".strip()
    return {
        STOP_LENGTH: _("Cut: the largest number of tokens for an answer was reached."),
        STOP_CONTEXT: _("Cut: the context is full."),
        STOP_CANCELLED: _("Stopped."),
        STOP_STRING: _("Ended at one of the stop texts that are set."),
    }.get(stop_reason, "")


def _cause_text(cause: str, *, may_need_repair: bool) -> str:
    if cause == CAUSE_FILE and may_need_repair:
        return _("The model file has a fault that can be repaired: repair it and load it again.")
    return {
        CAUSE_FILE: _(
            "It was so from the first words on, so the model file or its quantisation is probably broken."
            " Check the file, or try another one of this model."
        ),
        CAUSE_LONG_CONTEXT: _(
            "The chat is probably too long for this model on this machine. Begin a new chat, or load the"
            " model with a smaller context."
        ),
        CAUSE_REPETITION: _(
            "Answer again, or raise the penalty for words that were used already; greedy choice and low"
            " temperatures make this likelier."
        ),
    }.get(cause, "")


def thinking_closed_text(closed: str, tokens: int) -> str:
    """Why the thoughts were ended from outside; "" when the model ended them itself."""
    return {
        CLOSED_BUDGET: _("Stopped thinking at {count} tokens, the limit that is set."),
        CLOSED_RESERVE: _("Stopped thinking at {count} tokens, to leave room for the answer."),
        CLOSED_LOOP: _("Stopped thinking at {count} tokens: the thoughts only repeated themselves."),
    }.get(closed, "").format(count=number(tokens))


def empty_answer_text(stats: AnswerStats | None) -> str:
    """What to say of an answer without text."""
    if stats is not None and stats.thinking_tokens and stats.thinking_tokens >= stats.tokens_written - 4:
        return _(
            "The answer is empty: all {count} tokens were thoughts. Answer again, or switch thinking off."
        ).format(count=number(stats.thinking_tokens))
    return _("The answer is empty. Ask again, or ask differently.")


def unasked_thinking_text() -> str:
    return _("The model thought before it answered although thinking was switched off.")


def overflow_text(check: ContextCheck, *, can_grow: bool = True) -> str:
    """That a message does not fit, with what would have to be left out; to be followed by a question.

    ``can_grow``: the model can be loaded with a larger context.
    """
    text = _(
        "This does not fit: the chat has {count} tokens, and the context has room for {room} with"
        " {reserve} for the answer."
    ).format(
        count=number(check.prompt_tokens),
        room=number(check.context_tokens - check.reserve_tokens),
        reserve=number(check.reserve_tokens),
    )
    turns = len(check.droppable)
    if not turns:
        alone = (
            _("The newest message alone is too long: shorten it, or take a larger context.")
            if can_grow
            else _("The newest message alone is too long for this model: shorten it.")
        )
        return f"{text} {alone}"
    return (
        text
        + " "
        + ngettext(
            "Without the oldest turn it would have {after}.",
            "Without the {turns} oldest turns it would have {after}.",
            turns,
        ).format(turns=number(turns), after=number(check.tokens_after_drop))
    )


def dropped_text(turns: int) -> str:
    """The mark in a chat above the first message that is still sent to the model."""
    if turns <= 0:
        return _("What stands above is not sent to the model any more.")
    return ngettext(
        "The oldest turn above is not sent to the model any more.",
        "The {turns} oldest turns above are not sent to the model any more.",
        turns,
    ).format(turns=number(turns))


def tight_text(check: ContextCheck) -> str:
    """The context is nearly full."""
    return _("The context is {percent} % full.").format(percent=number(min(100 * check.share, 100)))
