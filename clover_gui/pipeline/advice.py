"""What a person could do about this machine and this engine. Pure: facts in, key words out.

The sentences of the keys are in ``explain.hints``.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from clover_gui.engine.protocol import EngineInfo
from clover_gui.errors import EngineError, EngineMissing
from clover_gui.hardware.machine import Gpu, Machine
from clover_gui.pipeline.gpu_choice import GPU_NOT_SEEN, GPU_UNUSABLE, choose_gpu, missed_gpu

LITTLE_FREE_RAM_BYTES = 2 << 30
CLOVER_DISK_BYTES = 22 << 30  # the file of about 20 GB, and some room to work
CURED_BY_ENGINE = frozenset(
    {"engine-missing", "engine-failed", "engine-too-old", "gpu-unusable", "gpu-not-seen"}
)
"""Keys of advice that another build of the engine could cure."""
DEFAULT_INSTALLER = "python3 installers/engine.py"


class AdviceLevel(StrEnum):
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"  # nothing works before this is cured


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice: its key, the facts for its sentence, and the command that cures it, if any."""

    key: str
    level: AdviceLevel
    facts: dict[str, str | int | float] = field(default_factory=dict)
    command: str = ""


def advise(
    machine: Machine, engine: EngineInfo | EngineError, *, installer: str = DEFAULT_INSTALLER
) -> list[Advice]:
    """Everything worth saying, the most serious first. ``installer`` starts the engine's installer here;
    "" where there is none (an installed program brings its engine)."""
    found = [
        *_engine_advice(machine, engine, installer),
        *_gpu_advice(machine),
        *_size_advice(machine),
    ]
    order = [AdviceLevel.PROBLEM, AdviceLevel.WARNING, AdviceLevel.NOTE]
    return sorted(found, key=lambda advice: order.index(advice.level))


def _engine_advice(machine: Machine, engine: EngineInfo | EngineError, installer: str) -> list[Advice]:
    best = missed_gpu(machine)
    backend = backend_for(best, machine.system) if best else ""
    install = f"{installer} --backend {backend}" if installer and backend else installer
    if isinstance(engine, EngineMissing):
        return [Advice("engine-missing", AdviceLevel.PROBLEM, {"reason": engine.reason}, install)]
    if isinstance(engine, EngineError):
        reason = engine.reason or type(engine).__name__
        return [Advice("engine-failed", AdviceLevel.PROBLEM, {"reason": reason}, install)]
    advice = []
    if engine.architectures and not any(
        engine.architectures.get(name, False) for name in ("qwen35moe", "clover_moe")
    ):
        advice.append(Advice("engine-too-old", AdviceLevel.WARNING, {"architecture": "qwen35moe"}, installer))
    for word in choose_gpu(machine, engine).warnings:
        if best is not None and word in (GPU_UNUSABLE, GPU_NOT_SEEN):
            advice.append(Advice(word, AdviceLevel.WARNING, {"gpu": best.name}, install))
    return advice


def installer_command(script: Path | None) -> str:
    """How to start the engine's installer for this very environment; "" without one."""
    return subprocess.list2cmdline([sys.executable, str(script)]) if script is not None else ""


def backend_for(gpu: Gpu, system: str) -> str:
    """The engine build that can use this GPU: "cuda", "metal" or "vulkan"."""
    if gpu.vendor.lower() == "nvidia":
        return "cuda"
    if gpu.vendor.lower() == "apple" or "macos" in system.lower() or "darwin" in system.lower():
        return "metal"
    return "vulkan"


def _gpu_advice(machine: Machine) -> list[Advice]:
    advice = []
    for note in machine.notes:
        if note.probe == "graphics" and note.kind == "no-driver":
            advice.append(Advice("gpu-driver-missing", AdviceLevel.WARNING, {"device": note.reason}))
        elif note.kind == "device-lost":
            advice.append(Advice("gpu-lost", AdviceLevel.WARNING))
        elif note.probe == "nvidia" and note.kind not in ("no-driver", "not-supported"):
            advice.append(Advice("gpu-driver-error", AdviceLevel.WARNING, {"reason": note.reason}))
    if not machine.gpus and not advice:
        advice.append(Advice("no-gpu", AdviceLevel.NOTE))
    return advice


def _size_advice(machine: Machine) -> list[Advice]:
    advice = []
    memory, disk = machine.memory, machine.disk
    if memory.available_bytes < LITTLE_FREE_RAM_BYTES:
        facts: dict[str, str | int | float] = {"free": memory.available_bytes, "total": memory.total_bytes}
        advice.append(Advice("little-ram", AdviceLevel.WARNING, facts))
    if disk is not None and disk.free_bytes < CLOVER_DISK_BYTES:
        facts = {"free": disk.free_bytes, "needed": CLOVER_DISK_BYTES}
        advice.append(Advice("little-disk", AdviceLevel.NOTE, facts))
    features = machine.processor.features
    is_x86 = machine.processor.architecture.lower() in ("x86_64", "amd64")
    if is_x86 and features and "avx2" not in features:
        advice.append(Advice("slow-processor", AdviceLevel.WARNING))
    return advice
