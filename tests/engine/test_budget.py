"""Limits as arithmetic, and what the watch over an answer makes of them."""

from __future__ import annotations

import itertools

import pytest

from clover_gui.engine.budget import FULL_PRESSURE, Budget
from clover_gui.engine.protocol import Limits
from clover_gui.engine.watch import AnswerWatch, Verdict, cause_of_broken_numbers


def test_with_plenty_of_room_the_limits_hold_as_they_are() -> None:
    budget = Budget(Limits(), room=100_000)
    assert (budget.thinking_budget, budget.thinking_most, budget.closes_because) == (4096, 4608, "budget")
    assert budget.thinking_pressure(4096) == 0
    assert budget.thinking_pressure(4352) == FULL_PRESSURE / 2
    assert budget.thinking_pressure(4608) == FULL_PRESSURE
    assert budget.answer_pressure(8192) == 0
    assert budget.answer_pressure(8192 + 2048) == FULL_PRESSURE
    assert budget.answer_pressure(50_000) > 5 * FULL_PRESSURE


@pytest.mark.parametrize("room", [17, 40, 256, 1500, 3000, 5000])
def test_the_answer_always_keeps_room(room: int) -> None:
    budget = Budget(Limits(), room)
    assert budget.closes_because == "reserve"
    assert 0 < budget.thinking_budget <= budget.thinking_most <= room - min(1024, room // 4)
    assert budget.thinking_pressure(budget.thinking_most) >= FULL_PRESSURE or room < 20


def test_zero_switches_off() -> None:
    budget = Budget(Limits(thinking_tokens=0, answer_tokens=0, answer_reserve=0), room=5000)
    assert (budget.thinking_budget, budget.thinking_most) == (0, 0)
    assert budget.thinking_pressure(10**6) == budget.answer_pressure(10**6) == 0
    only_reserve = Budget(Limits(thinking_tokens=0), room=5000)
    assert only_reserve.thinking_most == 5000 - 1024


def test_the_watch_counts_and_closes_once() -> None:
    limits = Limits(thinking_tokens=10, thinking_grace=2)
    watch = AnswerWatch(limits, Budget(limits, 1000), in_thinking=True)
    verdicts = [watch.take(i, "word ") for i in range(12)]
    assert verdicts == [Verdict.GO_ON] * 11 + [Verdict.CLOSE_THINKING]
    # What is forced then does not close it again.
    assert watch.take(1, "\n") is Verdict.GO_ON
    assert watch.take(2, "</think>") is Verdict.GO_ON
    assert not watch.in_thinking
    assert watch.take(3, "\n\n") is Verdict.GO_ON
    assert watch.take(4, "Yes") is Verdict.GO_ON
    assert (watch.thinking_tokens, watch.answer_tokens, watch.closed) == (14, 2, "budget")


def test_thoughts_that_end_by_themselves_in_time_are_not_called_closed() -> None:
    limits = Limits(thinking_tokens=10)
    for count, closed in ((5, ""), (15, "budget")):
        watch = AnswerWatch(limits, Budget(limits, 1000), in_thinking=True)
        for i in range(count):
            watch.take(i, "word ")
        watch.take(99, "</think>")
        assert watch.closed == closed


def test_causes() -> None:
    limits = Limits(loop_tokens=50)

    def loop(before: int) -> AnswerWatch:
        watch = AnswerWatch(limits, Budget(limits, 10_000), in_thinking=False)
        for i in range(before):
            watch.take(1000 + i, "x")
        while watch.take(7, "!") is not Verdict.STOP:
            pass
        return watch

    assert loop(0).cause_of_loop(300, 8192) == "file"
    assert loop(1).cause_of_loop(300, 8192) == "repetition"
    assert loop(400).cause_of_loop(700, 8192) == "repetition"
    assert loop(400).cause_of_loop(9000, 8192) == "long-context"
    assert cause_of_broken_numbers(100, 262_144) == "file"
    assert cause_of_broken_numbers(60_000, 262_144) == "long-context"
    assert cause_of_broken_numbers(3000, 2048) == "long-context"


@pytest.mark.parametrize(
    ("cycle", "cause"),
    [
        (("ha ",), "file"),
        (("?", "!", "/"), "file"),
        (("ab", "cd", "\u00e9"), "file"),
        (("It", " is", " so", ".\n"), "repetition"),
        (tuple(f"word{i} " for i in range(10)), "repetition"),
        (tuple("-*+:;,.!?#"), "repetition"),
    ],
)
def test_only_gibberish_from_the_start_accuses_the_file(cycle: tuple[str, ...], cause: str) -> None:
    limits = Limits(loop_tokens=50)
    watch = AnswerWatch(limits, Budget(limits, 10_000), in_thinking=False)
    for place in itertools.cycle(range(len(cycle))):
        if watch.take(place, cycle[place]) is Verdict.STOP:
            break
    assert watch.cause_of_loop(300, 8192) == cause


@pytest.mark.parametrize(
    ("thoughts", "answer", "cause"),
    [(("!",), "!", "file"), (("!",), "?", "file"), (("It", " is", " so", ".\n"), "!", "repetition")],
)
def test_gibberish_in_thoughts_and_answer_accuses_the_file(
    thoughts: tuple[str, ...], answer: str, cause: str
) -> None:
    limits = Limits(loop_tokens=50)
    watch = AnswerWatch(limits, Budget(limits, 10_000), in_thinking=True)
    for place in itertools.cycle(range(len(thoughts))):
        if watch.take(place, thoughts[place]) is Verdict.CLOSE_THINKING:
            break
    for token, text in enumerate(("</think>", "\n\n")):
        watch.take(1000 + token, text)
    while watch.take(7, answer) is not Verdict.STOP:
        pass
    assert (watch.closed, watch.cause_of_loop(500, 8192)) == ("loop", cause)


def test_gibberish_after_thoughts_does_not_accuse_the_file() -> None:
    limits = Limits(loop_tokens=50)
    watch = AnswerWatch(limits, Budget(limits, 10_000), in_thinking=True)
    for token, text in enumerate(("A", " thought", ".", "</think>")):
        watch.take(1000 + token, text)
    while watch.take(7, "!") is not Verdict.STOP:
        pass
    assert watch.cause_of_loop(300, 8192) == "repetition"
