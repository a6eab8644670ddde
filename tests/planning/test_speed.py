"""Expected speed: published points, and what must make it higher or lower."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clover_gui.hardware.bandwidth import assumed_ram_bandwidth, gpu_bandwidth, measure_ram_bandwidth
from clover_gui.hardware.machine import DeviceKind, Gpu, Processor
from clover_gui.planning.memory import Layout, split_layers
from clover_gui.planning.plan import FitPlan, KvType, Speed, Wishes
from clover_gui.planning.planner import make_plan
from clover_gui.planning.speed import Bandwidths, expected_speed, measured_speed
from tests.planning.shapes import GIB, clover, dense_8b, machine

GB = 10**9
DESKTOP = Processor("p", "x86_64", 8, 16, frozenset({"avx2"}))


def card(name: str, vram_gib: int) -> Gpu:
    return Gpu(name, "NVIDIA", DeviceKind.DISCRETE, vram_gib * GIB, vram_gib * GIB)


def speed(name: str, vram_gib: int, experts: int | None, ram_gib: int = 32) -> Speed:
    gpu = card(name, vram_gib)
    here = replace(machine(ram_gib, gpu), processor=DESKTOP)
    plan = make_plan(here, clover(), Wishes(cpu_expert_layers=experts), gpu)
    assert isinstance(plan, FitPlan)
    assert plan.speed is not None
    return plan.speed


@pytest.mark.parametrize(
    ("name", "vram_gib", "experts", "published"),
    [
        ("NVIDIA GeForce RTX 4090", 24, 0, 206),  # published as 202 to 211
        ("NVIDIA GeForce RTX 4090", 24, 10, 102),
        ("NVIDIA GeForce RTX 4060 Ti", 8, 30, 41.6),  # another file of this size, 16K of context
    ],
)
def test_published_points(name: str, vram_gib: int, experts: int, published: float) -> None:
    found = speed(name, vram_gib, experts)
    assert found.tokens_per_second == pytest.approx(published, rel=0.1)
    assert found.low < published < found.high


def test_the_processor_or_the_memory_is_the_limit() -> None:
    layout = Layout(0, 0, 4096, KvType.F16)

    def rate(ram: int, threads: int, processor: Processor = DESKTOP) -> float:
        found = expected_speed(dense_8b(), layout, [], Bandwidths((), ram), processor, threads)
        return found.tokens_per_second

    assert rate(20 * GB, 8) == pytest.approx(rate(20 * GB, 4)), (
        "four cores can read all that the memory gives"
    )
    assert rate(200 * GB, 8) == pytest.approx(2 * rate(200 * GB, 4))
    old = Processor("old", "x86_64", 8, 16, frozenset({"sse4_2"}))
    assert rate(200 * GB, 8, old) < rate(200 * GB, 8) / 2


def test_all_layers_are_read_once_wherever_they_lie() -> None:
    model = clover()
    same = Bandwidths((50 * GB, 50 * GB), 50 * GB)
    layout = Layout(41, 0, 4096, KvType.F16)
    one = expected_speed(
        model, layout, split_layers(model, layout, [1]), Bandwidths((50 * GB,), 50 * GB), DESKTOP, 8
    )
    two = expected_speed(model, layout, split_layers(model, layout, [1, 1]), same, DESKTOP, 8)
    assert one.tokens_per_second == pytest.approx(two.tokens_per_second)


def test_a_measurement_is_believed() -> None:
    found = measured_speed(40)
    assert found.measured
    assert found.low < 40 < found.high


@pytest.mark.parametrize(
    ("name", "gb"),
    [
        ("NVIDIA GeForce RTX 4090", 1008),
        ("RTX4090", 1008),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 576),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 672),
        ("rtx 4070ti", 504),
        ("AMD Radeon RX 7900 XTX", 960),
        ("RX7900XTX", 960),
        ("Intel(R) Arc(tm) A770 Graphics (DG2)", 512),
        ("NVIDIA A100-SXM4-80GB", 1555),
        ("Some card", 250),
    ],
)
def test_cards_by_name(name: str, gb: int) -> None:
    assert gpu_bandwidth(card(name, 16), 40 * GB) == gb * GB


def test_what_shares_the_ram_is_as_fast_as_the_ram() -> None:
    inside = Gpu("Intel UHD Graphics 770", "Intel", DeviceKind.INTEGRATED)
    assert gpu_bandwidth(inside, 40 * GB) == 40 * GB
    assert gpu_bandwidth(Gpu("Apple M3 Max GPU", "Apple", DeviceKind.UNIFIED), 40 * GB) == 300 * GB


def test_the_ram_can_be_measured() -> None:
    assert 1 * GB < measure_ram_bandwidth(1) < 10_000 * GB
    assert assumed_ram_bandwidth(DESKTOP) > assumed_ram_bandwidth(replace(DESKTOP, physical_cores=2))
