"""A graphics card that the person chose: it alone is planned with, is found again, and may be gone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.engine.protocol import EngineDevice, EngineInfo
from clover_gui.explain import device_use_text, replan_text, warning_text
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine
from clover_gui.pipeline.device_list import device_rows
from clover_gui.pipeline.gpu_choice import (
    GPU_CHOICE_MISSING,
    DeviceUse,
    choose_gpu,
    gpu_id,
    judge_devices,
    name_of_id,
    usable_gpus,
)
from clover_gui.pipeline.placing_events import MEMORY_TAKEN
from clover_gui.pipeline.prepare import EngineDescribed, ReadyToChat, StageEvent, prepare
from clover_gui.planning.clover_shape import clover_shape
from clover_gui.planning.plan import PROCESSOR_ONLY, FitPlan, Placement, Wishes
from clover_gui.planning.planner import make_plan
from tests.pipeline.scripted import GIB, ScriptedEngine, ScriptedMemory, machine, placed, services

LARGE = Gpu(
    "NVIDIA GeForce RTX 3090", "NVIDIA", DeviceKind.DISCRETE, 24 * GIB, 23 * GIB, bus_id="0000:01:00.0"
)
SMALL = Gpu(
    "NVIDIA GeForce RTX 3060", "NVIDIA", DeviceKind.DISCRETE, 12 * GIB, 11 * GIB, bus_id="0000:02:00.0"
)
INSIDE = Gpu(
    "Intel UHD Graphics 770",
    "Intel",
    DeviceKind.INTEGRATED,
    shared_total_bytes=8 * GIB,
    shared_free_bytes=8 * GIB,
    bus_id="0000:00:02.0",
)


def engine(*gpus: Gpu) -> EngineInfo:
    devices = tuple(
        EngineDevice(
            f"Vulkan{place}",
            gpu.name,
            "Vulkan",
            "igpu" if gpu.kind is DeviceKind.INTEGRATED else "gpu",
            gpu.vram_free_bytes or 8 * GIB,
            gpu.vram_total_bytes or 8 * GIB,
        )
        for place, gpu in enumerate(gpus)
    )
    return EngineInfo(1, "fake", True, devices, {})


def names(gpus: tuple[Gpu, ...]) -> list[str]:
    return [gpu.name for gpu in gpus]


@pytest.mark.parametrize("wanted", [LARGE, SMALL, INSIDE], ids=lambda gpu: gpu.name)
def test_the_chosen_one_is_used_alone_whatever_else_is_there(wanted: Gpu) -> None:
    here, info = machine(LARGE, SMALL, INSIDE), engine(LARGE, SMALL, INSIDE)
    choice = choose_gpu(here, info, gpu_id(wanted))
    assert names(choice.gpus) == [wanted.name]
    assert choice.gpu == choice.gpus[0]
    assert GPU_CHOICE_MISSING not in choice.warnings
    assert names(usable_gpus(here, info)) == [LARGE.name, SMALL.name, INSIDE.name]


def test_without_a_wish_nothing_changes() -> None:
    here, info = machine(LARGE, SMALL, INSIDE), engine(LARGE, SMALL, INSIDE)
    assert choose_gpu(here, info, "") == choose_gpu(here, info)
    assert names(choose_gpu(here, info).gpus) == [LARGE.name, SMALL.name]


def test_one_that_is_gone_is_said_and_the_choice_is_automatic() -> None:
    here, info = machine(SMALL), engine(SMALL)
    choice = choose_gpu(here, info, gpu_id(LARGE))
    assert names(choice.gpus) == [SMALL.name]
    assert choice.warnings == (GPU_CHOICE_MISSING,)
    assert "automatic" in warning_text(GPU_CHOICE_MISSING)
    assert choose_gpu(machine(), engine(), gpu_id(LARGE)).warnings == (GPU_CHOICE_MISSING,)


def test_another_card_in_the_same_place_is_not_the_chosen_one() -> None:
    other = replace(LARGE, name="NVIDIA GeForce RTX 4090")
    assert GPU_CHOICE_MISSING in choose_gpu(machine(other), engine(other), gpu_id(LARGE)).warnings
    assert name_of_id(gpu_id(LARGE)) == LARGE.name
    assert name_of_id("NVIDIA X") == "NVIDIA X"


def test_twins_are_told_apart_by_their_places() -> None:
    twin = replace(LARGE, bus_id="0000:03:00.0")
    choice = choose_gpu(machine(LARGE, twin), engine(LARGE, twin), gpu_id(twin))
    assert [gpu.bus_id for gpu in choice.gpus] == [twin.bus_id]


def test_the_processor_alone_needs_no_excuse() -> None:
    here, info = machine(LARGE), engine(LARGE)
    choice = choose_gpu(here, info, PROCESSOR_ONLY)
    assert (choice.gpus, choice.warnings) == ((), ())
    plan = make_plan(here, clover_shape(), Wishes(graphics=PROCESSOR_ONLY), choice.gpus)
    assert isinstance(plan, FitPlan)
    assert plan.placement is Placement.CPU_ONLY
    assert not {"gpu-unusable", "not-on-gpu"} & set(plan.warnings)


def test_the_engine_loads_on_the_chosen_card_and_the_rest_is_planned_round_it() -> None:
    here = machine(LARGE, SMALL)
    loader = ScriptedEngine(gpus=here.gpus)
    wishes = Wishes(graphics=gpu_id(SMALL), context=65536)
    planned, _events = asyncio.run(placed(loader, here, clover_shape(), services(here), wishes))
    (settings,) = loader.asked_for
    assert settings.devices == ("CUDA1",)
    assert settings.context == 65536
    assert 0 < settings.cpu_expert_layers < 40
    assert [share.name for share in planned.plan.devices] == [SMALL.name]


def uses(here: Machine, info: EngineInfo, wish: str, plan: FitPlan | None = None) -> dict[str, DeviceUse]:
    return {verdict.gpu.name: verdict.use for verdict in judge_devices(here, info, wish, plan)}


def test_the_list_of_devices_says_why_one_is_not_used() -> None:
    here, info = machine(LARGE, SMALL, INSIDE), engine(LARGE, SMALL, INSIDE)
    assert uses(here, info, "")[INSIDE.name] is DeviceUse.SLOWER
    assert uses(here, info, gpu_id(INSIDE)) == {
        INSIDE.name: DeviceUse.USED,
        LARGE.name: DeviceUse.NOT_CHOSEN,
        SMALL.name: DeviceUse.NOT_CHOSEN,
    }
    assert set(uses(here, info, PROCESSOR_ONLY).values()) == {DeviceUse.NOT_CHOSEN}
    plan = make_plan(here, clover_shape(), Wishes(), (LARGE,))
    assert isinstance(plan, FitPlan)
    assert uses(here, info, "", plan)[SMALL.name] is DeviceUse.LEFT_OUT
    on_processor = make_plan(here, clover_shape(), Wishes(gpu_layers=0), (LARGE, SMALL))
    assert isinstance(on_processor, FitPlan)
    assert uses(here, info, "", on_processor)[LARGE.name] is DeviceUse.TOO_SMALL
    rows = device_rows(here, info, "", plan)
    assert [row.used for row in rows] == [True, False, False]
    assert all(device_use_text(use.value) for use in DeviceUse)


def test_a_device_that_only_the_engine_lists_can_be_chosen_and_left() -> None:
    here, info = machine(), engine(LARGE, SMALL)
    first, second = usable_gpus(here, info)
    assert names(choose_gpu(here, info, gpu_id(second)).gpus) == [SMALL.name]
    assert uses(here, info, gpu_id(second)) == {
        second.name: DeviceUse.USED,
        first.name: DeviceUse.NOT_CHOSEN,
    }


def test_the_way_to_the_chat_keeps_the_choice_and_what_was_planned_anew(
    monkeypatch: pytest.MonkeyPatch, twin_gguf: Path
) -> None:
    here = machine(LARGE, SMALL)
    loader = ScriptedEngine(gpus=here.gpus)
    monkeypatch.setattr("clover_gui.pipeline.prepare.probe_machine", lambda _folder: here)
    wishes = Wishes(graphics=gpu_id(SMALL))
    taken = ScriptedMemory(11 * GIB, 5 * GIB, total=12 * GIB)  # other programs, between plan and load

    async def go() -> list[StageEvent]:
        stages = prepare(loader, twin_gguf, twin_gguf.parent, wishes, services(here, taken))
        return [stage async for stage in stages]

    events = asyncio.run(go())
    described = next(event for event in events if isinstance(event, EngineDescribed))
    assert names(described.gpu.gpus) == [SMALL.name]
    done = events[-1]
    assert isinstance(done, ReadyToChat)
    assert names(done.gpus) == [SMALL.name]
    assert done.wishes == wishes
    assert done.info == described.info
    assert done.replanned is not None
    assert done.replanned.reason == MEMORY_TAKEN
    assert done.replanned.plan.cpu_expert_layers > done.replanned.before.cpu_expert_layers
    assert "5.0 GB are free instead of 11.0 GB" in replan_text(
        done.replanned.reason, done.replanned.before, done.replanned.plan
    )
