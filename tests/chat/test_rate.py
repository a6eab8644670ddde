"""Tokens per second from a clock of our own."""

from __future__ import annotations

import pytest

from clover_gui.chat.rate import RateMeter


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_unknown_until_there_are_two_points_in_time() -> None:
    meter = RateMeter(clock=Clock())
    assert meter.now is None
    assert meter.average is None
    meter.add(1)
    assert meter.now is None
    assert meter.average is None
    meter.add(2)  # at the same moment
    assert meter.average is None


def test_now_follows_the_last_moment_and_average_everything() -> None:
    clock = Clock()
    meter = RateMeter(window_s=1.0, clock=clock)
    for token in range(1, 11):  # 10 a second
        meter.add(token)
        clock.time += 0.1
    for token in range(11, 111):  # 100 a second
        meter.add(token)
        clock.time += 0.01
    assert meter.now == pytest.approx(100, rel=0.02)
    assert meter.average == pytest.approx(109 / 1.99, rel=0.01)


def test_now_sinks_to_zero_when_nothing_comes() -> None:
    clock = Clock()
    meter = RateMeter(window_s=1.0, clock=clock)
    for token in range(20):
        meter.add(token)
        clock.time += 0.1
    assert meter.now == pytest.approx(9, rel=0.2)
    clock.time += 5
    assert meter.now == 0


def test_memory_is_bounded_by_the_window() -> None:
    clock = Clock()
    meter = RateMeter(window_s=1.0, clock=clock)
    for token in range(5000):
        meter.add(token)
        clock.time += 0.01
    assert len(meter._samples) < 110
