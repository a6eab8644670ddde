"""Laws that hold for every machine, model and wish, tried on machines that nobody thought of."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clover_gui.hardware.machine import DeviceKind, Gpu, Memory
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.budget import RAM_RESERVE_BYTES, RAM_TIGHT_BYTES, Known
from clover_gui.planning.memory import all_gpu_layers
from clover_gui.planning.plan import DoesNotFit, FitPlan, KvType, Placement, Wishes
from clover_gui.planning.planner import make_plan
from tests.benchmarks.plan_table import broken_laws, table
from tests.planning.shapes import GIB, MIB, card, clover, dense_8b, machine, tied_small

CLOVER = clover()
MODELS = (CLOVER, dense_8b(), tied_small())
CONTEXTS = (4096, 8192, 32768, 131072)
law = settings(max_examples=150, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def gpus(draw: st.DrawFn) -> tuple[Gpu, ...]:
    kind = draw(st.sampled_from([DeviceKind.DISCRETE] * 4 + [DeviceKind.INTEGRATED, DeviceKind.UNIFIED]))
    count = draw(st.integers(0, 3)) if kind is DeviceKind.DISCRETE else 1
    found = []
    for index in range(count):
        total = draw(st.integers(0, 96 * GIB))
        free = draw(st.integers(0, total))
        shared = draw(st.integers(0, 32 * GIB)) if kind is DeviceKind.INTEGRATED else None
        found.append(
            Gpu(
                f"card {index}",
                "NVIDIA",
                kind,
                total,
                free,
                bus_id=str(index),
                shared_total_bytes=shared,
                shared_free_bytes=shared,
                drives_display=draw(st.sampled_from([None, True, False])),
            )
        )
    return tuple(found)


@st.composite
def wishes(draw: st.DrawFn) -> Wishes:
    return Wishes(
        context=draw(st.sampled_from([None, None, 1, 500, *CONTEXTS, 1_000_000])),
        kv_type=draw(st.sampled_from([None, None, *KvType])),
        gpu_layers=draw(st.sampled_from([None, None, None, 0, 1, 7, 41, 99])),
        cpu_expert_layers=draw(st.sampled_from([None, None, None, 0, 10, 40, 99])),
        threads=draw(st.sampled_from([None, 1, 5])),
        reserve_bytes=draw(st.one_of(st.none(), st.integers(0, 8 * GIB))),
        batch=draw(st.sampled_from([32, 128, 512, 2048])),
    )


@st.composite
def known(draw: st.DrawFn, count: int) -> Known:
    overhead = st.one_of(st.none(), st.integers(0, 2 * GIB))
    return Known(
        tuple(draw(overhead) for _ in range(count)),
        draw(st.integers(0, GIB)),
        draw(st.integers(0, GIB)),
    )


def check(plan: FitPlan, model: ModelFile, asked: Wishes) -> None:
    """Never over budget, sums right, values set by hand kept."""
    for share in plan.devices:
        assert share.need.total + share.reserve_bytes <= share.available_bytes
    assert plan.ram.total + RAM_RESERVE_BYTES <= plan.ram_available_bytes
    assert sum(share.need.total for share in plan.devices) == plan.gpu.total
    assert sum(share.layers for share in plan.devices) == plan.gpu_layers
    copied = model.token_embedding_bytes if model.tied_output and plan.gpu_layers else 0
    assert plan.gpu.weights + plan.ram.weights == model.weight_bytes + copied
    if asked.context is not None:
        assert plan.context == min(asked.context, model.trained_context)
    assert asked.kv_type in (None, plan.kv_type)
    assert (
        asked.gpu_layers is None
        or plan.gpu_layers == min(asked.gpu_layers, all_gpu_layers(model))
        or (not plan.devices)
    )
    if asked.cpu_expert_layers is not None and plan.placement is Placement.EXPERTS_ON_CPU:
        assert plan.cpu_expert_layers == min(asked.cpu_expert_layers, model.layer_count)
    assert plan.threads >= 1
    assert plan.speed is not None
    assert 0 < plan.speed.low <= plan.speed.tokens_per_second <= plan.speed.high


@law
@given(st.data())
def test_no_plan_is_over_budget_and_every_refusal_names_the_gap(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from(MODELS))
    cards, asked = data.draw(gpus()), data.draw(wishes())
    here = machine(data.draw(st.floats(1, 128)), *cards)
    plan = make_plan(here, model, asked, cards, data.draw(known(len(cards))))
    if isinstance(plan, DoesNotFit):
        assert plan.missing_bytes > 0
        assert plan.suggestions
        if plan.fitting_context:
            assert plan.fitting_context < (asked.context or 0)
    else:
        check(plan, model, asked)


@law
@given(
    vram=st.tuples(st.integers(2 * GIB, 80 * GIB), st.integers(0, 8 * GIB)),
    context=st.sampled_from(CONTEXTS),
    kv_type=st.sampled_from(list(KvType)),
    reserve=st.integers(0, 2 * GIB),
)
def test_more_video_memory_means_more_experts_there_and_more_speed(
    vram: tuple[int, int], context: int, kv_type: KvType, reserve: int
) -> None:
    asked = Wishes(context=context, kv_type=kv_type, reserve_bytes=reserve)
    plans = []
    for total in (vram[0], vram[0] + vram[1]):
        gpu = Gpu("card", "NVIDIA", DeviceKind.DISCRETE, total, total)
        plans.append(make_plan(machine(64, gpu), CLOVER, asked, gpu))
    less, more = plans
    assert isinstance(less, FitPlan)
    assert isinstance(more, FitPlan)
    assert more.gpu_layers >= less.gpu_layers
    assert more.gpu.weights >= less.gpu.weights
    if less.gpu_layers == 41:
        assert more.cpu_expert_layers <= less.cpu_expert_layers
    assert less.speed is not None
    assert more.speed is not None
    assert more.speed.tokens_per_second >= less.speed.tokens_per_second


@law
@given(ram=st.integers(2 * GIB, 64 * GIB), extra=st.integers(0, 32 * GIB), vram=st.integers(0, 24 * GIB))
def test_more_ram_is_never_worse(ram: int, extra: int, vram: int) -> None:
    gpu = Gpu("card", "NVIDIA", DeviceKind.DISCRETE, vram, vram)
    found = []
    for free in (ram, ram + extra):
        here = machine(1, gpu)
        memory = Memory(free, free)
        found.append(
            make_plan(here.__class__(here.system, here.processor, memory, None, (gpu,)), CLOVER, None, gpu)
        )
    less, more = found
    if isinstance(less, FitPlan):
        assert isinstance(more, FitPlan)
        assert more.gpu_layers >= less.gpu_layers or less.gpu_layers == 0


@law
@given(vram=st.integers(4 * GIB, 32 * GIB), reserve=st.integers(0, 3 * GIB), more=st.integers(0, 2 * GIB))
def test_a_larger_reserve_never_puts_more_on_the_card(vram: int, reserve: int, more: int) -> None:
    gpu = Gpu("card", "NVIDIA", DeviceKind.DISCRETE, vram, vram)
    plans = [
        make_plan(machine(64, gpu), CLOVER, Wishes(reserve_bytes=kept), gpu)
        for kept in (reserve, reserve + more)
    ]
    assert all(isinstance(plan, FitPlan) for plan in plans)
    assert plans[1].gpu.weights <= plans[0].gpu.weights  # type: ignore[union-attr]


def test_a_card_without_a_screen_keeps_less_free() -> None:
    for shows, reserve in ((True, GIB), (None, GIB), (False, 512 * MIB)):
        gpu = Gpu("card", "NVIDIA", DeviceKind.DISCRETE, 16 * GIB, 16 * GIB, drives_display=shows)
        plan = make_plan(machine(32, gpu), CLOVER, None, gpu)
        assert isinstance(plan, FitPlan)
        assert plan.reserve_bytes == reserve


def test_two_cards_share_the_layers() -> None:
    cards = (card(12), card(12))
    plan = make_plan(machine(32, *cards), CLOVER, None, cards)
    assert isinstance(plan, FitPlan)
    assert plan.placement in (Placement.FULL_GPU, Placement.EXPERTS_ON_CPU)
    assert [share.layers for share in plan.devices] == [20, 21]
    one = make_plan(machine(32, cards[0]), CLOVER, None, cards[0])
    assert isinstance(one, FitPlan)
    assert plan.cpu_expert_layers < one.cpu_expert_layers


def named(gpu: Gpu, name: str) -> Gpu:
    return replace(gpu, name=name, engine_name=name)


def test_a_weak_second_card_is_left_out() -> None:
    """Two gigabytes beside 24: nothing useful would fit there, and the large card does without."""
    cards = (named(card(2), "GT 1030"), named(card(24), "RTX 4090"))
    plan = make_plan(machine(32, *cards), CLOVER, None, cards)
    assert isinstance(plan, FitPlan)
    assert plan.placement is Placement.FULL_GPU
    assert [share.name for share in plan.devices] == ["RTX 4090"]
    assert plan.left_out == ("GT 1030",)


def test_a_slow_card_is_left_out_where_the_fast_one_holds_everything() -> None:
    cards = (named(card(24), "RTX 4090"), named(card(12), "RTX 3060"))
    plan = make_plan(machine(32, *cards), CLOVER, None, cards)
    assert isinstance(plan, FitPlan)
    assert [share.name for share in plan.devices] == ["RTX 4090"]
    # Where it does not, even the slow card is far quicker than the RAM.
    cards = (named(card(16), "RTX 4080"), named(card(12), "RTX 3060"))
    plan = make_plan(machine(32, *cards), CLOVER, None, cards)
    assert isinstance(plan, FitPlan)
    assert plan.placement is Placement.FULL_GPU
    assert len(plan.devices) == 2
    assert plan.left_out == ()


def test_two_small_cards_are_both_filled_although_some_experts_are_in_ram() -> None:
    cards = (named(card(8), "one"), named(card(8), "other"))
    plan = make_plan(machine(32, *cards), CLOVER, None, cards)
    assert isinstance(plan, FitPlan)
    assert plan.placement is Placement.EXPERTS_ON_CPU
    free = [share.available_bytes - share.reserve_bytes - share.need.total for share in plan.devices]
    assert max(free) < GIB, "each has less left than two layers' experts"


@law
@given(
    sizes=st.lists(st.integers(0, 48), min_size=1, max_size=3),
    more=st.integers(0, 24),
    context=st.sampled_from([None, 8192, 131072]),
)
def test_another_card_is_never_worse(sizes: list[int], more: int, context: int | None) -> None:
    cards = tuple(named(card(gib), str(index)) for index, gib in enumerate(sizes))
    extra = (*cards, named(card(more), "more"))
    less, better = (
        make_plan(machine(64, *all_of_them), CLOVER, Wishes(context=context), all_of_them)
        for all_of_them in (cards, extra)
    )
    assert isinstance(less, FitPlan)
    assert isinstance(better, FitPlan)
    rank = [Placement.CPU_ONLY, Placement.PARTIAL_GPU, Placement.EXPERTS_ON_CPU, Placement.FULL_GPU]
    assert rank.index(better.placement) >= rank.index(less.placement)
    assert better.context >= less.context or less.placement is Placement.CPU_ONLY


@law
@given(ram=st.floats(4, 128), vram=st.integers(0, 24), context=st.sampled_from([None, *CONTEXTS]))
def test_copies_of_states_never_take_what_others_need(ram: float, vram: int, context: int | None) -> None:
    gpu = card(vram)
    plan = make_plan(machine(ram, gpu), CLOVER, Wishes(context=context), gpu)
    if isinstance(plan, DoesNotFit):
        return
    least = 2 * CLOVER.attention.recurrent_bytes
    assert plan.ram.copies >= least
    left = plan.ram_available_bytes - plan.ram.total
    assert plan.ram.copies == least or left >= RAM_TIGHT_BYTES
    if left > 16 * GIB:
        assert plan.ram.copies > 20_000 * 20_480 + least, "a chat of 20,000 tokens can be put aside"


@pytest.mark.parametrize("context", [None, 8192, 131072])
def test_the_table_of_cards_makes_sense_line_by_line(context: int | None) -> None:
    lines = list(table(CLOVER, Wishes(context=context)))
    assert len(lines) == 30
    assert broken_laws(lines) == []
    assert all(line.seconds < 1 for line in lines)
