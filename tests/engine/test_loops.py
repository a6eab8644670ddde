"""What counts as a loop, what does not, and that finding it stays cheap."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable

import pytest

from clover_gui.engine.loops import LoopDetector


def noticed_after(tokens: Iterable[int], limit: int = 200) -> int | None:
    detector = LoopDetector(limit)
    return next((count for count, token in enumerate(tokens, 1) if detector.add(token)), None)


@pytest.mark.parametrize("period", [1, 2, 3, 7, 8, 9, 40, 66])
def test_short_cycles(period: int) -> None:
    rng = random.Random(period)
    before = [rng.randrange(1000) for _ in range(500)]
    cycle = list(range(5000, 5000 + period))
    found = noticed_after(before + cycle * 400)
    assert found is not None
    assert 200 <= found - len(before) <= 200 + period + 8


def test_a_long_passage_must_come_four_times() -> None:
    passage = list(range(300))
    assert noticed_after(passage * 3) is None
    found = noticed_after(passage * 5)
    assert found is not None
    assert 4 * 300 <= found <= 4 * 300 + 8


def test_what_is_no_loop() -> None:
    rng = random.Random(1)
    assert noticed_after(rng.randrange(50) for _ in range(20_000)) is None
    # A list whose lines differ by a number, a table's line, a sentence that comes back now and then.
    numbered = [token for i in range(2000) for token in (10, 11, 12, 1000 + i, 13)]
    assert noticed_after(numbered) is None
    assert noticed_after([7] * 190 + list(range(100)) + [7] * 190) is None
    assert noticed_after([token for i in range(300) for token in (*range(20), 100 + i)]) is None


def test_zero_switches_it_off() -> None:
    assert noticed_after([1] * 10_000, limit=0) is None


def test_the_cost_does_not_grow() -> None:
    detector = LoopDetector(200)
    rng = random.Random(2)
    tokens = [rng.randrange(100_000) for _ in range(60_000)]

    def seconds(part: list[int]) -> float:
        started = time.perf_counter()
        for token in part:
            detector.add(token)
        return time.perf_counter() - started

    early = min(seconds(tokens[i : i + 2000]) for i in range(0, 10_000, 2000))
    for token in tokens[10_000:50_000]:
        detector.add(token)
    late = min(seconds(tokens[i : i + 2000]) for i in range(50_000, 60_000, 2000))
    assert late < 3 * early
