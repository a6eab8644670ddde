"""The choice of the GPU from two lists that do not always agree."""

from __future__ import annotations

from dataclasses import replace

from clover_gui.engine.protocol import EngineDevice, EngineInfo
from clover_gui.explain import device_use_text
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor
from clover_gui.pipeline.gpu_choice import (
    GPU_NOT_SEEN,
    GPU_UNUSABLE,
    SOFTWARE_GPU,
    DeviceUse,
    GpuChoice,
    choose_gpu,
    judge_devices,
)

GB = 1 << 30
CARD = Gpu("NVIDIA GeForce RTX 4070", "NVIDIA", DeviceKind.DISCRETE, 12 * GB, 11 * GB)
INSIDE = Gpu("Intel UHD Graphics 770", "Intel", DeviceKind.INTEGRATED)
CPU = EngineDevice("CPU", "AMD EPYC", "CPU", "cpu", 20 * GB, 24 * GB)


def machine(*gpus: Gpu) -> Machine:
    return Machine("Linux", Processor("x", "x86_64", 4, 8), Memory(24 * GB, 20 * GB), None, gpus)


def engine(*devices: EngineDevice, offload: bool = True) -> EngineInfo:
    return EngineInfo(1, "0.3.36", offload, (*devices, CPU), {})


def device(name: str, description: str, kind: str = "gpu", total: int = 12 * GB) -> EngineDevice:
    return EngineDevice(name, description, name.rstrip("0123456789"), kind, total - GB // 2, total)


def test_no_gpu_anywhere_is_no_reason_for_a_warning() -> None:
    assert choose_gpu(machine(), engine(offload=False)) == GpuChoice(None)


def test_a_gpu_that_this_build_cannot_use() -> None:
    assert choose_gpu(machine(CARD), engine(offload=False)) == GpuChoice(None, (GPU_UNUSABLE,))
    assert choose_gpu(machine(CARD), engine()) == GpuChoice(None, (GPU_NOT_SEEN,))
    assert choose_gpu(machine(INSIDE), engine(offload=False)) == GpuChoice(None)


def test_the_drivers_figures_are_taken_for_the_engines_device() -> None:
    choice = choose_gpu(machine(CARD), engine(device("CUDA0", "NVIDIA GeForce RTX 4070")))
    named = replace(CARD, engine_name="CUDA0")
    assert choice == GpuChoice(named, (), (named,))


def test_a_card_is_preferred_to_a_larger_integrated_device() -> None:
    devices = engine(
        device("Vulkan0", "Intel(R) UHD Graphics 770", "igpu", 16 * GB),
        device("Vulkan1", "NVIDIA GeForce RTX 4070", "gpu", 12 * GB),
    )
    named = replace(CARD, engine_name="Vulkan1")
    assert choose_gpu(machine(INSIDE, CARD), devices).gpu == named
    assert choose_gpu(machine(CARD, INSIDE), devices).gpu == named


def test_the_larger_of_two_cards() -> None:
    small = Gpu("NVIDIA GeForce GTX 1650", "NVIDIA", DeviceKind.DISCRETE, 4 * GB, 4 * GB)
    devices = engine(
        device("CUDA0", "NVIDIA GeForce GTX 1650", total=4 * GB), device("CUDA1", "NVIDIA GeForce RTX 4070")
    )
    assert choose_gpu(machine(small, CARD), devices).gpu == replace(CARD, engine_name="CUDA1")


def test_a_device_that_no_driver_told_of_is_described_by_the_engine() -> None:
    choice = choose_gpu(machine(), engine(device("Vulkan0", "AMD Radeon RX 7900 XTX (RADV NAVI31)")))
    assert choice.gpu is not None
    assert (choice.gpu.vendor, choice.gpu.kind) == ("amd", DeviceKind.DISCRETE)
    assert choice.gpu.vram_total_bytes == 12 * GB


def test_missing_memory_figures_come_from_the_engine() -> None:
    silent = Gpu("Intel Arc A770", "Intel", DeviceKind.DISCRETE)
    choice = choose_gpu(machine(silent), engine(device("Vulkan0", "Intel(R) Arc(tm) A770 Graphics (DG2)")))
    assert choice.gpu is not None
    assert (choice.gpu.name, choice.gpu.vram_total_bytes) == ("Intel Arc A770", 12 * GB)
    assert choice.gpu.vram_free_bytes == 12 * GB - GB // 2


def test_a_software_device_is_not_a_gpu() -> None:
    software = device("Vulkan0", "llvmpipe (LLVM 15.0.6, 256 bits)", total=2 * GB)
    assert choose_gpu(machine(), engine(software)) == GpuChoice(None, (SOFTWARE_GPU,))
    assert choose_gpu(machine(CARD), engine(software)) == GpuChoice(None, (GPU_NOT_SEEN,))


def test_another_makers_card_is_not_taken_for_it() -> None:
    amd = Gpu("AMD Radeon RX 6800", "AMD", DeviceKind.DISCRETE, 12 * GB, GB)
    choice = choose_gpu(machine(amd), engine(device("CUDA0", "NVIDIA GeForce RTX 4070")))
    assert choice.gpu is not None
    assert choice.gpu.name == "NVIDIA GeForce RTX 4070"


def test_all_cards_are_used_and_twins_are_told_apart() -> None:
    twins = tuple(replace(CARD, bus_id=f"0000:0{n}:00.0", index=n, vram_free_bytes=n * GB) for n in (1, 2))
    info = engine(device("CUDA0", CARD.name), device("CUDA1", CARD.name), device("Vulkan0", "UHD", "igpu"))
    choice = choose_gpu(machine(*twins, INSIDE), info)
    assert [gpu.bus_id for gpu in choice.gpus] == ["0000:01:00.0", "0000:02:00.0"]
    assert [verdict.use for verdict in judge_devices(machine(*twins, INSIDE), info)] == [
        DeviceUse.USED,
        DeviceUse.USED,
        DeviceUse.SLOWER,
    ]


def test_every_device_has_a_verdict_and_a_sentence() -> None:
    bare = Gpu("NVIDIA card", "NVIDIA", DeviceKind.DISCRETE, source="pci", bus_id="0000:03:00.0")
    silent = Gpu("Intel Arc A770", "Intel", DeviceKind.DISCRETE)
    mute = EngineDevice("Vulkan0", "Intel(R) Arc(tm) A770 Graphics (DG2)", "Vulkan", "gpu", 0, 0)
    cases = (
        (bare, engine(), DeviceUse.NO_DRIVER),
        (CARD, engine(), DeviceUse.NOT_SEEN),
        (CARD, engine(offload=False), DeviceUse.NO_GPU_ENGINE),
        (silent, engine(mute), DeviceUse.SIZE_UNKNOWN),
        (CARD, None, DeviceUse.NOT_SEEN),
    )
    for gpu, info, use in cases:
        (verdict,) = judge_devices(machine(gpu), info)
        assert verdict.use is use
        assert device_use_text(use.value)
