"""The whole way from "what is this machine?" to "ready to chat", as one stream of stage events.

Both front ends run exactly this. Nothing here blocks the event loop: what may is done in threads, and the
engine is a process of its own. Failures are raised as CloverError.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import FAIL_ARCHITECTURE, EngineInfo, Loaded, LoadProgress, LoadSettings
from clover_gui.errors import DoesNotFitError, ModelLoadFailed
from clover_gui.hardware.machine import Machine
from clover_gui.hardware.probe import probe_machine
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.gpu_choice import GPU_UNUSABLE, GpuChoice, choose_gpu
from clover_gui.planning.plan import DoesNotFit, FitPlan, Wishes
from clover_gui.planning.planner import make_plan


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
    model: ModelFile


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that fits (its ``warnings`` include those of the choice of the GPU), and what is asked of
    the engine for it."""

    plan: FitPlan
    settings: LoadSettings


@dataclass(frozen=True, slots=True)
class Loading:
    progress: LoadProgress


@dataclass(frozen=True, slots=True)
class ReadyToChat:
    """The last event: everything that the chat and its gauges need to know."""

    machine: Machine
    model: ModelFile
    plan: FitPlan
    loaded: Loaded


_T = TypeVar("_T")
StageEvent = MachineProbed | EngineDescribed | ModelRead | Planned | Loading | ReadyToChat


async def look_around(
    engine: Engine, disk_path: Path
) -> AsyncGenerator[MachineProbed | EngineDescribed, None]:
    """The first two stages: machine and engine, looked at side by side. ``disk_path`` is where models lie.

    Raises:
        EngineError: there is no engine that works (MachineProbed came before).
    """
    describing = asyncio.ensure_future(engine.describe())
    try:
        machine = await asyncio.to_thread(probe_machine, disk_path)
        yield MachineProbed(machine)
        info = await describing
        yield EngineDescribed(info, choose_gpu(machine, info))
    finally:
        await _settle(describing)


async def prepare(
    engine: Engine, model_path: Path, disk_path: Path, wishes: Wishes | None = None
) -> AsyncGenerator[StageEvent, None]:
    """Look at the machine, the engine and the file, make a plan, load the model.

    Memory is measured anew each time, so a second model is planned with what is free then. Closing the
    iterator while it loads cancels the load.

    Raises:
        EngineError: no engine, it does not know the model's architecture, or it cannot load the file.
        ModelFileError: the file cannot be used.
        DoesNotFitError: no placement is possible.
    """
    machine: Machine | None = None
    gpu: GpuChoice | None = None
    info: EngineInfo | None = None
    async with contextlib.aclosing(look_around(engine, disk_path)) as stages:
        async for stage in stages:
            yield stage
            if isinstance(stage, MachineProbed):
                machine = stage.machine
            else:
                info, gpu = stage.info, stage.gpu
    assert machine is not None
    assert info is not None
    assert gpu is not None
    model = await asyncio.to_thread(read_model_file, model_path)
    yield ModelRead(model)
    _refuse_unknown_architecture(info, model)
    plan = await asyncio.to_thread(_plan_or_refusal, machine, model, wishes or Wishes(), gpu)
    settings = load_settings(plan, model_path)
    yield Planned(plan, settings)
    loaded: Loaded | None = None
    async with contextlib.aclosing(_load(engine, settings)) as loading:
        async for event in loading:
            if isinstance(event, LoadProgress):
                yield Loading(event)
            else:
                loaded = event
    assert loaded is not None
    yield ReadyToChat(machine, model, plan, loaded)


def load_settings(plan: FitPlan, model_path: Path) -> LoadSettings:
    """What the engine is asked for to carry out this plan."""
    return LoadSettings(
        path=str(model_path),
        context=plan.context,
        kv_type=plan.kv_type.value,
        gpu_layers=plan.gpu_layers,
        cpu_expert_layers=plan.cpu_expert_layers,
        threads=plan.threads,
        batch=plan.batch,
        use_mmap=plan.use_mmap,
    )


def _refuse_unknown_architecture(info: EngineInfo, model: ModelFile) -> None:
    """Some architectures were asked of the engine; a plain no spares a useless load."""
    if info.architectures.get(model.architecture) is False:
        raise ModelLoadFailed(
            model.path, FAIL_ARCHITECTURE, f"unknown model architecture: '{model.architecture}'"
        )


def _plan_or_refusal(machine: Machine, model: ModelFile, wishes: Wishes, choice: GpuChoice) -> FitPlan:
    plan = make_plan(machine, model, wishes, choice.gpu)
    if isinstance(plan, DoesNotFit):
        raise DoesNotFitError(plan.needed_bytes, plan.available_bytes, plan.where, plan.suggestions)
    # Why the GPU is not used was found out more exactly by the choice.
    words = [word for word in plan.warnings if not (choice.warnings and word == GPU_UNUSABLE)]
    return replace(plan, warnings=(*choice.warnings, *words))


async def _load(engine: Engine, settings: LoadSettings) -> AsyncGenerator[LoadProgress | Loaded, None]:
    """The progress of a load as it comes, then its result. Closing the iterator cancels the load."""
    progress: asyncio.Queue[LoadProgress | None] = asyncio.Queue()
    loading = asyncio.ensure_future(engine.load(settings, progress.put_nowait))
    loading.add_done_callback(lambda _task: progress.put_nowait(None))
    try:
        while (event := await progress.get()) is not None:
            yield event
        yield await loading
    finally:
        await _settle(loading)


async def _settle(task: asyncio.Future[_T]) -> None:
    """Cancel what is still running and wait for its end, whatever that is."""
    if not task.done():
        task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # seen here, or raised to the reader before
