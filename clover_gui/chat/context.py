"""Whether what is about to be sent fits into the context, and what would have to be left out if not."""

from __future__ import annotations

from dataclasses import dataclass

from clover_gui.chat.history import Turn
from clover_gui.engine.protocol import Counted

# From this part of the context on, a front end should say that it gets tight.
WARN_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class ContextCheck:
    """Counts in tokens. ``fits`` includes ``reserve_tokens`` of room for the answer.

    ``droppable`` are the turns, oldest first, that would have to be left out for the rest to fit (with
    ``tokens_after_drop`` then); empty where it fits, and where even the newest message alone is too long.
    Neither the system prompt nor the newest message is ever among them.
    """

    fits: bool
    prompt_tokens: int
    context_tokens: int
    reserve_tokens: int
    droppable: tuple[Turn, ...] = ()
    tokens_after_drop: int = 0

    @property
    def share(self) -> float:
        """Part of the context that the prompt takes; above 1 where it is longer."""
        return self.prompt_tokens / self.context_tokens if self.context_tokens else 0.0


def check_of(counted: Counted, turns: list[Turn]) -> ContextCheck:
    """``turns`` are those of the prompt that was counted."""
    return ContextCheck(
        fits=counted.fits,
        prompt_tokens=counted.prompt_tokens,
        context_tokens=counted.context_tokens,
        reserve_tokens=counted.reserve,
        droppable=tuple(turns[: counted.drop]),
        tokens_after_drop=counted.tokens_after_drop,
    )
