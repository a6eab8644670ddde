"""Which builds of the engine this machine could use, and why. Pure: facts in, suggestions out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clover_gui.flavours.published import PUBLISHED_CUDA
from clover_gui.hardware.backends import Backends
from clover_gui.hardware.machine import Gpu, Machine

# CUDA 13 leaves out the cards before Turing.
_CUDA_13_CAPABILITY = 7.5
_MOST_CUDA_SETS = 2


class Why(StrEnum):
    """The reason for a suggestion, or against a backend that somebody would expect."""

    NVIDIA = "nvidia"
    VULKAN = "vulkan"
    METAL = "metal"
    PROCESSOR = "processor"
    NVIDIA_NO_DRIVER = "nvidia-no-driver"
    NVIDIA_DRIVER_OLD = "nvidia-driver-old"
    VULKAN_NO_LOADER = "vulkan-no-loader"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A published set to install. ``device`` and ``driver`` name the card, ``cuda`` what the set needs."""

    set_name: str
    backend: str
    why: Why
    device: str = ""
    driver: str = ""
    cuda: str = ""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a card of this machine has no suggestion of its kind."""

    why: Why
    device: str
    driver: str = ""


def suggestions(machine: Machine, backends: Backends) -> tuple[Suggestion, ...]:
    """The sets that fit, the best first; the one for the processor alone comes last."""
    found: list[Suggestion] = []
    if backends.metal:
        device = next((gpu.name for gpu in machine.gpus), "")
        return (Suggestion("metal", "metal", Why.METAL, device),)
    found += _cuda(machine, backends)
    if backends.vulkan and (card := _vulkan_card(machine)) is not None:
        found.append(Suggestion("vulkan", "vulkan", Why.VULKAN, card.name, card.driver))
    return (*found, Suggestion("cpu", "cpu", Why.PROCESSOR, machine.processor.name))


def obstacles(machine: Machine, backends: Backends) -> tuple[Obstacle, ...]:
    """What stands in the way of cards that are there."""
    found = []
    for gpu in machine.gpus:
        if gpu.vendor == "NVIDIA" and backends.cuda is None:
            found.append(Obstacle(Why.NVIDIA_NO_DRIVER, gpu.name, gpu.driver))
        elif gpu.vendor == "NVIDIA" and not _cuda_sets(gpu, backends.cuda):
            found.append(Obstacle(Why.NVIDIA_DRIVER_OLD, gpu.name, gpu.driver))
        elif gpu.vendor in ("AMD", "Intel") and not backends.vulkan and not backends.metal:
            found.append(Obstacle(Why.VULKAN_NO_LOADER, gpu.name, gpu.driver))
    return tuple(found)


def _cuda(machine: Machine, backends: Backends) -> list[Suggestion]:
    cards = [gpu for gpu in machine.gpus if gpu.vendor == "NVIDIA" and gpu.source != "pci"]
    if not cards:
        return []
    # All cards are used together: the oldest of them decides.
    oldest = min(cards, key=lambda gpu: _capability(gpu) or 99.0)
    return [
        Suggestion(name, "cuda", Why.NVIDIA, oldest.name, oldest.driver, f"{version[0]}.{version[1]}")
        for name, version in _cuda_sets(oldest, backends.cuda)[:_MOST_CUDA_SETS]
    ]


def _cuda_sets(gpu: Gpu, driver: tuple[int, int] | None) -> list[tuple[str, tuple[int, int]]]:
    capability = _capability(gpu)
    return [
        (name, version)
        for name, version in PUBLISHED_CUDA
        if driver is not None
        and version <= driver
        and not (version >= (13, 0) and capability and capability < _CUDA_13_CAPABILITY)
    ]


def _capability(gpu: Gpu) -> float:
    try:
        return float(gpu.compute_capability)
    except ValueError:
        return 0.0


def _vulkan_card(machine: Machine) -> Gpu | None:
    """A card with a driver, AMD's and Intel's before NVIDIA's, which CUDA serves better."""
    cards = [gpu for gpu in machine.gpus if gpu.source != "pci" and gpu.vendor in ("AMD", "Intel", "NVIDIA")]
    return min(cards, key=lambda gpu: gpu.vendor == "NVIDIA", default=None)
