"""The result of planning: where every part of the model goes, with the numbers that say why.

``make_plan`` in ``planner.py`` fills it; the setup page draws it; ``engine`` turns it into load settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Placement(StrEnum):
    """The three ways a model can be placed."""

    FULL_GPU = "full-gpu"
    EXPERTS_ON_CPU = "experts-on-cpu"
    PARTIAL_GPU = "partial-gpu"
    CPU_ONLY = "cpu-only"


class KvType(StrEnum):
    """Element type of the KV cache; the value is the engine's name."""

    F16 = "f16"
    Q8_0 = "q8_0"

    @property
    def bytes_per_value(self) -> float:
        """f16: 2; q8_0: 34 bytes for 32 values."""
        return 2.0 if self is KvType.F16 else 34 / 32


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the person set by hand; None means: choose for me. ``reserve_bytes`` is kept free on the GPU."""

    context: int | None = None
    kv_type: KvType | None = None
    gpu_layers: int | None = None
    cpu_expert_layers: int | None = None
    threads: int | None = None
    reserve_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Need:
    """Predicted bytes on one side (the GPU or the RAM), by part."""

    weights: int = 0
    kv: int = 0
    recurrent: int = 0
    compute: int = 0
    overhead: int = 0

    @property
    def total(self) -> int:
        return self.weights + self.kv + self.recurrent + self.compute + self.overhead


@dataclass(frozen=True, slots=True)
class FitPlan:
    """A placement that fits. Counts in layers and tokens, sizes in bytes.

    ``gpu_layers`` counts repeating layers plus one for the output, as the engine counts
    (-1 would be "all"; here always explicit); 0 on a machine without a usable GPU.
    ``cpu_expert_layers`` is the number of layers, from the first on, whose experts stay in RAM.
    """

    placement: Placement
    context: int
    kv_type: KvType
    gpu_layers: int
    cpu_expert_layers: int
    threads: int
    gpu: Need
    ram: Need
    gpu_available_bytes: int
    ram_available_bytes: int
    gpu_name: str = ""
    use_mmap: bool = True
    warnings: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """No placement fits: what the smallest one needs and what there is. ``where`` is "gpu" or "ram"."""

    where: str
    needed_bytes: int
    available_bytes: int
    suggestions: tuple[str, ...] = ()
