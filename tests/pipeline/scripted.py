"""A machine by script: an engine that loads as it is told to, and memory readings from a list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from clover_gui.engine.protocol import (
    FAIL_MEMORY,
    BufferBytes,
    EngineDevice,
    EngineInfo,
    Loaded,
    LoadProgress,
    LoadSettings,
)
from clover_gui.errors import CloverError, EngineDied, ModelLoadFailed
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor
from clover_gui.hardware.watch import VramReading
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.dry_run import DryRunner
from clover_gui.pipeline.free_memory import FreeMemory
from clover_gui.pipeline.gpu_choice import choose_gpu
from clover_gui.pipeline.measurements import Measurements
from clover_gui.pipeline.placing import Placer
from clover_gui.pipeline.placing_events import PlacingEvent, Planned
from clover_gui.pipeline.services import Services
from clover_gui.planning.plan import Wishes
from tests.chat.fake_engine import FakeEngine

GIB, MIB = 1 << 30, 1 << 20
CARD = Gpu("NVIDIA X", "NVIDIA", DeviceKind.DISCRETE, 16 * GIB, 15 * GIB, driver="580", source="nvml")


def machine(*gpus: Gpu, ram_gib: float = 32) -> Machine:
    memory = Memory(int(ram_gib * GIB), int(ram_gib * GIB * 0.9))
    return Machine("Linux", Processor("p", "x86_64", 8, 16, frozenset({"avx2"})), memory, None, gpus)


def out_of_memory() -> ModelLoadFailed:
    return ModelLoadFailed(Path("m.gguf"), FAIL_MEMORY, "unable to allocate CUDA0 buffer")


def killed_by_the_driver() -> EngineDied:
    return EngineDied(-6, "", ("CUDA error: out of memory", "ggml_abort"))


@dataclass
class ScriptedEngine(FakeEngine):
    """Each load takes the next result: an error is raised, None loads. ``asked`` are the settings."""

    gpus: Sequence[Gpu] = (CARD,)
    results: list[CloverError | None] = field(default_factory=list)
    asked_for: list[LoadSettings] = field(default_factory=list)
    buffers: tuple[BufferBytes, ...] = ()
    now_loaded: Loaded | None = None
    pid: int | None = 4711

    @property
    def loaded(self) -> Loaded | None:
        return self.now_loaded

    async def describe(self) -> EngineInfo:
        devices = [
            EngineDevice(
                f"CUDA{i}", gpu.name, "CUDA", "gpu", gpu.vram_free_bytes or 0, gpu.vram_total_bytes or 0
            )
            for i, gpu in enumerate(self.gpus)
        ]
        return EngineInfo(1, "fake", bool(devices), tuple(devices), {})

    async def load(
        self, settings: LoadSettings, progress: Callable[[LoadProgress], None] | None = None
    ) -> Loaded:
        self.asked_for.append(settings)
        result = self.results.pop(0) if self.results else None
        if result is not None:
            raise result
        self.now_loaded = Loaded(1, "fake", settings.context, 10, "file", True, 0.1, self.buffers)
        return self.now_loaded


class ScriptedMemory:
    """Free bytes of the card: one figure for each reading, the last one for all that follow."""

    def __init__(self, *free_bytes: int, total: int = 16 * GIB, ours: int | None = 0) -> None:
        self.left = list(free_bytes)
        self.total = total
        self.ours = ours
        self.reads = 0

    def read(self, _gpu: Gpu, _pids: Collection[int]) -> VramReading:
        self.reads += 1
        free = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        return VramReading(self.total, self.total - free, free, self.ours)


def services(
    here: Machine,
    vram: ScriptedMemory | None = None,
    dry_runner: DryRunner | None = None,
    measurements: Measurements | None = None,
) -> Services:
    free = FreeMemory(read_vram=vram.read if vram else lambda _gpu, _pids: None, read_ram=lambda: here.memory)
    return Services(dry_runner, measurements or Measurements(), free)


async def placed(
    engine: ScriptedEngine,
    here: Machine,
    model: ModelFile | Path,
    tools: Services,
    wishes: Wishes | None = None,
) -> tuple[Planned, list[PlacingEvent]]:
    """Plan and load; all that happened."""
    facts = read_model_file(model) if isinstance(model, Path) else model
    wishes = wishes or Wishes()
    choice = choose_gpu(here, await engine.describe(), wishes.graphics)
    placer = Placer(engine, here, facts, wishes, choice, tools)
    planned = await placer.plan()
    return planned, [event async for event in placer.place(planned)]


def with_free(gpu: Gpu, free_bytes: int) -> Gpu:
    return replace(gpu, vram_free_bytes=free_bytes)
