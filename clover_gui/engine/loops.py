"""Notices when an answer only repeats itself. Pure; works on token numbers."""

from __future__ import annotations

# Tokens by which an earlier place is found again.
_KEY = 8
# A cycle must have come round so often: a list of three like lines is no loop yet.
_ROUNDS = 4
# Places are remembered for so many tokens at least; longer cycles are not found.
_MEMORY = 4096


class LoopDetector:
    """Feed it every token. The cost per token does not depend on how many there were."""

    def __init__(self, limit: int) -> None:
        """``limit``: so many tokens that repeat a cycle are a loop; 0: nothing is."""
        self._limit = limit
        self.reset()

    def reset(self) -> None:
        """Begin anew, for example where another part of the answer begins."""
        self._tokens: list[int] = []
        # By the hash of the tokens: two places with the same one and other tokens only cost a moment.
        self._places: dict[int, int] = {}
        self._older_places: dict[int, int] = {}
        self._period = 0
        self._run = 0

    @property
    def cycle(self) -> int:
        """Tokens of the cycle that goes round at the moment; 0: none does."""
        return self._period

    @property
    def tokens_before(self) -> int:
        """Tokens since the start or ``reset`` that came before the cycle's first round."""
        return len(self._tokens) - self._run - self._period

    def add(self, token: int) -> bool:
        """True if the tokens up to this one are a loop."""
        if not self._limit:
            return False
        tokens = self._tokens
        place = len(tokens)
        tokens.append(token)
        period = self._period
        if period and tokens[place - period] == token:
            self._run += 1
        else:
            self._period = self._run = 0
        key = hash(tuple(tokens[-_KEY:]))
        if not self._period:
            earlier = self._places.get(key, self._older_places.get(key))
            if earlier is not None and place >= _KEY:
                self._period, self._run = place - earlier, _KEY
        self._places[key] = place
        if len(self._places) > _MEMORY:
            self._older_places, self._places = self._places, {}
        return self._run >= self._limit and self._run >= (_ROUNDS - 1) * self._period
