"""Choices: the order of preference, values set by hand, and laws that hold for every machine."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.hardware.machine import DeviceKind, Gpu, Machine
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.memory import all_gpu_layers
from clover_gui.planning.plan import DoesNotFit, FitPlan, KvType, Placement, Wishes
from clover_gui.planning.planner import make_plan
from tests.planning.shapes import GIB, card, clover, dense_8b, machine, tied_small


def fitted(model: ModelFile, ram_gib: float, gpu: Gpu | None = None, wishes: Wishes | None = None) -> FitPlan:
    plan = make_plan(machine(ram_gib, *([gpu] if gpu else [])), model, wishes, gpu)
    assert isinstance(plan, FitPlan), plan
    check_sums(plan)
    return plan


def check_sums(plan: FitPlan) -> None:
    """The law of every plan: neither side is over its budget."""
    if plan.gpu_layers:
        assert plan.gpu.total + plan.reserve_bytes <= plan.gpu_available_bytes
    else:
        assert plan.gpu.total == 0
    assert plan.ram.total <= plan.ram_available_bytes


def test_24_gb_card_holds_all_of_it() -> None:
    plan = fitted(clover(), 32, card(24))
    assert (plan.placement, plan.gpu_layers, plan.cpu_expert_layers) == (Placement.FULL_GPU, 41, 0)
    assert (plan.context, plan.kv_type, plan.warnings) == (32768, KvType.F16, ())
    assert plan.gpu_name == "A card"


def test_24_gb_card_holds_all_of_it_with_128k() -> None:
    plan = fitted(clover(), 32, card(24), Wishes(context=131072))
    assert (plan.placement, plan.context, plan.kv_type) == (Placement.FULL_GPU, 131072, KvType.F16)


def test_16_gb_card_keeps_the_experts_of_about_ten_layers_in_ram() -> None:
    short = fitted(clover(), 32, card(16), Wishes(context=8192))
    usual = fitted(clover(), 32, card(16))
    assert short.placement is usual.placement is Placement.EXPERTS_ON_CPU
    assert 9 <= short.cpu_expert_layers <= 11
    assert short.cpu_expert_layers <= usual.cpu_expert_layers <= 13
    assert usual.context == 32768
    assert "experts-in-ram" in usual.warnings


def test_8_gb_card_takes_everything_but_most_experts() -> None:
    plan = fitted(clover(), 32, card(8))
    assert plan.placement is Placement.EXPERTS_ON_CPU
    assert 28 <= plan.cpu_expert_layers <= 34


def test_without_a_gpu_it_runs_from_ram() -> None:
    plan = fitted(clover(), 32)
    assert (plan.placement, plan.gpu_layers, plan.context) == (Placement.CPU_ONLY, 0, 8192)
    assert plan.use_mmap
    assert plan.threads == 7


def test_too_little_of_everything_says_what_is_missing() -> None:
    plan = make_plan(machine(8), clover())
    assert isinstance(plan, DoesNotFit)
    assert plan.where == "ram"
    assert plan.needed_bytes > 18 * GIB > plan.available_bytes
    assert "smaller-model" in plan.suggestions


def test_a_card_that_the_engine_cannot_use_does_not_count() -> None:
    plan = make_plan(machine(32, card(24)), clover(), None, None)
    assert isinstance(plan, FitPlan)
    assert plan.placement is Placement.CPU_ONLY
    assert "gpu-unusable" in plan.warnings


def test_a_card_of_unknown_size_does_not_count() -> None:
    unknown = Gpu("Arc", "Intel", DeviceKind.DISCRETE)
    plan = fitted(dense_8b(), 32, unknown)
    assert plan.placement is Placement.CPU_ONLY
    assert "gpu-unusable" in plan.warnings


def test_a_card_that_is_too_small_is_left_alone_and_said_so() -> None:
    plan = fitted(clover(), 32, card(1))
    assert plan.placement is Placement.CPU_ONLY
    assert "not-on-gpu" in plan.warnings


def test_memory_of_other_programs_counts() -> None:
    """9 of 15 GB are taken between the first look and the load: more experts go to RAM."""
    before = fitted(clover(), 32, card(16, used_mib=1024))
    after = fitted(clover(), 32, card(16, used_mib=10 * 1024))
    assert after.cpu_expert_layers > before.cpu_expert_layers + 15


def test_cache_is_quantised_and_then_shortened_before_the_gpu_is_given_up() -> None:
    """From the size at which all experts are in RAM, ever less memory."""
    seen = []
    for mib in range(4200, 2400, -20):
        plan = fitted(clover(), 32, card(mib / 1024))
        state = (plan.placement, plan.context, plan.kv_type)
        if state not in seen:
            seen.append(state)
    placed = Placement.EXPERTS_ON_CPU
    assert seen[:4] == [
        (placed, 32768, KvType.F16),
        (placed, 32768, KvType.Q8_0),
        (placed, 16384, KvType.F16),
        (placed, 16384, KvType.Q8_0),
    ]
    assert (placed, 4096, KvType.Q8_0) in seen


def test_dense_model_keeps_the_gpu_before_context_then_loses_layers() -> None:
    assert fitted(dense_8b(), 16, card(12)).context == 32768
    quantised = fitted(dense_8b(), 16, card(8))
    assert (quantised.placement, quantised.context) == (Placement.FULL_GPU, 32768)
    assert quantised.warnings == ("kv-quantised",)
    smaller = fitted(dense_8b(), 16, card(7))
    assert smaller.placement is Placement.FULL_GPU
    assert 8192 <= smaller.context < 32768
    assert "context-reduced" in smaller.warnings
    part = fitted(dense_8b(), 16, card(5))
    assert part.placement is Placement.PARTIAL_GPU
    assert 2 <= part.gpu_layers <= 32
    assert "partly-on-gpu" in part.warnings


def test_context_is_never_above_the_trained_one() -> None:
    assert fitted(dense_8b(trained=2048), 32, card(24)).context == 2048
    asked = fitted(dense_8b(trained=8192), 32, card(24), Wishes(context=50000))
    assert asked.context == 8192
    assert "context-limited" in asked.warnings


def test_demo_model_gets_all_of_its_context(demo_gguf: Path) -> None:
    model = read_model_file(demo_gguf)
    plan = fitted(model, 8)
    assert (plan.placement, plan.context, plan.kv_type) == (Placement.CPU_ONLY, 8192, KvType.F16)
    assert plan.ram.total < GIB
    assert plan.warnings == ()


def test_small_machine_gets_a_shorter_context_rather_than_nothing() -> None:
    plan = make_plan(machine(8, free_gib=5.5), dense_8b())
    assert isinstance(plan, FitPlan)
    check_sums(plan)
    assert plan.context <= 8192
    assert "ram-tight" in plan.warnings


def test_values_set_by_hand_are_kept() -> None:
    plan = fitted(
        clover(), 64, card(24), Wishes(cpu_expert_layers=12, kv_type=KvType.Q8_0, threads=3, batch=256)
    )
    assert (plan.cpu_expert_layers, plan.kv_type, plan.threads, plan.batch) == (12, KvType.Q8_0, 3, 256)
    assert "kv-quantised" not in plan.warnings
    assert fitted(dense_8b(), 32, card(24), Wishes(gpu_layers=10)).gpu_layers == 10
    none = fitted(dense_8b(), 32, card(24), Wishes(gpu_layers=0))
    assert none.placement is Placement.CPU_ONLY
    assert none.warnings == ()


@pytest.mark.parametrize(
    "wishes",
    [
        Wishes(cpu_expert_layers=0),
        Wishes(cpu_expert_layers=4, context=131072),
        Wishes(gpu_layers=41, cpu_expert_layers=2, kv_type=KvType.F16),
    ],
)
def test_a_plan_set_by_hand_that_does_not_fit_is_never_a_plan(wishes: Wishes) -> None:
    gpu = card(16)
    plan = make_plan(machine(64, gpu), clover(), wishes, gpu)
    assert isinstance(plan, DoesNotFit)
    assert plan.where == "gpu"
    assert plan.needed_bytes > plan.available_bytes
    assert "more-experts-in-ram" in plan.suggestions


def test_a_model_whose_cache_cannot_be_compact_keeps_it_whole() -> None:
    odd = replace(dense_8b(), key_length=80)
    asked = fitted(odd, 32, card(24), Wishes(kv_type=KvType.Q8_0))
    assert asked.kv_type is KvType.F16
    assert asked.warnings == ("kv-full-only",)
    small = fitted(odd, 16, card(8))
    assert small.kv_type is KvType.F16


def test_a_batch_is_what_the_engine_makes_of_it() -> None:
    assert fitted(clover(), 64, card(24), Wishes(batch=9999)).batch == 2048
    assert fitted(clover(), 64, card(24), Wishes(batch=1024, context=500)).batch == 512


def test_a_larger_reserve_moves_more_to_ram() -> None:
    small = fitted(clover(), 32, card(16), Wishes(reserve_bytes=GIB // 2))
    large = fitted(clover(), 32, card(16), Wishes(reserve_bytes=4 * GIB))
    assert large.cpu_expert_layers > small.cpu_expert_layers


def test_experts_need_ram_even_with_a_card() -> None:
    """An 8 GB card in a machine with 8 GB: what is missing is said, and nothing is started."""
    gpu = card(8)
    plan = make_plan(machine(8, gpu), clover(), None, gpu)
    assert isinstance(plan, DoesNotFit)
    assert plan.where == "ram"
    assert plan.needed_bytes < 16 * GIB, "the card's part is not asked of the RAM"


def test_unified_memory_is_counted_once() -> None:
    shared = Gpu("GB10", "NVIDIA", DeviceKind.UNIFIED, 32 * GIB, 28 * GIB)
    plan = fitted(clover(), 32, shared)
    assert plan.placement is Placement.FULL_GPU
    assert plan.gpu.total + plan.ram.total <= plan.ram_available_bytes
    small = replace(shared, vram_total_bytes=16 * GIB, vram_free_bytes=15 * GIB)
    assert isinstance(make_plan(machine(16, small), clover(), None, small), DoesNotFit)


def test_processor_graphics_may_borrow_only_what_is_free() -> None:
    apu = Gpu(
        "Radeon 780M",
        "AMD",
        DeviceKind.INTEGRATED,
        vram_total_bytes=4 * GIB,
        vram_free_bytes=4 * GIB,
        shared_total_bytes=28 * GIB,
        shared_free_bytes=28 * GIB,
    )
    plan = fitted(dense_8b(), 16, apu)
    assert plan.placement is Placement.FULL_GPU
    borrowed = max(0, plan.gpu.total - 4 * GIB)
    assert borrowed + plan.ram.total <= plan.ram_available_bytes
    assert isinstance(make_plan(machine(16, apu), clover(), None, apu), DoesNotFit)


def test_more_video_memory_is_never_worse() -> None:
    for model in (clover(), dense_8b(), tied_small()):
        for ram in (16, 32, 64):
            before: FitPlan | None = None
            for quarter in range(4 * 32):
                gpu = card(quarter / 4)
                plan = make_plan(machine(ram, gpu), model, None, gpu)
                if isinstance(plan, DoesNotFit):
                    assert before is None
                    continue
                check_sums(plan)
                if before is not None:
                    assert plan.gpu_layers >= before.gpu_layers
                    assert plan.gpu.weights >= before.gpu.weights
                    if before.gpu_layers == plan.gpu_layers == all_gpu_layers(model):
                        assert plan.context >= before.context
                        assert plan.cpu_expert_layers <= before.cpu_expert_layers
                before = plan


def test_more_ram_is_never_worse() -> None:
    fits = [isinstance(make_plan(machine(gib), clover()), FitPlan) for gib in range(4, 65)]
    assert fits == sorted(fits)


def random_case(dice: random.Random) -> tuple[Machine, ModelFile, Wishes, Gpu | None]:
    model = dice.choice([clover, dense_8b, tied_small])()
    gpu = card(dice.uniform(0, 48), used_mib=dice.randrange(4000)) if dice.random() < 0.8 else None
    wishes = Wishes(
        context=dice.choice([None, None, 1, 4096, 100_000]),
        kv_type=dice.choice([None, None, KvType.F16, KvType.Q8_0]),
        gpu_layers=dice.choice([None, None, None, 0, 5, 99]),
        cpu_expert_layers=dice.choice([None, None, None, 0, 7, 99]),
        reserve_bytes=dice.randrange(3 * GIB),
        batch=dice.choice([128, 512, 2048]),
    )
    return machine(dice.uniform(2, 64), *([gpu] if gpu else [])), model, wishes, gpu


def test_no_plan_is_ever_over_budget() -> None:
    """2,000 random machines, models and wishes (seeded)."""
    dice = random.Random(4)
    plans = 0
    for _ in range(2000):
        here, model, wishes, gpu = random_case(dice)
        plan = make_plan(here, model, wishes, gpu)
        if isinstance(plan, DoesNotFit):
            assert plan.needed_bytes > plan.available_bytes
            continue
        plans += 1
        check_sums(plan)
        if wishes.context is not None:
            assert plan.context == min(wishes.context, model.trained_context)
        if wishes.kv_type is not None:
            assert plan.kv_type is wishes.kv_type
        assert plan.threads >= 1
    assert plans > 500


def test_one_core_still_gets_a_thread() -> None:
    plan = make_plan(machine(16, cores=1), tied_small())
    assert isinstance(plan, FitPlan)
    assert plan.threads == 1
