"""Does a plan still fit while people chat? Readings and speeds in, at most one calm offer out. Pure.

Other programs may take graphics memory, and some drivers then move a part of the model to main memory
without a word: answers come at a tenth of the speed. One offer is made for each loaded model; whoever
declines it is not asked again.
"""

from __future__ import annotations

from dataclasses import dataclass

from clover_gui.planning.plan import FitPlan

# The margin counts as gone below this share of the reserve, seen so many times in a row.
_MARGIN_SHARE = 0.25
_READINGS_IN_A_ROW = 3
# Graphics memory that lies in main memory: more than this is no small change.
_SPILLED_BYTES = 512 << 20
# An answer at less than this share of what is usual here, so many answers in a row.
_SLOW_SHARE = 0.35
_ANSWERS_IN_A_ROW = 2
_FEWEST_TOKENS = 32


@dataclass(frozen=True, slots=True)
class RefitOffer:
    """Something to ask the person once. ``reason`` is "memory-taken", "spilled" or "slow".

    ``free_bytes`` and ``reserve_bytes`` belong to the first two (for "spilled" ``free_bytes`` is what
    lies in main memory), the two speeds in tokens per second to the last.
    """

    reason: str
    free_bytes: int = 0
    reserve_bytes: int = 0
    tokens_per_second: float = 0.0
    usual_tokens_per_second: float = 0.0


class FitWatch:
    """Watches one loaded plan. Make a new one for each load. Not thread-safe."""

    def __init__(self, plan: FitPlan) -> None:
        self._reserve = max((share.reserve_bytes for share in plan.devices), default=0)
        self._on_gpu = bool(plan.devices)
        speed = plan.speed
        # A measured speed is a promise; of an estimated one only the lower end is.
        self._usual = (speed.tokens_per_second if speed.measured else speed.low) if speed else 0.0
        self._low_readings = 0
        self._slow_answers = 0
        self._shared_at_start: int | None = None
        self._offered = False

    @property
    def offered(self) -> bool:
        """Whether the one offer was made."""
        return self._offered

    def memory(self, free_bytes: int | None, shared_bytes: int | None = None) -> RefitOffer | None:
        """One reading of the fullest GPU. ``shared_bytes`` is what our engine has there of main memory,
        where the system tells. None for a figure that could not be read."""
        if not self._on_gpu:
            return None
        if shared_bytes is not None:
            if self._shared_at_start is None:
                self._shared_at_start = shared_bytes
            if shared_bytes - self._shared_at_start > _SPILLED_BYTES:
                return self._offer(RefitOffer("spilled", shared_bytes, self._reserve))
        if free_bytes is None or free_bytes >= _MARGIN_SHARE * self._reserve:
            self._low_readings = 0
            return None
        self._low_readings += 1
        if self._low_readings < _READINGS_IN_A_ROW:
            return None
        return self._offer(RefitOffer("memory-taken", free_bytes, self._reserve))

    def answer(self, tokens: int, seconds: float) -> RefitOffer | None:
        """One finished answer. The better of two speeds becomes what is usual."""
        if tokens < _FEWEST_TOKENS or seconds <= 0:
            return None
        rate = tokens / seconds
        usual = self._usual
        if rate >= _SLOW_SHARE * usual:
            self._usual, self._slow_answers = max(usual, rate), 0
            return None
        self._slow_answers += 1
        if self._slow_answers < _ANSWERS_IN_A_ROW:
            return None
        return self._offer(RefitOffer("slow", tokens_per_second=rate, usual_tokens_per_second=usual))

    def _offer(self, offer: RefitOffer) -> RefitOffer | None:
        if self._offered:
            return None
        self._offered = True
        return offer
