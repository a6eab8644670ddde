"""What is free right now, as a load will find it: memory that our own engine gives back counts as free.

Reads drivers and the system (in a thread, please); decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import psutil

from clover_gui.engine.protocol import Loaded
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory
from clover_gui.hardware.system import read_memory
from clover_gui.hardware.watch import VramReading, read_vram

VramReader = Callable[[Gpu, Collection[int]], VramReading | None]


@dataclass(frozen=True, slots=True)
class OwnUse:
    """What our engine child holds now and frees before it loads. ``pid`` None: there is no child."""

    pid: int | None = None
    loaded: Loaded | None = None

    @property
    def gpu_buffers(self) -> int:
        """Bytes of the loaded model on GPUs, as the engine itself counts them."""
        if self.loaded is None:
            return 0
        return sum(b.model + b.context + b.compute for b in self.loaded.buffers if not b.is_host)


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """Reads what is free. The two readers are the real ones unless a test scripts others."""

    read_vram: VramReader = read_vram
    read_ram: Callable[[], Memory] = read_memory

    def now(
        self, machine: Machine, gpus: tuple[Gpu, ...], own: OwnUse
    ) -> tuple[Machine, tuple[Gpu, ...], tuple[VramReading | None, ...]]:
        """Machine and GPUs with the figures of this moment, and the readings themselves.

        What cannot be read keeps its old figure.
        """
        memory = machine.memory
        try:
            ram = self.read_ram()
            available = min(ram.total_bytes, ram.available_bytes + _own_ram(own))
            memory = replace(memory, total_bytes=ram.total_bytes, available_bytes=available)
        except Exception:  # a system that tells nothing now told something at the start
            pass
        readings = self.readings(gpus, own)
        fresh = tuple(_fresh(gpu, reading, own, memory) for gpu, reading in zip(gpus, readings, strict=True))
        return replace(machine, memory=memory), fresh, readings

    def readings(self, gpus: tuple[Gpu, ...], own: OwnUse) -> tuple[VramReading | None, ...]:
        pids = [own.pid] if own.pid is not None else []
        return tuple(self.read_vram(gpu, pids) for gpu in gpus)


def _fresh(gpu: Gpu, reading: VramReading | None, own: OwnUse, memory: Memory) -> Gpu:
    if gpu.kind is DeviceKind.UNIFIED:
        limit = gpu.vram_total_bytes or memory.total_bytes
        return replace(gpu, vram_free_bytes=min(limit, memory.available_bytes))
    if reading is None:
        return gpu
    ours = own.gpu_buffers if reading.ours_bytes is None else reading.ours_bytes
    total = reading.total if gpu.vram_total_bytes is None else min(reading.total, gpu.vram_total_bytes)
    return replace(gpu, vram_free_bytes=max(0, min(total, reading.free + ours)))


def _own_ram(own: OwnUse) -> int:
    """Private memory of a child with a loaded model; pages of the file count as available anyway."""
    if own.pid is None or own.loaded is None:
        return 0
    try:
        info = psutil.Process(own.pid).memory_info()
    except (psutil.Error, OSError, ValueError):
        return 0
    return max(0, int(info.rss) - int(getattr(info, "shared", 0)))
