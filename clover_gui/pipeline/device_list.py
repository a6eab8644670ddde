"""Every graphics device of the machine in one sentence each: used, or why not. For both front ends."""

from __future__ import annotations

from dataclasses import dataclass

from clover_gui.engine.protocol import EngineInfo
from clover_gui.explain import describe_gpu, describe_gpus, device_use_text
from clover_gui.hardware.machine import Machine
from clover_gui.pipeline.gpu_choice import DeviceUse, judge_devices
from clover_gui.planning.plan import FitPlan


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device; ``used`` False: to be shown greyed."""

    text: str
    used: bool


def device_rows(
    machine: Machine, engine: EngineInfo | None, wish: str = "", plan: FitPlan | None = None
) -> tuple[DeviceRow, ...]:
    """The devices, the used ones first; one row that says so where there is none.

    ``engine`` None: it was not asked, or there is none, so nothing is said about use. ``wish`` is what the
    person chose (``Wishes.graphics``); ``plan``, where there is one, tells what is really used.
    """
    if engine is None:
        return tuple(DeviceRow(text, bool(machine.gpus)) for text in describe_gpus(machine))
    verdicts = judge_devices(machine, engine, wish, plan)
    if not verdicts:
        return tuple(DeviceRow(text, False) for text in describe_gpus(machine))
    return tuple(
        DeviceRow(describe_gpu(verdict.gpu), True)
        if verdict.use is DeviceUse.USED
        else DeviceRow(f"{describe_gpu(verdict.gpu)} – {device_use_text(verdict.use.value)}", False)
        for verdict in verdicts
    )
