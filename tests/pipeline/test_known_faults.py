"""Faults that people met in programs like this one, by kind: how memory is found, counted and used.

Each test sets up what went wrong there and asserts what must happen here.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.engine.protocol import BufferBytes, EngineDevice, EngineInfo
from clover_gui.errors import DoesNotFitError, EngineDied
from clover_gui.explain import describe_gpu, note_text, refit_text, replan_text, warning_text
from clover_gui.hardware.amd import AMD
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine
from clover_gui.hardware.nvidia import driver_may_be_present, probe_nvidia
from clover_gui.hardware.probe import probe_gpus
from clover_gui.hardware.system import is_wsl
from clover_gui.hardware.watch import VramWatcher
from clover_gui.hardware.windows import AdapterRecord, gpus_from_adapters
from clover_gui.pipeline.gpu_choice import (
    GPU_DISAGREES,
    GPU_LOST,
    DeviceUse,
    choose_gpu,
    judge_devices,
)
from clover_gui.pipeline.measured import GPU_NOT_USED
from clover_gui.pipeline.placing import load_settings
from clover_gui.pipeline.placing_events import OUT_OF_MEMORY, Placed, Replanned
from clover_gui.planning.budget import usable_bytes
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.fit_watch import FitWatch
from clover_gui.planning.memory import Layout, kv_bytes
from clover_gui.planning.plan import DoesNotFit, FitPlan, KvType, Wishes
from clover_gui.planning.planner import make_plan
from tests.hardware.fake_nvml import FakeDevice, FakeNvml
from tests.hardware.sysfs import add_card, add_driver_library, amd_files
from tests.pipeline.scripted import (
    CARD,
    GIB,
    MIB,
    ScriptedEngine,
    ScriptedMemory,
    killed_by_the_driver,
    machine,
    placed,
    services,
)

CLOVER = clover_shape()


def engine(*devices: tuple[str, str, int], offload: bool = True) -> EngineInfo:
    """(description, type, GiB) of each device."""
    listed = [
        EngineDevice(f"Vulkan{n}", name, "Vulkan", kind, gib * GIB, gib * GIB)
        for n, (name, kind, gib) in enumerate(devices)
    ]
    return EngineInfo(1, "fake", offload, tuple(listed), {})


def fitted(here: Machine, info: EngineInfo, wishes: Wishes | None = None) -> FitPlan:
    plan = make_plan(here, CLOVER, wishes, choose_gpu(here, info).gpus)
    assert isinstance(plan, FitPlan)
    return plan


# ------------------------------------------------------------------ what there is


def test_a_32_bit_size_field_is_not_the_size() -> None:
    """An 8 GB card was taken for 4 GB."""
    both = AdapterRecord("RTX 3070", "PCI\\VEN_10DE", memory_64_bytes=8 * GIB, memory_32_bytes=4293918720)
    (gpu,) = gpus_from_adapters([both])
    assert gpu.vram_total_bytes == 8 * GIB
    (short,) = gpus_from_adapters([replace(both, memory_64_bytes=0)])
    assert "at least 4.0 GB" in describe_gpu(short)
    here = machine(short)
    (used,) = choose_gpu(here, engine(("RTX 3070", "gpu", 8))).gpus
    assert used.vram_total_bytes == 8 * GIB, "the engine counts further"


def test_unified_memory_without_figures_is_kept_with_the_ram_as_its_pool(tmp_path: Path) -> None:
    """Memory reported as "[N/A]" made the device disappear."""
    add_driver_library(tmp_path)
    here = machine()
    unified = FakeNvml(FakeDevice("NVIDIA GB10", memory_error=3))
    (gpu,), notes = probe_nvidia(here.memory, tmp_path, "linux", lambda _root: unified)
    assert (gpu.kind, notes) == (DeviceKind.UNIFIED, ())
    assert usable_bytes(gpu, here.memory.available_bytes) == here.memory.available_bytes
    assert "shares the RAM" in describe_gpu(gpu)
    garbage = FakeNvml(FakeDevice("NVIDIA ?", memory_error=999))
    gpus, notes = probe_nvidia(here.memory, tmp_path, "linux", lambda _root: garbage)
    assert gpus == ()
    assert [note.kind for note in notes] == ["driver-error"]


def test_a_card_wins_over_graphics_with_more_shared_memory() -> None:
    """The processor's graphics were chosen, nine times slower."""
    inside = Gpu(
        "Intel Iris Xe Graphics",
        "Intel",
        DeviceKind.INTEGRATED,
        shared_total_bytes=16 * GIB,
        shared_free_bytes=16 * GIB,
    )
    card = Gpu("NVIDIA GeForce RTX 4060 Laptop GPU", "NVIDIA", DeviceKind.DISCRETE, 8 * GIB, 8 * GIB)
    here = machine(inside, card)
    info = engine(("Intel(R) Iris(R) Xe Graphics", "igpu", 16), (card.name, "gpu", 8))
    plan = fitted(here, info)
    assert plan.gpu_name == card.name
    assert plan.gpu_available_bytes == 8 * GIB
    verdicts = {verdict.gpu.name: verdict.use for verdict in judge_devices(here, info)}
    assert verdicts == {card.name: DeviceUse.USED, inside.name: DeviceUse.SLOWER}


def test_a_card_that_was_lost_in_sleep_is_said(tmp_path: Path) -> None:
    """After resume answers went on at processor speed without a word."""
    here, tools = machine(CARD), services(machine(CARD), ScriptedMemory(15 * GIB))
    on_gpu = (BufferBytes("CUDA0", "CUDA0", False, 12 * GIB, GIB, MIB),)
    _, before = asyncio.run(placed(ScriptedEngine(buffers=on_gpu), here, CLOVER, tools))
    assert isinstance(before[-1], Placed)
    assert before[-1].measured.warnings == ()
    # The same settings again after the device went away: the engine holds everything in RAM.
    in_ram = (BufferBytes("CPU", "CPU", True, 20 * GIB, GIB, MIB),)
    _, after = asyncio.run(placed(ScriptedEngine(buffers=in_ram), here, CLOVER, tools))
    assert isinstance(after[-1], Placed)
    assert after[-1].measured.warnings == (GPU_NOT_USED,)
    assert "graphics card" in warning_text(GPU_NOT_USED)
    # A new look finds the driver without its device.
    add_driver_library(tmp_path)
    lost = FakeNvml(FakeDevice(error=15))
    gpus, notes = probe_nvidia(here.memory, tmp_path, "linux", lambda _root: lost)
    assert gpus == ()
    without = replace(here, gpus=(), notes=notes)
    choice = choose_gpu(without, engine())
    assert choice.warnings == (GPU_LOST,)
    assert "lost" in warning_text(GPU_LOST)
    assert "lost" in note_text(notes[0])


def test_shared_memory_is_not_added_to_the_cards_own() -> None:
    """A 12 GB card was shown as 19.8 GB."""
    card = Gpu(
        "NVIDIA RTX A2000 12GB",
        "NVIDIA",
        DeviceKind.DISCRETE,
        12 * GIB,
        12 * GIB,
        shared_total_bytes=int(7.8 * GIB),
        shared_free_bytes=int(7.8 * GIB),
    )
    assert usable_bytes(card, 32 * GIB) == 12 * GIB
    assert fitted(machine(card), engine((card.name, "gpu", 12))).gpu_available_bytes == 12 * GIB


@pytest.mark.parametrize(
    ("carve_out", "gtt", "ram_gib", "usable_gib"),
    [
        (GIB // 2, 15 * GIB, 32, 15.48),  # a small carve-out, and what it may borrow
        (96 * GIB, 16 * GIB, 32, 111.98),  # a large one
        (GIB // 2, 62 * GIB, 16, 14.9),  # no more than the RAM really has free
    ],
)
def test_graphics_of_the_processor_are_one_pool(
    tmp_path: Path, carve_out: int, gtt: int, ram_gib: int, usable_gib: float
) -> None:
    """Carve-out and borrowed memory were mixed up."""
    here = machine(ram_gib=ram_gib)
    files = amd_files(carve_out, 0, gtt, metrics_format=3)
    add_card(tmp_path, "0000:c5:00.0", AMD, 0x1586, driver="amdgpu", files=files)
    (gpu,), _ = probe_gpus(here.memory, tmp_path, "linux")
    assert gpu.kind is DeviceKind.INTEGRATED
    usable = usable_bytes(gpu, here.memory.available_bytes)
    assert usable is not None
    assert usable / GIB == pytest.approx(usable_gib, abs=0.02)


def test_the_driver_of_wsl_is_found(tmp_path: Path) -> None:
    """Under WSL no GPU was reported: its library lies in a folder of its own."""
    assert not driver_may_be_present(tmp_path, "linux")
    add_driver_library(tmp_path, "usr/lib/wsl/lib")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/version").write_text("Linux version 5.15.167.4-microsoft-standard-WSL2\n")
    (gpu,), _ = probe_nvidia(machine().memory, tmp_path, "linux", lambda _root: FakeNvml(FakeDevice()))
    assert gpu.vram_total_bytes == 24 * GIB
    assert is_wsl(tmp_path)


def test_a_gauge_does_not_wake_a_sleeping_card(tmp_path: Path) -> None:
    """A gauge kept a laptop's card awake at 20 W."""
    bus = "0000:01:00.0"
    add_card(tmp_path, bus, 0x10DE, 1, files={"power/runtime_status": "suspended\n"})
    nvml = FakeNvml(FakeDevice())
    watcher = VramWatcher(replace(CARD, bus_id=bus), tmp_path, lambda _root: nvml)
    assert [watcher.read([1]) for _second in range(60)] == [None] * 60
    assert nvml.calls == []


def test_two_witnesses_that_disagree_give_the_lower_number() -> None:
    gpu = replace(CARD, vram_total_bytes=16 * GIB, vram_free_bytes=15 * GIB)
    choice = choose_gpu(machine(gpu), engine((gpu.name, "gpu", 8)))
    assert choice.warnings == (GPU_DISAGREES,)
    assert choice.gpu is not None
    assert choice.gpu.vram_free_bytes == 8 * GIB
    agreeing = choose_gpu(machine(gpu), engine((gpu.name, "gpu", 15)))
    assert agreeing.warnings == ()
    assert agreeing.gpu == replace(gpu, engine_name="Vulkan0")


# ------------------------------------------------------------------ what fits


def test_a_value_set_by_hand_does_not_switch_the_check_off() -> None:
    """Automatic fit gave up silently as soon as something was set, and the load died."""
    here, memory, stub = machine(CARD), ScriptedMemory(15 * GIB), ScriptedEngine()
    for wishes in (Wishes(cpu_expert_layers=0), Wishes(gpu_layers=41, cpu_expert_layers=3, context=131072)):
        with pytest.raises(DoesNotFitError) as refused:
            asyncio.run(placed(stub, here, CLOVER, services(here, memory), wishes))
        assert refused.value.where == "gpu"
        assert refused.value.needed_bytes > refused.value.available_bytes
    assert stub.asked_for == []


def test_memory_of_other_programs_counts_before_and_during_a_chat() -> None:
    """9 of 15 GiB were taken between plan and load; later the margin goes."""
    here, memory = machine(CARD), ScriptedMemory(15 * GIB, 6 * GIB)
    planned, events = asyncio.run(placed(ScriptedEngine(), here, CLOVER, services(here, memory)))
    again = events[0]
    assert isinstance(again, Replanned)
    assert again.plan.cpu_expert_layers > planned.plan.cpu_expert_layers
    assert "Other programs" in replan_text(again.reason)
    watching = FitWatch(again.plan)
    offers = [watching.memory(free) for free in [GIB, GIB, *[50 * MIB] * 58]]
    assert sum(offer is not None for offer in offers) == 1


def test_running_out_of_memory_ends_in_a_smaller_plan_and_not_in_a_crash() -> None:
    here, memory = machine(CARD), ScriptedMemory(15 * GIB)
    stub = ScriptedEngine(results=[killed_by_the_driver()])
    planned, events = asyncio.run(placed(stub, here, CLOVER, services(here, memory)))
    smaller = events[0]
    assert isinstance(smaller, Replanned)
    assert (smaller.reason, smaller.attempt) == (OUT_OF_MEMORY, 1)
    assert smaller.plan.gpu.total < planned.plan.gpu.total + smaller.plan.gpu.overhead
    assert smaller.plan.cpu_expert_layers > planned.plan.cpu_expert_layers
    assert isinstance(events[-1], Placed)
    stub = ScriptedEngine(results=[killed_by_the_driver() for _ in range(9)])
    with pytest.raises(EngineDied) as ended:
        asyncio.run(placed(stub, here, CLOVER, services(here, memory)))
    assert "out of memory" in " ".join(ended.value.log_lines), "its own last words are kept"
    assert len(stub.asked_for) == 3


def test_memory_that_spilled_is_noticed_by_size_and_by_speed() -> None:
    """Graphics memory was moved to main memory without an error, ten times slower."""
    plan = fitted(machine(CARD), engine((CARD.name, "gpu", 16)))
    by_size = FitWatch(plan)
    assert by_size.memory(0, 100 * MIB) is None
    offer = by_size.memory(0, 100 * MIB + 3 * GIB)
    assert offer is not None
    assert "moved from the graphics memory to RAM" in refit_text(offer)
    assert plan.speed is not None
    by_speed = FitWatch(plan)
    rate = plan.speed.tokens_per_second
    offers = [by_speed.answer(200, 200 / (rate / 10)) for _ in range(5)]
    assert [offer.reason for offer in offers if offer] == ["slow"]


def test_all_experts_count_wherever_they_lie() -> None:
    """Only the active parameters were counted: 33 GB promised, 70 needed."""
    for experts in (0, 13, 40):
        gpu = replace(CARD, vram_total_bytes=48 * GIB, vram_free_bytes=48 * GIB)
        plan = fitted(machine(gpu), engine((gpu.name, "gpu", 48)), Wishes(cpu_expert_layers=experts))
        assert plan.gpu.weights + plan.ram.weights == CLOVER.weight_bytes
        assert plan.cpu_expert_layers == experts


def test_moving_experts_changes_the_load_and_the_numbers_together() -> None:
    """A slider for the experts had no effect."""
    gpu = replace(CARD, vram_total_bytes=48 * GIB, vram_free_bytes=48 * GIB)
    here, info = machine(gpu), engine((gpu.name, "gpu", 48))
    plans = [fitted(here, info, Wishes(cpu_expert_layers=count)) for count in range(0, 41, 5)]
    asked = [load_settings(plan, Path("m.gguf")).cpu_expert_layers for plan in plans]
    assert asked == list(range(0, 41, 5))
    on_gpu, in_ram = [plan.gpu.weights for plan in plans], [plan.ram.weights for plan in plans]
    speeds = [plan.speed.tokens_per_second for plan in plans if plan.speed]
    assert on_gpu == sorted(set(on_gpu), reverse=True)
    assert in_ram == sorted(set(in_ram))
    assert speeds == sorted(set(speeds), reverse=True)


@pytest.mark.parametrize(
    ("kv_type", "share"), [(KvType.F16, 1), (KvType.Q8_0, 17 / 32), (KvType.Q4_0, 9 / 32)]
)
def test_the_prediction_uses_the_type_of_the_load(kv_type: KvType, share: float) -> None:
    """The estimate ignored the cache's type: 52 GB for about 10."""
    gpu = replace(CARD, vram_total_bytes=48 * GIB, vram_free_bytes=48 * GIB)
    plan = fitted(machine(gpu), engine((gpu.name, "gpu", 48)), Wishes(context=131072, kv_type=kv_type))
    assert plan.gpu.kv == share * kv_bytes(CLOVER, 131072, KvType.F16)
    settings = load_settings(plan, Path("m.gguf"))
    assert (settings.kv_type, settings.context, settings.batch) == (kv_type.value, 131072, plan.batch)


def test_little_free_ram_means_mapping_and_a_warning() -> None:
    """Experts in RAM were swapped out."""
    plan = make_plan(machine(ram_gib=22), CLOVER)
    assert isinstance(plan, FitPlan)
    assert plan.use_mmap
    assert "ram-tight" in plan.warnings
    assert load_settings(plan, Path("m.gguf")).use_mmap
    assert isinstance(make_plan(machine(ram_gib=16), CLOVER), DoesNotFit)


def test_a_layout_is_what_the_engine_is_asked_for() -> None:
    """Nothing between plan and load may change a figure."""
    plan = fitted(machine(CARD), engine((CARD.name, "gpu", 16)))
    settings = load_settings(plan, Path("m.gguf"))
    layout = Layout(plan.gpu_layers, plan.cpu_expert_layers, plan.context, plan.kv_type, plan.batch)
    assert (
        Layout(
            settings.gpu_layers,
            settings.cpu_expert_layers,
            settings.context,
            KvType(settings.kv_type),
            settings.batch,
        )
        == layout
    )
    assert os.fspath(settings.path) == "m.gguf"
