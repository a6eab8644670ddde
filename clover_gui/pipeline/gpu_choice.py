"""Which GPUs will the engine use? The engine's own device list decides; the drivers' list adds the facts.

Pure: two lists in, one choice out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from clover_gui.engine.protocol import EngineDevice, EngineInfo
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine
from clover_gui.planning.plan import PROCESSOR_ONLY, FitPlan

GPU_UNUSABLE = "gpu-unusable"  # a GPU is there, and this engine build has no GPU support
GPU_LOST = "gpu-lost"  # the driver knows the card and cannot reach it any more, often after sleep
GPU_NOT_SEEN = "gpu-not-seen"  # the engine was built for GPUs and lists none of those that are there
GPU_DISAGREES = "gpu-memory-disagrees"  # driver and engine report different sizes; the lower one counts
SOFTWARE_GPU = "software-gpu"  # the only device of the engine is an emulation on the processor
GPU_CHOICE_MISSING = "chosen-gpu-missing"  # the device that was chosen by hand is not there: automatic

_SOFTWARE = ("llvmpipe", "lavapipe", "swiftshader", "softpipe", "basic render")
_VENDORS = ("nvidia", "amd", "intel", "apple")
_VENDOR_WORDS = {
    "geforce": "nvidia",
    "quadro": "nvidia",
    "tesla": "nvidia",
    "radeon": "amd",
    "radv": "amd",
    "arc": "intel",
    "iris": "intel",
    "uhd": "intel",
}
_RANK = {DeviceKind.DISCRETE: 2, DeviceKind.UNIFIED: 1, DeviceKind.INTEGRATED: 0}


# Two witnesses of one card: more apart than this and more than this share, and they do not agree.
_DISAGREE_BYTES, _DISAGREE_SHARE = 1 << 30, 0.1


@dataclass(frozen=True, slots=True)
class GpuChoice:
    """The GPU to plan with (None: the processor only) and words for what should be said about it.

    ``gpus`` are all that the engine will use, in its order; ``gpu`` is the best of them.
    """

    gpu: Gpu | None
    warnings: tuple[str, ...] = ()
    gpus: tuple[Gpu, ...] = ()


class DeviceUse(StrEnum):
    """What becomes of a device, and why."""

    USED = "used"
    NO_DRIVER = "no-driver"
    NOT_SEEN = "not-seen"  # the engine does not list it
    NO_GPU_ENGINE = "no-gpu-engine"  # the engine was built without GPUs
    SLOWER = "slower"  # graphics inside the processor, beside a card
    SIZE_UNKNOWN = "size-unknown"
    NOT_CHOSEN = "not-chosen"  # the person wants another one, or none
    LEFT_OUT = "left-out"  # the plan does better without it
    TOO_SMALL = "too-small"  # it cannot hold any useful part of the model


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """One device of the machine and whether it is used."""

    gpu: Gpu
    use: DeviceUse


def choose_gpu(machine: Machine, engine: EngineInfo, wish: str = "") -> GpuChoice:
    """What the engine will use: all its cards, else the graphics of the processor. A card always wins.

    Memory figures are the driver's where it tells them, else the engine's; where the two disagree, the
    lower one. A software device is never chosen. Warns when a GPU worth using is there and cannot be used.

    ``wish`` (``Wishes.graphics``) is a device to use alone, or PROCESSOR_ONLY. A device that is not there
    now is said, and the choice is made as without a wish.
    """
    if wish == PROCESSOR_ONLY:
        return GpuChoice(None)
    devices = [device for device in engine.devices if device.type in ("gpu", "igpu")]
    real = [device for device in devices if not _is_software(device)]
    if not real:
        warnings = _warnings(machine, engine, software=bool(devices))
        return GpuChoice(None, (*warnings, GPU_CHOICE_MISSING) if wish else warnings)
    candidates, warnings = _described(real, machine)
    if _lost(machine):
        warnings = (GPU_LOST, *warnings)
    wished = [gpu for gpu in candidates if wish and gpu_id(gpu) == wish]
    if wish and not wished:
        warnings = (GPU_CHOICE_MISSING, *warnings)
    best = max(wished or candidates, key=_worth)
    used = tuple(gpu for gpu in wished or candidates if gpu.kind is best.kind)
    if best.kind is not DeviceKind.DISCRETE:
        used = (best,)
    return GpuChoice(best, warnings, used)


def usable_gpus(machine: Machine, engine: EngineInfo) -> tuple[Gpu, ...]:
    """Every device that the engine could use, in its order: those that a person can choose from."""
    devices = [device for device in engine.devices if device.type in ("gpu", "igpu")]
    return tuple(_described([device for device in devices if not _is_software(device)], machine)[0])


def gpu_id(gpu: Gpu) -> str:
    """What a choice by hand is kept by: the same from one start to the next, and another one where another
    card sits in the same place. Twins whose places nobody tells share it."""
    return f"{gpu.bus_id} {gpu.name}".strip()


def name_of_id(wish: str) -> str:
    """The name in a ``gpu_id``, for a device that is not there."""
    place, _, name = wish.partition(" ")
    return name if ":" in place and name else wish


def judge_devices(
    machine: Machine, engine: EngineInfo | None, wish: str = "", plan: FitPlan | None = None
) -> tuple[DeviceVerdict, ...]:
    """Every device that was found, the used ones first, each with the reason. ``engine`` None: none yet.
    A device that only the engine lists comes as well, if it could be used. ``wish`` as for ``choose_gpu``;
    ``plan`` tells which of the chosen devices get a part of the model."""
    choice = choose_gpu(machine, engine, wish) if engine is not None else GpuChoice(None)
    used = {_key(gpu): gpu for gpu in choice.gpus}
    usable = usable_gpus(machine, engine) if engine is not None and wish else ()
    could = {_key(gpu) for gpu in usable}
    verdicts = [
        DeviceVerdict(gpu, _use(gpu, plan) if _key(gpu) in used else DeviceUse.NOT_CHOSEN)
        for gpu in usable or choice.gpus
        if gpu.source.startswith("engine:")
    ]
    for gpu in machine.gpus:
        chosen = used.get(_key(gpu))
        if chosen is not None:
            use = _use(chosen, plan)
        elif _key(gpu) in could:
            use = DeviceUse.NOT_CHOSEN
        elif gpu.source == "pci":
            use = DeviceUse.NO_DRIVER
        elif choice.gpu is not None and _RANK[gpu.kind] < _RANK[choice.gpu.kind]:
            use = DeviceUse.SLOWER
        elif engine is not None and not engine.gpu_offload:
            use = DeviceUse.NO_GPU_ENGINE
        else:
            use = DeviceUse.NOT_SEEN
        verdicts.append(DeviceVerdict(gpu, use))
    return tuple(sorted(verdicts, key=lambda verdict: verdict.use is not DeviceUse.USED))


def _use(gpu: Gpu, plan: FitPlan | None) -> DeviceUse:
    """What becomes of a device that was chosen."""
    if not _is_sized(gpu):
        return DeviceUse.SIZE_UNKNOWN
    if plan is None or any((s.name, s.bus_id) == (gpu.name, gpu.bus_id) for s in plan.devices):
        return DeviceUse.USED
    return DeviceUse.LEFT_OUT if plan.devices else DeviceUse.TOO_SMALL


def _is_sized(gpu: Gpu) -> bool:
    return gpu.vram_free_bytes is not None or gpu.shared_free_bytes is not None


def missed_gpu(machine: Machine) -> Gpu | None:
    """The best device whose loss would matter: not an integrated one without memory of its own."""
    worth = [gpu for gpu in machine.gpus if gpu.kind is not DeviceKind.INTEGRATED]
    return max(worth, key=_worth, default=None)


def _warnings(machine: Machine, engine: EngineInfo, *, software: bool) -> tuple[str, ...]:
    if _lost(machine):
        return (GPU_LOST,)
    if missed_gpu(machine) is not None:
        return (GPU_NOT_SEEN if engine.gpu_offload else GPU_UNUSABLE,)
    return (SOFTWARE_GPU,) if software else ()


def _lost(machine: Machine) -> bool:
    return any(note.kind == "device-lost" for note in machine.notes)


def _is_software(device: EngineDevice) -> bool:
    words = f"{device.name} {device.description}".lower()
    return any(name in words for name in _SOFTWARE)


def _described(devices: list[EngineDevice], machine: Machine) -> tuple[list[Gpu], tuple[str, ...]]:
    """The engine's devices with what the drivers know of them; each driver's device is taken once."""
    left = list(machine.gpus)
    found: list[Gpu] = []
    disagree = False
    for device in devices:
        probed = max(left, key=lambda gpu: _likeness(device, gpu), default=None)
        if probed is None or _likeness(device, probed) <= 0:
            found.append(_from_engine(device))
            continue
        left.remove(probed)
        counted = None if probed.vram_is_minimum else probed.vram_total_bytes
        total, total_differs = _lower(counted, device.memory_total_bytes)
        total = total or probed.vram_total_bytes
        free, free_differs = _lower(probed.vram_free_bytes, device.memory_free_bytes)
        if probed.kind is not DeviceKind.DISCRETE:  # they share the RAM: each counts it in its own way
            total, free = probed.vram_total_bytes or total, probed.vram_free_bytes or free
        else:
            disagree = disagree or total_differs or free_differs
        if free is not None and total is not None:
            free = min(free, total)
        found.append(replace(probed, vram_total_bytes=total, vram_free_bytes=free, engine_name=device.name))
    return found, (GPU_DISAGREES,) if disagree else ()


def _lower(driver: int | None, engine: int) -> tuple[int | None, bool]:
    """The driver's figure; the engine's where the driver has none or says much more."""
    if driver is None:
        return engine or None, False
    if engine and driver - engine > max(_DISAGREE_BYTES, _DISAGREE_SHARE * driver):
        return engine, True
    return driver, False


def _from_engine(device: EngineDevice) -> Gpu:
    return Gpu(
        name=device.description or device.name,
        vendor=_vendor(device.description) or device.backend,
        kind=DeviceKind.INTEGRATED if device.type == "igpu" else DeviceKind.DISCRETE,
        vram_total_bytes=device.memory_total_bytes or None,
        vram_free_bytes=device.memory_free_bytes or None,
        source=f"engine:{device.backend}",
        engine_name=device.name,
    )


def _worth(gpu: Gpu) -> tuple[int, int]:
    return _RANK[gpu.kind], gpu.vram_total_bytes or 0


def _key(gpu: Gpu) -> tuple[str, str, int]:
    return gpu.name, gpu.bus_id, gpu.index


def _likeness(device: EngineDevice, gpu: Gpu) -> float:
    """How surely both are the same device; 0 when they cannot be."""
    theirs, ours = _vendor(device.description), _vendor(f"{gpu.vendor} {gpu.name}")
    if theirs and ours and theirs != ours:
        return 0.0
    score = 1.0 if theirs and theirs == ours else 0.0
    if device.description.lower() == gpu.name.lower():
        score += 4.0
    score += len(_words(device.description) & _words(gpu.name))
    total, known = device.memory_total_bytes, gpu.vram_total_bytes
    if total and known and abs(total - known) < 0.1 * max(total, known):
        score += 2.0
    return score


def _words(name: str) -> set[str]:
    """Words that tell devices apart: "rtx", "4090"; not the vendor."""
    return set(re.findall(r"[a-z0-9]+", name.lower())) - {
        *_VENDORS,
        "corporation",
        "graphics",
        "gpu",
        "r",
        "tm",
    }


def _vendor(text: str) -> str:
    words: list[str] = re.findall(r"[a-z]+", text.lower())
    for word in words:
        if word in _VENDORS:
            return word
        if word in _VENDOR_WORDS:
            return _VENDOR_WORDS[word]
    return "amd" if "advanced micro devices" in text.lower() else ""
