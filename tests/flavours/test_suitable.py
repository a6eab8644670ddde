"""Which engines a machine could use, and what stands in the way of others."""

from __future__ import annotations

import pytest

from clover_gui.flavours.suitable import Why, obstacles, suggestions
from clover_gui.hardware.backends import Backends
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor

NVIDIA = Gpu("GeForce X", "NVIDIA", DeviceKind.DISCRETE, 1, 1, "550.54", "8.6", "nvml")
AMD = Gpu("Radeon Y", "AMD", DeviceKind.DISCRETE, 1, 1, "amdgpu", source="sysfs")


def machine(*gpus: Gpu) -> Machine:
    return Machine("Linux", Processor("Chip", "x86_64", 4, 8), Memory(1 << 34, 1 << 33), None, gpus)


@pytest.mark.parametrize(
    ("capability", "cuda", "sets"),
    [
        ("8.6", (12, 4), ["cu124", "cu123"]),
        ("8.6", (13, 1), ["cu130", "cu125"]),
        ("6.1", (13, 1), ["cu125", "cu124"]),  # CUDA 13 leaves out cards before Turing
        ("8.6", (11, 8), ["cu118"]),
        ("8.6", (11, 4), []),
    ],
)
def test_the_drivers_cuda_version_decides(capability: str, cuda: tuple[int, int], sets: list[str]) -> None:
    card = Gpu("X", "NVIDIA", DeviceKind.DISCRETE, 1, 1, "550", capability, "nvml")
    found = suggestions(machine(card), Backends(cuda=cuda))
    assert [one.set_name for one in found if one.backend == "cuda"] == sets
    assert found[-1].set_name == "cpu"


def test_the_best_comes_first_and_says_why() -> None:
    found = suggestions(machine(NVIDIA, AMD), Backends(cuda=(12, 4), vulkan=True))
    assert [one.set_name for one in found] == ["cu124", "cu123", "vulkan", "cpu"]
    assert (found[0].why, found[0].device, found[0].driver, found[0].cuda) == (
        Why.NVIDIA,
        "GeForce X",
        "550.54",
        "12.4",
    )
    assert found[2].device == "Radeon Y"


def test_a_mac_needs_one_engine_only() -> None:
    apple = Gpu("Apple M3", "Apple", DeviceKind.UNIFIED, source="metal")
    assert [one.set_name for one in suggestions(machine(apple), Backends(metal=True))] == ["metal"]


def test_what_stands_in_the_way() -> None:
    asleep = Gpu("GeForce Z", "NVIDIA", DeviceKind.DISCRETE, source="pci")
    found = obstacles(machine(asleep, AMD), Backends())
    assert [(one.why, one.device) for one in found] == [
        (Why.NVIDIA_NO_DRIVER, "GeForce Z"),
        (Why.VULKAN_NO_LOADER, "Radeon Y"),
    ]
    assert obstacles(machine(NVIDIA), Backends(cuda=(11, 0)))[0].why is Why.NVIDIA_DRIVER_OLD
    assert not [one for one in suggestions(machine(asleep, AMD), Backends()) if one.backend != "cpu"]
