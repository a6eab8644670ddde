"""The whole way from "what is this machine?" to "ready to chat", as one stream of stage events.

Both front ends run exactly this. Nothing here blocks the event loop: what may is done in threads, and the
engine is a process of its own. Failures are raised as CloverError.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import FAIL_ARCHITECTURE, EngineInfo, Loaded
from clover_gui.errors import ModelLoadFailed, RepairContradictory, RepairImpossible, RepairNeeded
from clover_gui.hardware.machine import Gpu, Machine
from clover_gui.hardware.probe import probe_machine
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.patching.check import SpeechCheck
from clover_gui.patching.findings import Obstacle, Verdict
from clover_gui.pipeline.gpu_choice import GpuChoice, choose_gpu
from clover_gui.pipeline.loading import settle
from clover_gui.pipeline.measured import Measured
from clover_gui.pipeline.placing import Placer, load_settings
from clover_gui.pipeline.placing_events import Loading, Placed, PlanChecked, Planned, Replanned
from clover_gui.pipeline.repairing import (
    Examination,
    RepairDone,
    Repairing,
    ask_whether_it_speaks,
    examine,
    make_runnable,
    note_speech,
    put_in_order,
)
from clover_gui.pipeline.services import Services
from clover_gui.planning.plan import FitPlan, Wishes

__all__ = [
    "EngineDescribed",
    "Examined",
    "Loading",
    "MachineProbed",
    "ModelRead",
    "PlanChecked",
    "Planned",
    "ReadyToChat",
    "RepairDone",
    "RepairWish",
    "Repairing",
    "Replanned",
    "Services",
    "SpeechChecked",
    "StageEvent",
    "load_settings",
    "look_around",
    "prepare",
]


@dataclass(frozen=True, slots=True)
class MachineProbed:
    machine: Machine


@dataclass(frozen=True, slots=True)
class EngineDescribed:
    """What the engine is and can use. ``gpu`` is the choice that planning starts from."""

    info: EngineInfo
    gpu: GpuChoice


@dataclass(frozen=True, slots=True)
class ModelRead:
    """The file's header; ``ahead``: the file is not here yet, this is what is known of it."""

    model: ModelFile
    ahead: bool = False


@dataclass(frozen=True, slots=True)
class Examined:
    """What a file of Clover's family is for this engine; other files are not examined."""

    examination: Examination


@dataclass(frozen=True, slots=True)
class SpeechChecked:
    """After a repair: how the model answered the question whose answer is known."""

    check: SpeechCheck


@dataclass(frozen=True, slots=True)
class ReadyToChat:
    """The last event: everything that the chat and its gauges need to know.

    ``measured`` compares the plan with what is really in use; ``gpus`` are the devices that hold a part.
    ``info`` and ``wishes`` are what it was planned with, so that it can be planned anew; ``replanned`` is
    the last time that another plan took the place of the first on the way, if any.
    """

    machine: Machine
    model: ModelFile
    plan: FitPlan
    loaded: Loaded
    measured: Measured | None = None
    gpus: tuple[Gpu, ...] = ()
    info: EngineInfo | None = None
    wishes: Wishes = field(default_factory=Wishes)
    replanned: Replanned | None = None


class RepairWish(StrEnum):
    """Whether a file that needs it may be repaired."""

    REFUSE = "refuse"
    ALLOW = "allow"
    FORCE = "force"  # also where its values contradict each other; it can be undone


StageEvent = (
    MachineProbed
    | EngineDescribed
    | ModelRead
    | Examined
    | Planned
    | Repairing
    | RepairDone
    | PlanChecked
    | Replanned
    | Loading
    | SpeechChecked
    | ReadyToChat
)


async def look_around(
    engine: Engine, disk_path: Path, graphics: str = ""
) -> AsyncGenerator[MachineProbed | EngineDescribed, None]:
    """The first two stages: machine and engine, looked at side by side. ``disk_path`` is where models lie;
    ``graphics`` is the person's choice (``Wishes.graphics``).

    Raises:
        EngineError: there is no engine that works (MachineProbed came before).
    """
    describing = asyncio.ensure_future(engine.describe())
    try:
        machine = await asyncio.to_thread(probe_machine, disk_path)
        yield MachineProbed(machine)
        info = await describing
        yield EngineDescribed(info, choose_gpu(machine, info, graphics))
    finally:
        await settle(describing)


async def prepare(
    engine: Engine,
    model_path: Path,
    disk_path: Path,
    wishes: Wishes | None = None,
    services: Services | None = None,
    *,
    repair: RepairWish = RepairWish.REFUSE,
) -> AsyncGenerator[StageEvent, None]:
    """Look at the machine, the engine and the file, make a plan, check it, load the model.

    A file that runs only after a repair is repaired between plan and load, where that is wished (a copy of
    it, put into ``disk_path``, where it belongs to another program).

    Memory is measured anew each time, so a second model is planned with what will be free for it. Closing
    the iterator while it loads cancels the load. ``services`` bring the dry run and what was measured
    before; without them the plan rests on the formula.

    Raises:
        EngineError: no engine, it does not know the model's architecture, or it cannot load the file.
        ModelFileError: the file cannot be used.
        RepairError: it needs a repair that is not wished (RepairNeeded) or not possible.
        DoesNotFitError: no placement is possible.
    """
    wishes = wishes or Wishes()
    machine: Machine | None = None
    gpu: GpuChoice | None = None
    info: EngineInfo | None = None
    async with contextlib.aclosing(look_around(engine, disk_path, wishes.graphics)) as stages:
        async for stage in stages:
            yield stage
            if isinstance(stage, MachineProbed):
                machine = stage.machine
            else:
                info, gpu = stage.info, stage.gpu
    assert machine is not None
    assert info is not None
    assert gpu is not None
    await put_in_order(model_path)
    model = await asyncio.to_thread(read_model_file, model_path)
    yield ModelRead(model)
    examination = await examine(model, info.architectures) if info.architectures else None
    if examination is None:
        _refuse_unknown_architecture(info, model)
    else:
        yield Examined(examination)
    placer = Placer(engine, machine, model, wishes, gpu, services or Services())
    planned = await placer.plan()
    yield planned
    repaired = examination is not None and _is_to_be_repaired(examination, info, repair)
    if examination is not None and repaired:
        work = _repair(engine, examination, info, disk_path, repair)
        async with contextlib.aclosing(work) as repairs:
            async for progress in repairs:
                yield progress
                if isinstance(progress, RepairDone):
                    model_path = progress.path
        model = await asyncio.to_thread(read_model_file, model_path)
        placer = Placer(engine, machine, model, wishes, gpu, services or Services())
        planned = await placer.plan()
    replanned: Replanned | None = None
    async with contextlib.aclosing(placer.place(planned)) as steps:
        async for step in steps:
            if isinstance(step, Replanned):
                replanned = step
            if isinstance(step, Placed):
                if repaired:
                    yield await _check_speech(engine, model_path)
                yield _ready_to_chat(step, model, info, wishes, replanned)
            else:
                yield step


def _ready_to_chat(
    placed: Placed, model: ModelFile, info: EngineInfo, wishes: Wishes, replanned: Replanned | None
) -> ReadyToChat:
    used = placed.gpus if placed.plan.gpu_layers else ()
    return ReadyToChat(
        placed.machine,
        model,
        placed.plan,
        placed.loaded,
        placed.measured,
        used,
        info,
        wishes,
        replanned,
    )


async def _repair(
    engine: Engine, examination: Examination, info: EngineInfo, disk_path: Path, wish: RepairWish
) -> AsyncGenerator[Repairing | RepairDone, None]:
    """Repair the file, if that is wished and possible; the last event has its path."""
    _refuse_repair(examination, wish)
    force = wish is RepairWish.FORCE
    work = make_runnable(engine, examination, info.architectures, disk_path, force=force)
    async with contextlib.aclosing(work) as repairs:
        async for progress in repairs:
            yield progress


async def _check_speech(engine: Engine, model_path: Path) -> SpeechChecked:
    """Ask the repaired model a question with a known answer, and note with the repair what it said."""
    check = await ask_whether_it_speaks(engine)
    await note_speech(model_path, check)
    return SpeechChecked(check)


def _is_to_be_repaired(examination: Examination, info: EngineInfo, wish: RepairWish) -> bool:
    """A file that the engine can load as it is, is loaded, also where its values look odd."""
    diagnosis = examination.diagnosis
    if diagnosis.verdict is Verdict.CANNOT and info.architectures.get(diagnosis.architecture, False):
        return wish is RepairWish.FORCE and diagnosis.can_be_forced
    return diagnosis.verdict is not Verdict.RUNS


def _refuse_repair(examination: Examination, wish: RepairWish) -> None:
    """Raise where the file cannot be repaired, or the person has not agreed to it."""
    diagnosis = examination.diagnosis
    if diagnosis.verdict is Verdict.CANNOT:
        if diagnosis.obstacle is Obstacle.CONTRADICTORY:
            if wish is not RepairWish.FORCE:
                raise RepairContradictory(diagnosis.path, diagnosis.obstacle_detail)
        else:
            raise RepairImpossible(diagnosis.path, diagnosis.obstacle.value, diagnosis.obstacle_detail)
    elif wish is RepairWish.REFUSE:
        raise RepairNeeded(diagnosis.path, diagnosis.target)


def _refuse_unknown_architecture(info: EngineInfo, model: ModelFile) -> None:
    """Some architectures were asked of the engine; a plain no spares a useless load."""
    if info.architectures.get(model.architecture) is False:
        raise ModelLoadFailed(
            model.path, FAIL_ARCHITECTURE, f"unknown model architecture: '{model.architecture}'"
        )
