"""Looks at the memory once a second while a model is loaded, off the window's thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence

from clover_gui.hardware.machine import Gpu
from clover_gui.hardware.watch import VramWatcher, read_ram
from clover_gui.ui.gauges.readings import MemoryLevel, MemoryReading, sum_of

INTERVAL_S = 1.0


def read_memory(watchers: Sequence[VramWatcher], engine_pid: int | None) -> MemoryReading:
    """One look: RAM of this process and the engine child, and the watched cards."""
    pids = [os.getpid()] + ([engine_pid] if engine_pid else [])
    ram = read_ram(pids)
    mapped = ram.ours_mapped_bytes if engine_pid else 0
    level = MemoryLevel(ram.total, ram.available, max(0, ram.ours_bytes - mapped), mapped)
    found = [reading for watcher in watchers if (reading := watcher.read(pids)) is not None]
    cards = tuple(MemoryLevel(card.total, card.free, card.ours_bytes) for card in found)
    return MemoryReading(level, sum_of(cards), cards)


async def poll_memory(
    gpus: Sequence[Gpu], engine_pid: Callable[[], int | None], show: Callable[[MemoryReading], None]
) -> None:
    """Until cancelled: read in a thread, show, wait a second; then give the driver's handle back."""
    watchers = [VramWatcher(gpu) for gpu in gpus]
    try:
        while True:
            show(await asyncio.to_thread(read_memory, watchers, engine_pid()))
            await asyncio.sleep(INTERVAL_S)
    finally:
        for watcher in watchers:
            watcher.release()
