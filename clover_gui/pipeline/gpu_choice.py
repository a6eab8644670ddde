"""Which GPU will the engine use? The engine's own device list decides; the drivers' list adds the facts.

Pure: two lists in, one choice out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from clover_gui.engine.protocol import EngineDevice, EngineInfo
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine

GPU_UNUSABLE = "gpu-unusable"  # a GPU is there, and this engine build has no GPU support
GPU_NOT_SEEN = "gpu-not-seen"  # the engine was built for GPUs and lists none of those that are there
SOFTWARE_GPU = "software-gpu"  # the only device of the engine is an emulation on the processor

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


@dataclass(frozen=True, slots=True)
class GpuChoice:
    """The GPU to plan with (None: the processor only) and words for what should be said about it."""

    gpu: Gpu | None
    warnings: tuple[str, ...] = ()


def choose_gpu(machine: Machine, engine: EngineInfo) -> GpuChoice:
    """The best GPU that the engine lists: discrete before unified before integrated, then the larger one.

    Memory figures are the driver's where it tells them, else the engine's. A software device is never
    chosen. Warns when a GPU worth using is there and cannot be used.
    """
    devices = [device for device in engine.devices if device.type in ("gpu", "igpu")]
    real = [device for device in devices if not _is_software(device)]
    if not real:
        return GpuChoice(None, _warnings(machine, engine, software=bool(devices)))
    candidates = [_described(device, machine) for device in real]
    best = max(candidates, key=lambda gpu: (_RANK[gpu.kind], gpu.vram_total_bytes or 0))
    return GpuChoice(best)


def missed_gpu(machine: Machine) -> Gpu | None:
    """The best device whose loss would matter: not an integrated one without memory of its own."""
    worth = [gpu for gpu in machine.gpus if gpu.kind is not DeviceKind.INTEGRATED]
    return max(worth, key=lambda gpu: (_RANK[gpu.kind], gpu.vram_total_bytes or 0), default=None)


def _warnings(machine: Machine, engine: EngineInfo, *, software: bool) -> tuple[str, ...]:
    if missed_gpu(machine) is not None:
        return (GPU_NOT_SEEN if engine.gpu_offload else GPU_UNUSABLE,)
    return (SOFTWARE_GPU,) if software else ()


def _is_software(device: EngineDevice) -> bool:
    words = f"{device.name} {device.description}".lower()
    return any(name in words for name in _SOFTWARE)


def _described(device: EngineDevice, machine: Machine) -> Gpu:
    """The engine's device with what the drivers know of it."""
    probed = max(machine.gpus, key=lambda gpu: _likeness(device, gpu), default=None)
    if probed is None or _likeness(device, probed) <= 0:
        return Gpu(
            name=device.description or device.name,
            vendor=_vendor(device.description) or device.backend,
            kind=DeviceKind.INTEGRATED if device.type == "igpu" else DeviceKind.DISCRETE,
            vram_total_bytes=device.memory_total_bytes or None,
            vram_free_bytes=device.memory_free_bytes or None,
            source=f"engine:{device.backend}",
        )
    return replace(
        probed,
        vram_total_bytes=probed.vram_total_bytes or device.memory_total_bytes or None,
        vram_free_bytes=(
            device.memory_free_bytes or None if probed.vram_free_bytes is None else probed.vram_free_bytes
        ),
    )


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
