"""Live readings for the gauges: RAM and VRAM now, and how much of it is ours. Cheap, and never raising.

A graphics device that sleeps is not asked, because asking would wake it; and while nothing is loaded no
driver handle is kept, because that alone keeps a laptop's card awake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import psutil

from clover_gui.hardware import amd, nvidia
from clover_gui.hardware.machine import DeviceKind, Gpu
from clover_gui.hardware.system import read_memory


@dataclass(frozen=True, slots=True)
class RamReading:
    """Bytes of main memory now. ``ours_bytes`` is what our processes keep resident, pages of the mapped
    model file included; ``ours_mapped_bytes`` is that file part, which the system can take back."""

    total: int
    available: int
    ours_bytes: int
    ours_mapped_bytes: int = 0


@dataclass(frozen=True, slots=True)
class VramReading:
    """Bytes of one device's memory now. ``ours_bytes`` is None where the driver does not tell."""

    total: int
    used: int
    free: int
    ours_bytes: int | None = None


def read_ram(pids: Collection[int]) -> RamReading:
    """Main memory now. Processes that have ended count as zero; a failing system reads as all zero."""
    try:
        memory = read_memory()
    except Exception:  # a gauge must not end the program
        return RamReading(0, 0, 0)
    resident = mapped = 0
    for pid in set(pids):
        try:
            info = psutil.Process(pid).memory_info()
        except (psutil.Error, OSError, ValueError):
            continue
        resident += int(info.rss)
        mapped += int(getattr(info, "shared", 0))
    return RamReading(memory.total_bytes, memory.available_bytes, resident, mapped)


class VramWatcher:
    """Reads the memory of one device. Keep it while a model is loaded, ``release`` it afterwards.

    Not thread-safe: one thread at a time. ``root`` and ``load`` are there for recorded machines.
    """

    def __init__(
        self,
        gpu: Gpu | None,
        root: Path = Path("/"),
        load: Callable[[Path], nvidia.Nvml] = nvidia.load_pynvml,
    ) -> None:
        self._gpu = gpu
        self._root = root
        self._load = load
        self._nvml: nvidia.Nvml | None = None

    def read(self, pids: Collection[int] = ()) -> VramReading | None:
        """The device's memory now, or None: no device, asleep, lost, or it shares the RAM."""
        gpu = self._gpu
        if gpu is None or gpu.kind is DeviceKind.UNIFIED or amd.is_suspended(gpu.bus_id, self._root):
            return None
        if gpu.source == "nvml":
            return self._read_nvml(gpu, pids)
        if gpu.vendor == "AMD":
            found = amd.read_amd_vram(gpu.bus_id, self._root)
            return VramReading(found[0], found[1], found[0] - found[1]) if found else None
        return None

    def release(self) -> None:
        """Give the driver handle back, so that the device may sleep. ``read`` takes a new one."""
        nvml, self._nvml = self._nvml, None
        if nvml is not None:
            nvidia.shut_down(nvml)

    def _read_nvml(self, gpu: Gpu, pids: Collection[int]) -> VramReading | None:
        try:
            if self._nvml is None:
                nvml = self._load(self._root)
                nvml.nvmlInit()
                self._nvml = nvml
            use = nvidia.read_vram_use(self._nvml, gpu.index, pids)
        except Exception:  # lost device, driver update, missing library: the next reading starts anew
            self.release()
            return None
        return VramReading(use.total, use.used, use.free, use.ours)


def read_vram(gpu: Gpu | None, pids: Collection[int] = ()) -> VramReading | None:
    """One reading without keeping a handle: for the moment just before a load."""
    watcher = VramWatcher(gpu)
    try:
        return watcher.read(pids)
    finally:
        watcher.release()
