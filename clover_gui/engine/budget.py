"""How long thoughts and answer may get: growing pressure towards their end, and where thoughts are closed.

Pure arithmetic over counts of tokens. The pressure is a number that is added to the engine's value (a logit)
of the token that ends the part.
"""

from __future__ import annotations

from clover_gui.engine.protocol import CLOSED_BUDGET, CLOSED_RESERVE, Limits

# The pressure at the end of the grace: the best token is rarely more than this above one that ends a part.
FULL_PRESSURE = 16.0
# Of the room for an answer at most this part is kept from the thoughts.
_RESERVED_SHARE = 1 / 4


class Budget:
    """The limits of one answer. ``room``: tokens that the context, and the caller, leave for all of it."""

    def __init__(self, limits: Limits, room: int) -> None:
        self._limits = limits
        reserve = min(limits.answer_reserve, int(room * _RESERVED_SHARE))
        by_room = max(1, room - reserve) if reserve else 0
        by_limit = limits.thinking_tokens + limits.thinking_grace if limits.thinking_tokens else 0
        self.closes_because = CLOSED_BUDGET
        self.thinking_most = by_limit
        self._thinking_soft = limits.thinking_tokens
        if by_room and (not by_limit or by_room < by_limit):
            self.closes_because, self.thinking_most = CLOSED_RESERVE, by_room
            gentle = by_room - min(limits.thinking_grace, by_room // 8)
            self._thinking_soft = min(limits.thinking_tokens or gentle, gentle)

    @property
    def thinking_budget(self) -> int:
        """What thoughts may take before they are pressed, 0 without a limit."""
        return self._thinking_soft

    def thinking_pressure(self, tokens: int) -> float:
        """After so many tokens of thoughts."""
        if not self.thinking_most or tokens <= self._thinking_soft:
            return 0.0
        grace = max(1, self.thinking_most - self._thinking_soft)
        return FULL_PRESSURE * (tokens - self._thinking_soft) / grace

    def answer_pressure(self, tokens: int) -> float:
        """After so many tokens of the answer. Grows without end, so that it always wins some time."""
        over = tokens - self._limits.answer_tokens
        if not self._limits.answer_tokens or over <= 0:
            return 0.0
        return FULL_PRESSURE * over / max(1, self._limits.answer_grace)
