"""The result of planning: where every part of the model goes, with the numbers that say why.

``make_plan`` in ``planner.py`` fills it; the setup page draws it; ``engine`` turns it into load settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

DEFAULT_BATCH = 512
# The working buffer grows with the batch, and no device gains by more than this.
LARGEST_BATCH = 2048
# ``Wishes.graphics`` of somebody who wants no graphics card to be used.
PROCESSOR_ONLY = "processor"


class Placement(StrEnum):
    """The ways in which a model can be placed."""

    FULL_GPU = "full-gpu"
    EXPERTS_ON_CPU = "experts-on-cpu"
    PARTIAL_GPU = "partial-gpu"
    CPU_ONLY = "cpu-only"


class KvType(StrEnum):
    """Element type of the KV cache; the value is the engine's name."""

    F16 = "f16"
    Q8_0 = "q8_0"
    Q4_0 = "q4_0"

    @property
    def bytes_per_value(self) -> float:
        """f16: 2; q8_0: 34 bytes for 32 values; q4_0: 18 for 32."""
        return {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}[self.value]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the person set by hand; None means: choose for me. ``reserve_bytes`` is kept free on each GPU.

    ``batch`` is the number of prompt tokens that are computed at once, at most LARGEST_BATCH. ``graphics``
    is the device to use alone (``pipeline.gpu_choice.gpu_id``), PROCESSOR_ONLY, or "" for the best choice.
    """

    context: int | None = None
    kv_type: KvType | None = None
    gpu_layers: int | None = None
    cpu_expert_layers: int | None = None
    threads: int | None = None
    reserve_bytes: int | None = None
    batch: int = DEFAULT_BATCH
    graphics: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """Predicted bytes on one side (a GPU or the RAM), by part. ``output`` holds the engine's results,
    ``copies`` the states of conversations that are kept beside the present one (only in RAM)."""

    weights: int = 0
    kv: int = 0
    recurrent: int = 0
    compute: int = 0
    overhead: int = 0
    output: int = 0
    copies: int = 0

    @property
    def total(self) -> int:
        return self.buffers + self.overhead + self.copies

    @property
    def buffers(self) -> int:
        """What the engine itself allocates."""
        return self.weights + self.kv + self.recurrent + self.compute + self.output

    def __add__(self, other: Need) -> Need:
        return Need(
            self.weights + other.weights,
            self.kv + other.kv,
            self.recurrent + other.recurrent,
            self.compute + other.compute,
            self.overhead + other.overhead,
            self.output + other.output,
            self.copies + other.copies,
        )


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """What one GPU gets. ``layers`` counts repeating layers plus one for the output, as the engine counts.

    ``available_bytes`` is what is free there now, of ``total_bytes`` (0: not told); ``name`` is the driver's,
    ``bus_id`` tells twins apart, ``engine_name`` is the engine's ("" where it was not asked). ``unified``: it
    has no memory but the RAM, so that its need comes on top of that of the RAM.
    """

    name: str
    layers: int
    need: Need
    available_bytes: int
    reserve_bytes: int = 0
    bus_id: str = ""
    driver: str = ""
    engine_name: str = ""
    total_bytes: int = 0
    unified: bool = False


@dataclass(frozen=True, slots=True)
class Speed:
    """Expected tokens per second while writing, and the band in which they should lie.

    ``measured``: this machine reached it with this very plan before; otherwise it is computed from bytes
    per token and memory bandwidths.
    """

    tokens_per_second: float
    low: float
    high: float
    measured: bool = False


@dataclass(frozen=True, slots=True)
class FitPlan:
    """A placement that fits. Counts in layers and tokens, sizes in bytes.

    ``gpu_layers`` counts repeating layers plus one for the output, as the engine counts
    (-1 would be "all"; here always explicit); 0 on a machine without a usable GPU.
    ``cpu_expert_layers`` is the number of layers, from the first on, whose experts stay in RAM.
    ``gpu`` is the sum over ``devices`` (all zero without a usable GPU), ``gpu_available_bytes`` what is
    free on them now, ``reserve_bytes`` how much of that stays free; on each device
    ``need.total + reserve_bytes`` is never above what is available. ``left_out`` are usable devices that
    are not used, because the others do better without them.

    ``ram.copies`` is also the bound for the engine's copies of states (``LoadSettings.checkpoint_bytes``).

    ``checked`` tells where the sizes come from: the formula, or the engine (its own dry run).

    ``warnings`` are words: "gpu-unusable" (a device is there, but the engine cannot use it or its size is
    unknown), "context-limited" (more was asked than the model was trained for), "context-reduced",
    "kv-quantised", "kv-full-only" (a compact form was asked for, which this model does not allow),
    "experts-in-ram", "partly-on-gpu", "not-on-gpu" (too small for any useful part), "ram-tight" (little
    will be left for other programs).
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
    batch: int = DEFAULT_BATCH
    reserve_bytes: int = 0
    warnings: tuple[str, ...] = field(default=())
    devices: tuple[DeviceShare, ...] = ()
    speed: Speed | None = None
    checked: str = "formula"
    ram_total_bytes: int = 0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """No placement fits: what the smallest one needs and what there is. ``where`` is "gpu" or "ram".

    ``suggestions`` are words, the best first: "smaller-context", "kv-q8_0", "more-experts-in-ram",
    "fewer-gpu-layers", "smaller-reserve", "close-programs", "smaller-model".

    ``fitting_context`` is the largest context with which all else as asked would fit, 0 if none would;
    ``fitting_file_bytes`` the largest file of this shape (a smaller quantization) that would fit.
    """

    where: str
    needed_bytes: int
    available_bytes: int
    suggestions: tuple[str, ...] = ()
    fitting_context: int = 0
    fitting_file_bytes: int = 0

    @property
    def missing_bytes(self) -> int:
        return max(0, self.needed_bytes - self.available_bytes)
