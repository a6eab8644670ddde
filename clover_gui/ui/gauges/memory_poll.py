"""Looks at the memory once a second while a model is loaded, off the window's thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from clover_gui.hardware.machine import Gpu
from clover_gui.hardware.watch import VramWatcher, read_ram
from clover_gui.ui.gauges.readings import MemoryLevel, MemoryReading

INTERVAL_S = 1.0


def read_memory(watcher: VramWatcher, engine_pid: int | None) -> MemoryReading:
    """One look: RAM of this process and the engine child, and the watched card."""
    pids = [os.getpid()] + ([engine_pid] if engine_pid else [])
    ram = read_ram(pids)
    mapped = ram.ours_mapped_bytes if engine_pid else 0
    level = MemoryLevel(ram.total, ram.available, max(0, ram.ours_bytes - mapped), mapped)
    found = watcher.read(pids)
    vram = MemoryLevel(found.total, found.free, found.ours_bytes) if found else None
    return MemoryReading(level, vram)


async def poll_memory(
    gpu: Gpu | None, engine_pid: Callable[[], int | None], show: Callable[[MemoryReading], None]
) -> None:
    """Until cancelled: read in a thread, show, wait a second; then give the driver's handle back."""
    watcher = VramWatcher(gpu)
    try:
        while True:
            show(await asyncio.to_thread(read_memory, watcher, engine_pid()))
            await asyncio.sleep(INTERVAL_S)
    finally:
        watcher.release()
