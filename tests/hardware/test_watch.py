"""Live readings: ours against others, a sleeping card left alone, a lost one survived."""

from __future__ import annotations

import os
from pathlib import Path

from clover_gui.hardware.amd import AMD
from clover_gui.hardware.machine import DeviceKind, Gpu
from clover_gui.hardware.watch import VramReading, VramWatcher, read_ram, read_vram
from tests.hardware.fake_nvml import GIB, FakeDevice, FakeNvml, FakeProcess
from tests.hardware.sysfs import add_card, amd_files

BUS = "0000:01:00.0"
RTX = Gpu("RTX", "NVIDIA", DeviceKind.DISCRETE, 24 * GIB, 23 * GIB, source="nvml", bus_id=BUS)


def test_ram_of_this_process() -> None:
    reading = read_ram([os.getpid(), os.getpid()])
    assert 0 < reading.available <= reading.total
    assert 0 < reading.ours_mapped_bytes < reading.ours_bytes < reading.total
    assert read_ram([os.getpid()]).ours_bytes < 2 * reading.ours_bytes, "a process counts once"


def test_processes_that_have_ended_count_as_nothing() -> None:
    assert read_ram([2**22 - 7, -1]).ours_bytes == 0


def test_vram_of_an_nvidia_card(tmp_path: Path) -> None:
    nvml = FakeNvml(FakeDevice(used=16 * GIB, compute=[FakeProcess(5, 15 * GIB)]))
    watcher = VramWatcher(RTX, tmp_path, lambda _root: nvml)
    assert watcher.read([5]) == VramReading(24 * GIB, 16 * GIB, 8 * GIB, 15 * GIB)
    assert watcher.read([5]) is not None
    assert nvml.calls.count("init") == 1, "one handle while it is used"
    watcher.release()
    watcher.release()
    assert nvml.open == 0


def test_a_sleeping_card_is_not_asked(tmp_path: Path) -> None:
    add_card(tmp_path, BUS, 0x10DE, 1, files={"power/runtime_status": "suspended\n"})
    nvml = FakeNvml(FakeDevice())
    watcher = VramWatcher(RTX, tmp_path, lambda _root: nvml)
    assert [watcher.read([1]) for _ in range(60)] == [None] * 60
    assert nvml.calls == []


def test_a_lost_card_reads_as_nothing_and_comes_back(tmp_path: Path) -> None:
    device = FakeDevice()
    nvml = FakeNvml(device)
    watcher = VramWatcher(RTX, tmp_path, lambda _root: nvml)
    assert watcher.read() is not None
    device.error = 15
    assert watcher.read() is None
    assert nvml.open == 0
    device.error = 0
    assert watcher.read() is not None


def test_a_missing_driver_reads_as_nothing(tmp_path: Path) -> None:
    def load(_root: Path) -> FakeNvml:
        raise ImportError("no pynvml")

    assert VramWatcher(RTX, tmp_path, load).read() is None


def test_vram_of_an_amd_card(tmp_path: Path) -> None:
    add_card(
        tmp_path, BUS, AMD, 1, driver="amdgpu", files=amd_files(8 * GIB, 3 * GIB, 4 * GIB, metrics_format=1)
    )
    gpu = Gpu("RX", "AMD", DeviceKind.DISCRETE, source="sysfs", bus_id=BUS)
    assert VramWatcher(gpu, tmp_path).read() == VramReading(8 * GIB, 3 * GIB, 5 * GIB, None)


def test_devices_without_memory_of_their_own() -> None:
    assert read_vram(None) is None
    assert read_vram(Gpu("GB10", "NVIDIA", DeviceKind.UNIFIED, source="nvml")) is None
    assert read_vram(Gpu("UHD", "Intel", DeviceKind.INTEGRATED, source="sysfs")) is None
