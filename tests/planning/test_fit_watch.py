"""One calm offer when the memory is taken or the speed is gone, and never a loop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clover_gui.explain import refit_text
from clover_gui.planning.fit_watch import FitWatch, RefitOffer
from clover_gui.planning.plan import FitPlan, Speed, Wishes
from clover_gui.planning.planner import make_plan
from tests.planning.shapes import GIB, MIB, card, clover, machine


def watch(speed: Speed | None = None, vram_gib: float = 16) -> FitWatch:
    gpu = card(vram_gib) if vram_gib else None
    plan = make_plan(machine(32, *([gpu] if gpu else [])), clover(), Wishes(), gpu)
    assert isinstance(plan, FitPlan)
    return FitWatch(replace(plan, speed=speed) if speed else plan)


def test_a_margin_that_is_gone_is_offered_once() -> None:
    watching = watch()
    offers = [watching.memory(free) for free in [900 * MIB] * 5 + [100 * MIB] * 60]
    made = [offer for offer in offers if offer is not None]
    assert made == [RefitOffer("memory-taken", 100 * MIB, GIB)]
    assert offers.index(made[0]) == 7, "a moment's dip is no reason"
    assert watching.offered


def test_a_dip_is_no_reason() -> None:
    watching = watch()
    assert [watching.memory(free) for free in [100 * MIB, 100 * MIB, GIB, None] * 20] == [None] * 80


def test_a_model_that_spilled_into_main_memory() -> None:
    watching = watch()
    assert watching.memory(2 * GIB, 200 * MIB) is None
    offer = watching.memory(2 * GIB, 200 * MIB + 3 * GIB)
    assert offer is not None
    assert offer.reason == "spilled"


def test_a_tenth_of_the_speed() -> None:
    watching = watch(Speed(50, 30, 60))
    assert watching.answer(200, 4.0) is None
    assert watching.answer(200, 40.0) is None, "one slow answer may have a reason"
    offer = watching.answer(200, 40.0)
    assert offer == RefitOffer("slow", tokens_per_second=5.0, usual_tokens_per_second=50.0)
    assert [watching.answer(200, 40.0) for _ in range(20)] == [None] * 20


def test_short_answers_tell_nothing() -> None:
    watching = watch(Speed(50, 30, 60))
    assert [watching.answer(5, 10.0) for _ in range(9)] == [None] * 9


def test_an_estimate_promises_its_lower_end_only() -> None:
    watching = watch(Speed(100, 60, 120))
    assert [watching.answer(100, 100 / 25) for _ in range(9)] == [None] * 9
    measured = watch(Speed(100, 80, 115, measured=True))
    assert [measured.answer(100, 100 / 25) for _ in range(2)][-1] is not None


def test_without_a_gpu_only_the_speed_counts() -> None:
    watching = watch(vram_gib=0)
    assert [watching.memory(0) for _ in range(9)] == [None] * 9


@pytest.mark.parametrize("reason", ["memory-taken", "spilled", "slow"])
def test_every_offer_has_a_sentence(reason: str) -> None:
    text = refit_text(RefitOffer(reason, GIB, GIB, 5.0, 50.0))
    assert text.endswith("?")
    assert "{" not in text
