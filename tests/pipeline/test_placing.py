"""From a plan to a loaded model while the world changes: memory taken, dry runs, loads that fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.engine.protocol import BufferBytes, LoadSettings
from clover_gui.errors import DoesNotFitError, EngineDied, ModelLoadFailed
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.dry_run import DryRunEnd, DryRunner
from clover_gui.pipeline.measured import GPU_NOT_USED, MORE_THAN_PLANNED
from clover_gui.pipeline.measurements import Measurements
from clover_gui.pipeline.placing import load_settings, ran_out_of_memory
from clover_gui.pipeline.placing_events import (
    MEMORY_TAKEN,
    MORE_NEEDED,
    OUT_OF_MEMORY,
    Placed,
    PlanChecked,
    Replanned,
)
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.memory import Layout, gpu_need, ram_need
from clover_gui.planning.plan import FitPlan, KvType, Need, Wishes
from tests.pipeline.scripted import (
    CARD,
    GIB,
    MIB,
    ScriptedEngine,
    ScriptedMemory,
    killed_by_the_driver,
    machine,
    out_of_memory,
    placed,
    services,
)

CLOVER = clover_shape()


def buffers(gpu: Need, ram: Need, extra_compute: int = 0) -> tuple[BufferBytes, ...]:
    """What an engine would report that needs exactly what was planned, or a little more."""
    return (
        BufferBytes(
            "CUDA0", "CUDA0", False, gpu.weights, gpu.kv + gpu.recurrent, gpu.compute + extra_compute
        ),
        BufferBytes("CPU", "CPU", True, ram.weights, ram.kv + ram.recurrent, ram.compute),
    )


class DryEngine:
    """Answers a dry run with what the formula says, plus something."""

    def __init__(self, extra: list[int]) -> None:
        self.extra = extra

    async def dry_run(self, settings: LoadSettings) -> tuple[BufferBytes, ...]:
        layout = Layout(
            settings.gpu_layers, settings.cpu_expert_layers, settings.context, KvType(settings.kv_type)
        )
        gpu, ram = gpu_need(CLOVER, layout), ram_need(CLOVER, layout)
        return buffers(gpu, ram, self.extra.pop(0))

    async def close(self) -> None:
        pass


def test_a_plain_load_is_planned_loaded_and_measured() -> None:
    here, memory = machine(CARD), ScriptedMemory(15 * GIB)
    engine = ScriptedEngine()
    planned, events = asyncio.run(placed(engine, here, CLOVER, services(here, memory)))
    assert [type(event) for event in events] == [Placed]
    assert engine.asked_for == [planned.settings]
    assert planned.settings == load_settings(planned.plan, CLOVER.path)
    assert planned.settings.cpu_expert_layers == planned.plan.cpu_expert_layers > 0


def test_the_engine_gets_the_very_devices_and_layers_of_the_plan() -> None:
    twins = tuple(
        replace(
            CARD, name=f"NVIDIA {name}", vram_total_bytes=gib * GIB, vram_free_bytes=gib * GIB, bus_id=name
        )
        for name, gib in (("X", 10), ("Y", 2), ("Z", 14))
    )
    here, engine = machine(*twins), ScriptedEngine(gpus=twins)
    planned, events = asyncio.run(placed(engine, here, CLOVER, services(here)))
    plan, asked = planned.plan, engine.asked_for[0]
    assert plan.left_out == ("NVIDIA Y",)
    assert asked.devices == ("CUDA0", "CUDA2")
    assert asked.tensor_split == tuple(float(share.layers) for share in plan.devices)
    assert sum(asked.tensor_split) == plan.gpu_layers == 41
    assert asked.checkpoint_bytes == plan.ram.copies > 512 * MIB
    done = events[-1]
    assert isinstance(done, Placed)
    assert [gpu.name for gpu in done.gpus] == ["NVIDIA X", "NVIDIA Z"]
    assert [device.name for device in done.measured.devices] == ["NVIDIA X", "NVIDIA Z"]


def test_one_card_needs_no_shares_and_no_card_no_name() -> None:
    here, engine = machine(CARD), ScriptedEngine()
    asyncio.run(placed(engine, here, CLOVER, services(here)))
    assert (engine.asked_for[0].devices, engine.asked_for[0].tensor_split) == (("CUDA0",), ())
    here, engine = machine(), ScriptedEngine(gpus=())
    asyncio.run(placed(engine, here, CLOVER, services(here)))
    assert (engine.asked_for[0].devices, engine.asked_for[0].gpu_layers) == ((), 0)


def test_memory_taken_between_plan_and_load_makes_another_plan() -> None:
    here, memory = machine(CARD), ScriptedMemory(15 * GIB, 6 * GIB)
    engine = ScriptedEngine()
    planned, events = asyncio.run(placed(engine, here, CLOVER, services(here, memory)))
    again = events[0]
    assert isinstance(again, Replanned)
    assert (again.reason, again.before) == (MEMORY_TAKEN, planned.plan)
    assert again.plan.cpu_expert_layers > planned.plan.cpu_expert_layers + 15
    assert again.plan.gpu.total + again.plan.reserve_bytes <= 6 * GIB
    assert [asked.cpu_expert_layers for asked in engine.asked_for] == [again.plan.cpu_expert_layers]


def test_a_little_less_memory_is_no_reason() -> None:
    here = machine(CARD)
    _, events = asyncio.run(
        placed(ScriptedEngine(), here, CLOVER, services(here, ScriptedMemory(15 * GIB, 15 * GIB - MIB)))
    )
    assert [type(event) for event in events] == [Placed]


def test_memory_that_is_gone_altogether_stops_before_the_load() -> None:
    here, memory = machine(CARD, ram_gib=8), ScriptedMemory(15 * GIB, GIB)
    engine = ScriptedEngine()
    with pytest.raises(DoesNotFitError):
        asyncio.run(placed(engine, here, CLOVER, services(here, memory)))
    assert engine.asked_for == []


def test_our_own_memory_counts_as_free() -> None:
    """A loaded model of ours makes room for the next one."""
    here = machine(CARD)
    memory = ScriptedMemory(2 * GIB, ours=13 * GIB)
    planned, _ = asyncio.run(placed(ScriptedEngine(), here, CLOVER, services(here, memory)))
    assert planned.plan.gpu_available_bytes == 15 * GIB


@pytest.mark.parametrize("failures", [1, 2])
def test_out_of_memory_leads_to_a_smaller_plan(failures: int) -> None:
    here = machine(CARD)
    engine = ScriptedEngine(results=[out_of_memory(), killed_by_the_driver()][:failures])
    planned, events = asyncio.run(placed(engine, here, CLOVER, services(here, ScriptedMemory(15 * GIB))))
    smaller = [event for event in events if isinstance(event, Replanned)]
    assert [(event.reason, event.attempt) for event in smaller] == [
        (OUT_OF_MEMORY, n + 1) for n in range(failures)
    ]
    sizes = [planned.plan.gpu.buffers, *(event.plan.gpu.buffers for event in smaller)]
    assert sizes == sorted(set(sizes), reverse=True)
    assert isinstance(events[-1], Placed)
    assert events[-1].plan == smaller[-1].plan


def test_not_more_than_twice() -> None:
    here = machine(CARD)
    engine = ScriptedEngine(results=[out_of_memory() for _ in range(5)])
    with pytest.raises(ModelLoadFailed):
        asyncio.run(placed(engine, here, CLOVER, services(here, ScriptedMemory(15 * GIB))))
    assert len(engine.asked_for) == 3


def test_values_set_by_hand_are_not_changed_behind_the_persons_back() -> None:
    here = machine(CARD)
    engine = ScriptedEngine(results=[out_of_memory()])
    wishes = Wishes(cpu_expert_layers=15, context=8192)
    with pytest.raises(ModelLoadFailed):
        asyncio.run(placed(engine, here, CLOVER, services(here, ScriptedMemory(15 * GIB)), wishes))
    assert len(engine.asked_for) == 1


def test_other_failures_are_not_tried_again() -> None:
    here = machine(CARD)
    engine = ScriptedEngine(results=[ModelLoadFailed(Path("m"), "corrupt", "magic")])
    with pytest.raises(ModelLoadFailed):
        asyncio.run(placed(engine, here, CLOVER, services(here, ScriptedMemory(15 * GIB))))
    assert len(engine.asked_for) == 1
    assert not ran_out_of_memory(EngineDied(-11, "segmentation fault"))


def test_without_a_gpu_a_smaller_plan_uses_less_ram() -> None:
    here = machine(ram_gib=24)
    engine = ScriptedEngine(gpus=(), results=[out_of_memory()])
    planned, events = asyncio.run(placed(engine, here, CLOVER, services(here)))
    assert isinstance(events[0], Replanned)
    assert events[0].plan.ram.buffers < planned.plan.ram.buffers


def dry(tmp_path: Path, extra: list[int]) -> tuple[DryRunner, ModelFile]:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"x")
    return DryRunner(lambda: DryEngine(extra), small_file_bytes=0), replace(CLOVER, path=path)


def test_the_engines_own_figures_take_the_place_of_the_formula(tmp_path: Path) -> None:
    runner, model = dry(tmp_path, [3 * MIB])
    here = machine(CARD)
    tools = services(here, ScriptedMemory(15 * GIB), runner)
    first, events = asyncio.run(placed(ScriptedEngine(), here, model, tools))
    checked = events[0]
    assert isinstance(checked, PlanChecked)
    assert checked.dry_run.end is DryRunEnd.DONE
    assert checked.plan.checked == "engine"
    assert checked.plan.gpu == replace(first.plan.gpu, compute=first.plan.gpu.compute + 3 * MIB)
    assert checked.plan.ram == first.plan.ram


def test_a_plan_that_does_not_fit_by_the_engines_figures_is_never_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runner, model = dry(tmp_path, [900 * MIB, 900 * MIB])
    here, engine = machine(CARD), ScriptedEngine()
    tools = services(here, ScriptedMemory(15 * GIB), runner)
    planned, events = asyncio.run(placed(engine, here, model, tools))
    again, checked = events[0], events[1]
    assert isinstance(again, Replanned)
    assert again.reason == MORE_NEEDED
    assert again.plan.cpu_expert_layers > planned.plan.cpu_expert_layers
    assert isinstance(checked, PlanChecked)
    assert checked.plan.gpu.total + checked.plan.reserve_bytes <= 15 * GIB
    assert engine.asked_for[0].cpu_expert_layers == again.plan.cpu_expert_layers
    assert "computing of NVIDIA X" in caplog.text, "the disagreement is logged"


def test_the_drivers_share_is_learned_and_used_next_time(tmp_path: Path) -> None:
    here, path = machine(CARD), tmp_path / "measurements.json"

    async def one(measurements: Measurements) -> tuple[FitPlan, Placed]:
        memory = ScriptedMemory(15 * GIB, ours=None)
        planned, _ = await placed(ScriptedEngine(), here, CLOVER, services(here, memory, None, measurements))
        engine = ScriptedEngine(buffers=buffers(planned.plan.gpu, planned.plan.ram))
        taken = planned.plan.gpu.buffers + 600 * MIB
        memory.left = [15 * GIB, 15 * GIB, 15 * GIB - taken]
        _, events = await placed(engine, here, CLOVER, services(here, memory, None, measurements))
        assert isinstance(events[-1], Placed)
        return planned.plan, events[-1]

    plan, done = asyncio.run(one(Measurements(path)))
    (device,) = done.measured.devices
    assert device.planned_bytes == plan.gpu.total
    assert device.measured_bytes == plan.gpu.buffers + 600 * MIB
    assert device.overhead_bytes == 600 * MIB
    assert done.measured.warnings == ()
    plan_next, _ = asyncio.run(one(Measurements(path)))
    assert plan_next.gpu.overhead == 600 * MIB


def test_far_more_than_planned_is_said() -> None:
    here = machine(CARD)

    async def scenario() -> Placed:
        memory = ScriptedMemory(15 * GIB, ours=None)
        planned, _ = await placed(ScriptedEngine(), here, CLOVER, services(here, memory))
        memory.left = [15 * GIB, 15 * GIB, 15 * GIB - planned.plan.gpu.total - 800 * MIB]
        engine = ScriptedEngine(buffers=buffers(planned.plan.gpu, planned.plan.ram))
        _, events = await placed(engine, here, CLOVER, services(here, memory))
        assert isinstance(events[-1], Placed)
        return events[-1]

    assert asyncio.run(scenario()).measured.warnings == (MORE_THAN_PLANNED,)


def test_an_engine_that_left_the_gpu_empty_is_noticed() -> None:
    here = machine(CARD)
    engine = ScriptedEngine(buffers=(BufferBytes("CPU", "CPU", True, 20 * GIB, GIB, MIB),))
    _, events = asyncio.run(placed(engine, here, CLOVER, services(here, ScriptedMemory(15 * GIB))))
    assert isinstance(events[-1], Placed)
    assert events[-1].measured.warnings == (GPU_NOT_USED,)
