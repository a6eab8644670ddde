"""How long a prompt is, and which turns would have to go for it to fit. Runs in the engine child."""

from __future__ import annotations

from collections.abc import Sequence

from clover_gui.engine.continuing import continued_prompt
from clover_gui.engine.prompt import KnownTexts, PromptBuilder
from clover_gui.engine.protocol import ROLE_SYSTEM, ROLE_USER, Count, Counted, PromptMessage

# A prompt that leaves less room than this is refused: the answer would be cut at once.
LEAST_ROOM_TOKENS = 16
# Of a small context no more than this part is asked for the answer.
_RESERVED_SHARE = 1 / 4


def count_prompt(request: Count, builder: PromptBuilder, known: KnownTexts, context: int) -> Counted:
    """Count with the real template and tokens.

    Raises:
        TemplateError: the template refused.
    """
    reserve = max(LEAST_ROOM_TOKENS, min(request.reserve, int(context * _RESERVED_SHARE)))

    def length(messages: Sequence[PromptMessage]) -> int:
        if request.begun is not None:
            return len(continued_prompt(builder, messages, request.thinking, request.begun, known).tokens)
        return len(builder.build(messages, request.thinking, known).tokens)

    total = length(request.messages)
    if total + reserve <= context:
        return Counted(request.id, total, context, reserve, fits=True)
    # Each turn dropped makes it shorter, so the least number is found by halving.
    low, high = 1, len(turn_starts(request.messages)) - 1
    drop, after = 0, 0
    while low <= high:
        middle = (low + high) // 2
        shorter = length(without_oldest(request.messages, middle))
        if shorter + reserve <= context:
            drop, after, high = middle, shorter, middle - 1
        else:
            low = middle + 1
    return Counted(request.id, total, context, reserve, fits=False, drop=drop, tokens_after_drop=after)


def turn_starts(messages: Sequence[PromptMessage]) -> list[int]:
    """Places of the person's messages: a turn is one of them with what follows it."""
    return [i for i, message in enumerate(messages) if message.role == ROLE_USER]


def without_oldest(messages: Sequence[PromptMessage], turns: int) -> list[PromptMessage]:
    """The messages without the oldest turns; system messages stay."""
    first = turn_starts(messages)[turns]
    system = [message for message in messages[:first] if message.role == ROLE_SYSTEM]
    return [*system, *messages[first:]]
