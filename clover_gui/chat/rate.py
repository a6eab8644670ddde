"""Tokens per second, as a gauge shows it: over the last moment, and on average."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 1.5


class RateMeter:
    """Takes running totals of tokens. ``clock`` gives monotonic seconds."""

    def __init__(self, *, window_s: float = WINDOW_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._window_s = window_s
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque()
        self._first: tuple[float, int] | None = None
        self._last: tuple[float, int] = (0.0, 0)

    def add(self, total_tokens: int) -> None:
        """Note that ``total_tokens`` have come in all until now."""
        now = self._clock()
        if self._first is None:
            self._first = (now, total_tokens)
        self._last = (now, total_tokens)
        self._samples.append(self._last)
        # One sample at or before the start of the window stays, as the point to measure from.
        while len(self._samples) > 2 and self._samples[1][0] <= now - self._window_s:
            self._samples.popleft()

    @property
    def now(self) -> float | None:
        """Tokens per second over the window that ends now; None before there are two points in time.

        Sinks to 0 when nothing comes any more.
        """
        if len(self._samples) < 2:
            return None
        clock = self._clock()
        begin = max(clock - self._window_s, self._samples[0][0])
        span = clock - begin
        return (self._samples[-1][1] - self._total_at(begin)) / span if span > 0 else None

    @property
    def average(self) -> float | None:
        """Tokens per second from the first point to the last; None before there are two points in time."""
        if self._first is None or self._last[0] <= self._first[0]:
            return None
        return (self._last[1] - self._first[1]) / (self._last[0] - self._first[0])

    def _total_at(self, moment: float) -> float:
        """The total at a moment between two samples, on the straight line between them."""
        before = self._samples[0]
        for sample in self._samples:
            if sample[0] > moment:
                share = (moment - before[0]) / (sample[0] - before[0])
                return before[1] + share * (sample[1] - before[1])
            before = sample
        return before[1]
