"""What is free right now, with our own share given back."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from clover_gui.engine.protocol import BufferBytes, Loaded
from clover_gui.hardware.machine import DeviceKind, Memory
from clover_gui.hardware.watch import VramReading, VramWatcher
from clover_gui.pipeline.free_memory import FreeMemory, OwnUse
from tests.hardware.fake_nvml import FakeDevice, FakeNvml, FakeProcess
from tests.pipeline.scripted import CARD, GIB, machine

LOADED = Loaded(1, "m", 4096, 10, "file", True, 1.0, (BufferBytes("CUDA0", "CUDA0", False, 5 * GIB, GIB),))


def test_the_figures_of_this_moment_take_the_place_of_the_old_ones() -> None:
    here = machine(CARD, ram_gib=32)
    free = FreeMemory(
        lambda _gpu, _pids: VramReading(16 * GIB, 10 * GIB, 6 * GIB, 0), lambda: Memory(32 * GIB, 9 * GIB)
    )
    now, (gpu,), _ = free.now(here, (CARD,), OwnUse())
    assert gpu.vram_free_bytes == 6 * GIB
    assert now.memory.available_bytes == 9 * GIB


def test_a_driver_that_tells_our_part_gives_it_back() -> None:
    nvml = FakeNvml(FakeDevice(total=16 * GIB, used=14 * GIB, compute=[FakeProcess(77, 12 * GIB)]))

    def read(gpu: object, pids: object) -> VramReading | None:
        return VramWatcher(CARD, Path("/nowhere"), lambda _root: nvml).read([77])

    _, (gpu,), _ = FreeMemory(read, lambda: machine().memory).now(machine(CARD), (CARD,), OwnUse(77))
    assert gpu.vram_free_bytes == 14 * GIB


def test_where_the_driver_does_not_tell_the_engines_count_is_taken() -> None:
    free = FreeMemory(
        lambda _gpu, _pids: VramReading(16 * GIB, 14 * GIB, 2 * GIB, None), lambda: machine().memory
    )
    _, (gpu,), _ = free.now(machine(CARD), (CARD,), OwnUse(77, LOADED))
    assert gpu.vram_free_bytes == 8 * GIB


def test_what_cannot_be_read_keeps_its_figure() -> None:
    def fails() -> Memory:
        raise OSError("no /proc")

    here = machine(CARD)
    now, gpus, readings = FreeMemory(lambda _gpu, _pids: None, fails).now(here, (CARD,), OwnUse())
    assert (now, gpus, readings) == (here, (CARD,), (None,))


def test_a_device_that_shares_the_ram_follows_the_ram() -> None:
    unified = replace(CARD, kind=DeviceKind.UNIFIED, vram_total_bytes=24 * GIB, vram_free_bytes=20 * GIB)
    free = FreeMemory(lambda _gpu, _pids: None, lambda: Memory(32 * GIB, 7 * GIB))
    _, (gpu,), _ = free.now(machine(unified), (unified,), OwnUse())
    assert gpu.vram_free_bytes == 7 * GIB


def test_a_loaded_child_gives_its_ram_back() -> None:
    """This very process plays the child."""
    here = machine()
    free = FreeMemory(lambda _gpu, _pids: None, lambda: here.memory)
    now, _, _ = free.now(here, (), OwnUse(os.getpid(), LOADED))
    assert here.memory.available_bytes < now.memory.available_bytes <= here.memory.total_bytes
    again, _, _ = free.now(here, (), OwnUse(2**22 - 7, LOADED))
    assert again.memory.available_bytes == here.memory.available_bytes
