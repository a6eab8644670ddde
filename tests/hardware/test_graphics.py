"""Graphics devices from recorded file trees, registry records and Apple's tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from clover_gui.hardware import amd
from clover_gui.hardware.apple import apple_gpu
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor
from clover_gui.hardware.probe import probe_gpus
from clover_gui.hardware.windows import AdapterRecord, gpus_from_adapters, record_from_values
from tests.hardware.sysfs import GIB, add_card, amd_files

MEMORY = Memory(32 * GIB, 20 * GIB)
PCI_IDS = "1002  Advanced Micro Devices\n\t744c  Navi 31 [Radeon RX 7900 XT/7900 XTX]\n8086  Intel\n"


def test_amd_card(tmp_path: Path) -> None:
    add_card(
        tmp_path,
        "0000:03:00.0",
        amd.AMD,
        0x744C,
        driver="amdgpu",
        files=amd_files(24 * GIB, 2 * GIB, 16 * GIB, metrics_format=1),
    )
    (tmp_path / "usr/share/misc").mkdir(parents=True)
    (tmp_path / "usr/share/misc/pci.ids").write_text("# list\n" + PCI_IDS)
    (gpu,), _ = probe_gpus(MEMORY, tmp_path, "linux")
    assert gpu.name == "AMD Radeon RX 7900 XT/7900 XTX"
    assert (gpu.kind, gpu.driver, gpu.source) == (DeviceKind.DISCRETE, "amdgpu", "sysfs")
    assert (gpu.vram_total_bytes, gpu.vram_free_bytes) == (24 * GIB, 22 * GIB)
    assert gpu.shared_total_bytes is None, "shared memory of a card is not ours to count"


@pytest.mark.parametrize(
    ("vram", "metrics", "kind"),
    [
        (512 << 20, 2, DeviceKind.INTEGRATED),
        (96 * GIB, 3, DeviceKind.INTEGRATED),  # a large carve-out does not make it a card
        (512 << 20, None, DeviceKind.INTEGRATED),  # an old kernel: by size
        (8 * GIB, None, DeviceKind.DISCRETE),
    ],
)
def test_amd_processor_graphics_keep_own_and_shared_memory_apart(
    tmp_path: Path, vram: int, metrics: int | None, kind: DeviceKind
) -> None:
    add_card(
        tmp_path,
        "0000:c5:00.0",
        amd.AMD,
        0x1586,
        driver="amdgpu",
        files=amd_files(vram, 0, 15 * GIB, metrics_format=metrics),
    )
    (gpu,), _ = probe_gpus(MEMORY, tmp_path, "linux")
    assert gpu.kind is kind
    assert gpu.vram_total_bytes == vram
    if kind is DeviceKind.INTEGRATED:
        assert gpu.shared_total_bytes == 15 * GIB
        assert gpu.shared_free_bytes == 15 * GIB - 16777216


def test_intel_graphics_of_the_processor_have_no_memory_of_their_own(tmp_path: Path) -> None:
    add_card(tmp_path, "0000:00:02.0", amd.INTEL, 0x46A6, driver="i915")
    (gpu,), notes = probe_gpus(MEMORY, tmp_path, "linux")
    assert (gpu.kind, gpu.vram_total_bytes) == (DeviceKind.INTEGRATED, None)
    assert [note.probe for note in notes] == ["nvidia"]


def test_intel_card_size_by_its_memory_window(tmp_path: Path) -> None:
    lines = "0x00000000a0000000 0x00000000a0ffffff 0x0000000000140204\n"
    lines += "0x0000004000000000 0x00000043ffffffff 0x000000000014220c\n"
    add_card(tmp_path, "0000:03:00.0", amd.INTEL, 0x56A0, driver="xe", files={"resource": lines})
    (gpu,), _ = probe_gpus(MEMORY, tmp_path, "linux")
    assert (gpu.kind, gpu.vram_total_bytes, gpu.vram_is_minimum) == (DeviceKind.DISCRETE, 16 * GIB, True)


def test_a_card_without_driver_is_listed_with_the_reason(tmp_path: Path) -> None:
    add_card(tmp_path, "0000:01:00.0", amd.NVIDIA, 0x2684, driver="nouveau")
    add_card(tmp_path, "0000:02:00.0", amd.AMD, 0x744C)
    gpus, notes = probe_gpus(MEMORY, tmp_path, "linux")
    assert [(gpu.vendor, gpu.source, gpu.vram_total_bytes) for gpu in gpus] == [
        ("NVIDIA", "pci", None),
        ("AMD", "pci", None),
    ]
    reasons = [note.reason for note in notes if note.probe == "graphics"]
    assert "its driver is nouveau" in reasons[0]
    assert "no driver is loaded" in reasons[1]


def test_other_devices_are_no_graphics(tmp_path: Path) -> None:
    add_card(tmp_path, "0000:01:00.1", amd.NVIDIA, 0x22BA, display_class="0x040300")  # its sound part
    add_card(tmp_path, "0000:00:01.0", 0x1234, 0x1111)  # an emulated display
    gpus, _ = probe_gpus(MEMORY, tmp_path, "linux")
    assert gpus == ()


def test_a_tree_that_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    folder = add_card(
        tmp_path, "0000:03:00.0", amd.AMD, 1, driver="amdgpu", files={"mem_info_vram_total": "junk"}
    )
    (folder / "mem_info_vram_used").mkdir()
    (gpu,), _ = probe_gpus(MEMORY, tmp_path, "linux")
    assert gpu.vram_total_bytes is None
    assert probe_gpus(MEMORY, tmp_path / "nothing", "linux")[0] == ()


def test_a_card_wins_over_processor_graphics_with_more_shared_memory() -> None:
    integrated = Gpu("Intel", "Intel", DeviceKind.INTEGRATED, 16 * GIB, 16 * GIB)
    card = Gpu("RTX", "NVIDIA", DeviceKind.DISCRETE, 8 * GIB, 8 * GIB)
    machine = Machine("x", Processor("p", "x86_64", 4, 8), MEMORY, None, (integrated, card))
    assert machine.best_gpu is card


def test_windows_prefers_the_64_bit_size() -> None:
    full = record_from_values(
        {
            "DriverDesc": "NVIDIA GeForce RTX 3070",
            "MatchingDeviceId": "PCI\\VEN_10DE&DEV_2484",
            "HardwareInformation.qwMemorySize": 8 * GIB,
            "HardwareInformation.MemorySize": (4293918720).to_bytes(4, "little"),
        }
    )
    (gpu,) = gpus_from_adapters([full])
    assert (gpu.vram_total_bytes, gpu.vram_is_minimum) == (8 * GIB, False)


def test_windows_32_bit_size_near_4_gib_is_a_minimum() -> None:
    (gpu,) = gpus_from_adapters([AdapterRecord("RTX", "PCI\\VEN_10DE", memory_32_bytes=4293918720)])
    assert (gpu.vram_total_bytes, gpu.vram_is_minimum) == (4293918720, True)


def test_windows_kinds_and_virtual_displays() -> None:
    gpus = gpus_from_adapters(
        [
            AdapterRecord("Intel(R) UHD Graphics 630", "pci\\ven_8086&dev_3e92", memory_64_bytes=GIB),
            AdapterRecord("Intel(R) Arc A770 Graphics", "pci\\ven_8086&dev_56a0", memory_64_bytes=16 * GIB),
            AdapterRecord("Microsoft Remote Display Adapter", "terminput_bus\\umb"),
        ]
    )
    assert [gpu.kind for gpu in gpus] == [DeviceKind.INTEGRATED, DeviceKind.DISCRETE]


def test_apple_chip_shares_the_ram() -> None:
    def sysctl(key: str) -> str | int | None:
        return {"machdep.cpu.brand_string": "Apple M3 Max"}.get(key)

    gpu = apple_gpu(sysctl, "arm64", Memory(48 * GIB, 40 * GIB))
    assert gpu is not None
    assert (gpu.name, gpu.kind) == ("Apple M3 Max GPU", DeviceKind.UNIFIED)
    assert (gpu.vram_total_bytes, gpu.vram_free_bytes) == (36 * GIB, 36 * GIB)
    assert apple_gpu(sysctl, "x86_64", MEMORY) is None


def test_apple_limit_set_by_hand() -> None:
    gpu = apple_gpu(lambda key: 8192 if key == "iogpu.wired_limit_mb" else None, "arm64", MEMORY)
    assert gpu is not None
    assert gpu.vram_total_bytes == 8 * GIB


def test_screens_and_sleep_are_seen(tmp_path: Path) -> None:
    for bus, status, state in (
        ("0000:01:00.0", "connected", "active"),
        ("0000:02:00.0", "disconnected", "suspended"),
    ):
        files = amd_files(8 * GIB, GIB, 4 * GIB, metrics_format=1)
        files |= {f"drm/card{bus[6]}/card{bus[6]}-HDMI-A-1/status": f"{status}\n"}
        files |= {"power/runtime_status": f"{state}\n"}
        add_card(tmp_path, bus, amd.AMD, 0x744C, driver="amdgpu", files=files)
    gpus, _ = probe_gpus(MEMORY, tmp_path, "linux")
    assert [(gpu.drives_display, gpu.was_asleep) for gpu in gpus] == [(True, False), (False, True)]


def test_a_device_without_listed_outputs_tells_nothing_of_screens(tmp_path: Path) -> None:
    add_card(tmp_path, "0000:03:00.0", amd.INTEL, 0x56A0, driver="xe")
    (gpu,), _ = probe_gpus(MEMORY, tmp_path, "linux")
    assert gpu.drives_display is None
