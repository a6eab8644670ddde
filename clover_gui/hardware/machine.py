"""What this machine is, as plain facts. No probing here, no advice, no text for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class DeviceKind(StrEnum):
    """How a graphics device keeps its memory."""

    DISCRETE = "discrete"
    INTEGRATED = "integrated"
    UNIFIED = "unified"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One graphics device as a driver reports it. Sizes in bytes; None where the driver does not tell.

    ``vram_*`` is the device's own memory; for a unified device it is the machine's RAM, which both sides
    use. ``shared_*`` is RAM that an integrated device may borrow beside its own: never part of ``vram_*``.
    ``vram_is_minimum``: the source cannot count further, there may be more. ``source`` is "nvml", "sysfs",
    "pci" (a card without a working driver), "metal" or "registry".

    ``drives_display``: a screen takes some of its memory, more at times; None where nobody tells.
    ``was_asleep``: it slept to save power when it was looked at (asking the driver wakes it).
    ``engine_name``: what the engine calls it ("CUDA0"); "" before the engine was asked, or where it does not
    list it.
    """

    name: str
    vendor: str
    kind: DeviceKind
    vram_total_bytes: int | None = None
    vram_free_bytes: int | None = None
    driver: str = ""
    compute_capability: str = ""
    source: str = ""
    index: int = 0
    bus_id: str = ""
    shared_total_bytes: int | None = None
    shared_free_bytes: int | None = None
    vram_is_minimum: bool = False
    drives_display: bool | None = None
    was_asleep: bool = False
    engine_name: str = ""


@dataclass(frozen=True, slots=True)
class Processor:
    """The main processor. ``features`` holds lower-case words such as "avx2"."""

    name: str
    architecture: str
    physical_cores: int
    logical_cores: int
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory. ``available_bytes`` is what programs can get without swapping.

    ``bandwidth`` is how fast all cores together read it, in bytes per second; 0 where it was not measured.
    """

    total_bytes: int
    available_bytes: int
    swap_total_bytes: int = 0
    swap_free_bytes: int = 0
    bandwidth: int = 0


@dataclass(frozen=True, slots=True)
class Disk:
    """The file system that holds ``path``."""

    path: str
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class ProbeNote:
    """Why a probe found nothing or only a part: ``probe`` is its short name, ``reason`` technical English.

    ``kind`` is a word that advice can be looked up by: "no-driver", "driver-error", "library-missing",
    "permission", "not-supported", "device-lost", "failed".
    """

    probe: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Everything that was found, and the reasons for what was not."""

    system: str
    processor: Processor
    memory: Memory
    disk: Disk | None
    gpus: tuple[Gpu, ...] = ()
    notes: tuple[ProbeNote, ...] = field(default=())

    @property
    def best_gpu(self) -> Gpu | None:
        """The device to prefer: discrete before unified before integrated, then the larger memory."""
        order = {DeviceKind.DISCRETE: 2, DeviceKind.UNIFIED: 1, DeviceKind.INTEGRATED: 0}
        return max(self.gpus, key=lambda gpu: (order[gpu.kind], gpu.vram_total_bytes or 0), default=None)
