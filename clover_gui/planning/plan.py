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
    """What the person set by hand; None means: choose for me. ``reserve_bytes`` is kept free on the GPU.

    ``batch`` is the number of prompt tokens that are computed at once.
    """

    context: int | None = None
    kv_type: KvType | None = None
    gpu_layers: int | None = None
    cpu_expert_layers: int | None = None
    threads: int | None = None
    reserve_bytes: int = 1 << 30
    batch: int = 512


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
    ``gpu_available_bytes`` is what is free there now, ``reserve_bytes`` how much of that stays free;
    ``gpu.total + reserve_bytes`` is never above it. ``gpu`` is all zero without a usable GPU.

    ``warnings`` are words: "gpu-unusable" (a device is there, but the engine cannot use it or its size is
    unknown), "context-limited" (more was asked than the model was trained for), "context-reduced",
    "kv-quantised", "experts-in-ram", "partly-on-gpu", "not-on-gpu" (too small for any useful part),
    "ram-tight" (little will be left for other programs).
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
    batch: int = 512
    reserve_bytes: int = 0
    warnings: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """No placement fits: what the smallest one needs and what there is. ``where`` is "gpu" or "ram".

    ``suggestions`` are words, the best first: "smaller-context", "kv-q8_0", "more-experts-in-ram",
    "fewer-gpu-layers", "smaller-reserve", "close-programs", "smaller-model".
    """

    where: str
    needed_bytes: int
    available_bytes: int
    suggestions: tuple[str, ...] = ()
