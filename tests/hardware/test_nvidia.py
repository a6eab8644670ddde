"""NVIDIA devices by a scripted driver: what is found, what is said when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_gui.hardware.machine import DeviceKind, Memory
from clover_gui.hardware.nvidia import (
    Nvml,
    driver_may_be_present,
    load_pynvml,
    probe_nvidia,
    read_vram_use,
)
from tests.hardware.fake_nvml import GIB, FakeDevice, FakeNvml, FakeProcess
from tests.hardware.sysfs import add_driver_library

MEMORY = Memory(32 * GIB, 20 * GIB)


def probe(root: Path, nvml: FakeNvml) -> tuple[list, list]:
    add_driver_library(root)
    gpus, notes = probe_nvidia(MEMORY, root, "linux", lambda _root: nvml)
    return list(gpus), list(notes)


def test_one_card(tmp_path: Path) -> None:
    nvml = FakeNvml(FakeDevice())
    gpus, notes = probe(tmp_path, nvml)
    assert notes == []
    (gpu,) = gpus
    assert (gpu.name, gpu.vendor, gpu.kind) == ("NVIDIA GeForce RTX 4090", "NVIDIA", DeviceKind.DISCRETE)
    assert (gpu.vram_total_bytes, gpu.vram_free_bytes) == (24 * GIB, 23 * GIB)
    assert (gpu.driver, gpu.compute_capability, gpu.bus_id) == ("580.65.06", "8.9", "0000:01:00.0")
    assert nvml.open == 0, "no handle is kept after probing"


def test_two_cards_keep_their_order_and_bytes_names(tmp_path: Path) -> None:
    gpus, _ = probe(
        tmp_path, FakeNvml(FakeDevice(b"NVIDIA A"), FakeDevice("NVIDIA B", bus="00000000:02:00.0"))
    )
    assert [(gpu.index, gpu.name, gpu.bus_id) for gpu in gpus] == [
        (0, "NVIDIA A", "0000:01:00.0"),
        (1, "NVIDIA B", "0000:02:00.0"),
    ]


def test_memory_not_available_means_shared_with_ram(tmp_path: Path) -> None:
    """Parts like GB10 answer "not supported": they stay in the list, and the RAM is their pool."""
    gpus, notes = probe(tmp_path, FakeNvml(FakeDevice("NVIDIA GB10", memory_error=3)))
    assert notes == []
    assert gpus[0].kind is DeviceKind.UNIFIED
    assert (gpus[0].vram_total_bytes, gpus[0].vram_free_bytes) == (32 * GIB, 20 * GIB)


def test_a_lost_card_is_named_and_the_others_stay(tmp_path: Path) -> None:
    gpus, notes = probe(tmp_path, FakeNvml(FakeDevice(error=15), FakeDevice("NVIDIA B")))
    assert [gpu.name for gpu in gpus] == ["NVIDIA B"]
    assert [(note.kind, note.reason) for note in notes] == [("device-lost", "device 0: code 15")]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (9, "no-driver"),
        (12, "library-missing"),
        (4, "permission"),
        (18, "driver-error"),
        (999, "driver-error"),
    ],
)
def test_a_driver_that_does_not_start_gives_a_reason(tmp_path: Path, code: int, kind: str) -> None:
    gpus, notes = probe(tmp_path, FakeNvml(init_error=code))
    assert gpus == []
    assert [note.kind for note in notes] == [kind]


def test_a_driver_without_devices_says_so(tmp_path: Path) -> None:
    gpus, notes = probe(tmp_path, FakeNvml())
    assert gpus == []
    assert "lists no device" in notes[0].reason


def test_without_a_driver_on_the_disk_pynvml_is_not_loaded(tmp_path: Path) -> None:
    def load(_root: Path) -> Nvml:
        raise AssertionError("loaded")

    gpus, notes = probe_nvidia(MEMORY, tmp_path, "linux", load)
    assert gpus == ()
    assert [note.kind for note in notes] == ["no-driver"]


def test_missing_binding_gives_a_reason(tmp_path: Path) -> None:
    def load(_root: Path) -> Nvml:
        raise ImportError("No module named 'pynvml'")

    add_driver_library(tmp_path)
    _, notes = probe_nvidia(MEMORY, tmp_path, "linux", load)
    assert [note.kind for note in notes] == ["library-missing"]


def test_the_folder_of_wsl_counts(tmp_path: Path) -> None:
    assert not driver_may_be_present(tmp_path, "linux")
    add_driver_library(tmp_path, "usr/lib/wsl/lib")
    assert driver_may_be_present(tmp_path, "linux")


def test_windows_looks_for_the_library_of_the_driver(tmp_path: Path) -> None:
    assert not driver_may_be_present(tmp_path, "win32")
    (tmp_path / "Windows/System32").mkdir(parents=True)
    (tmp_path / "Windows/System32/nvml.dll").touch()
    assert driver_may_be_present(tmp_path, "win32")
    assert not driver_may_be_present(tmp_path, "darwin")


def test_a_hostile_name_is_capped(tmp_path: Path) -> None:
    gpus, _ = probe(tmp_path, FakeNvml(FakeDevice("N\n" * 5000)))
    assert len(gpus[0].name) <= 80
    assert "\n" not in gpus[0].name


def test_own_and_other_processes_are_told_apart() -> None:
    device = FakeDevice(
        used=9 * GIB,
        compute=[FakeProcess(10, 5 * GIB), FakeProcess(11, 1 * GIB)],
        graphics=[FakeProcess(10, 5 * GIB), FakeProcess(12, 2 * GIB)],
    )
    use = read_vram_use(FakeNvml(device), 0, [10, 12])
    assert (use.total, use.used, use.free, use.ours) == (24 * GIB, 9 * GIB, 15 * GIB, 7 * GIB)


@pytest.mark.parametrize(
    "device",
    [
        FakeDevice(compute=[FakeProcess(10, None)]),  # Windows
        FakeDevice(compute=[FakeProcess(77, GIB)]),  # a container: other process numbers
        FakeDevice(process_error=4),
    ],
)
def test_unknown_own_use_is_not_zero(device: FakeDevice) -> None:
    assert read_vram_use(FakeNvml(device), 0, [10]).ours is None
    assert read_vram_use(FakeNvml(device), 0, []).ours == 0


def test_the_real_binding_has_all_that_is_used(tmp_path: Path) -> None:
    """With the real pynvml: either devices or a reason, and every function of the stand-in exists there."""
    nvml = load_pynvml(tmp_path)
    assert all(hasattr(nvml, name) for name in vars(Nvml) if name.startswith("nvml"))
    add_driver_library(tmp_path)
    gpus, notes = probe_nvidia(MEMORY, tmp_path, "linux")
    assert gpus or notes[0].kind in ("library-missing", "no-driver", "driver-error")


def test_whether_a_screen_hangs_on_it(tmp_path: Path) -> None:
    nvml = FakeNvml(FakeDevice(), FakeDevice(display=0, bus="00000000:02:00.0"))
    gpus, _ = probe(tmp_path, nvml)
    assert [gpu.drives_display for gpu in gpus] == [True, False]
