"""NVIDIA devices through the driver's own library (NVML). The only importer of pynvml, and a late one.

Every function takes the pynvml module (or a stand-in of the tests) as an argument where it talks to the
driver. ``probe_nvidia`` never raises; the reading functions raise nothing but the module's ``NVMLError``.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from clover_gui.hardware.machine import DeviceKind, Gpu, Memory, ProbeNote
from clover_gui.i18n import capped

WSL_FOLDER = Path("usr/lib/wsl/lib")
_LIBRARY = "libnvidia-ml.so.1"
_LIBRARY_FOLDERS = (
    Path("usr/lib/x86_64-linux-gnu"),
    Path("usr/lib/aarch64-linux-gnu"),
    Path("usr/lib64"),
    Path("usr/lib"),
    Path("usr/lib/x86_64-linux-gnu/nvidia/current"),
    Path("usr/lib64/nvidia"),
    Path("usr/local/nvidia/lib64"),
    Path("run/opengl-driver/lib"),
    WSL_FOLDER,
)
_WINDOWS_LIBRARIES = (
    Path("Windows/System32/nvml.dll"),
    Path("Program Files/NVIDIA Corporation/NVSMI/nvml.dll"),
)

# Return codes of NVML (nvml.h).
_NOT_SUPPORTED, _NO_PERMISSION, _DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND = 3, 4, 9, 12
_GPU_IS_LOST, _VERSION_MISMATCH = 15, 18
_KINDS = {
    _NOT_SUPPORTED: "not-supported",
    _NO_PERMISSION: "permission",
    _DRIVER_NOT_LOADED: "no-driver",
    _LIBRARY_NOT_FOUND: "library-missing",
    _GPU_IS_LOST: "device-lost",
    _VERSION_MISMATCH: "driver-error",
}


class MemoryInfo(Protocol):
    """NVML's memory figures of one device, in bytes."""

    total: int
    used: int
    free: int


class RunningProcess(Protocol):
    """One process on a device; the size is None where the driver does not tell."""

    pid: int
    usedGpuMemory: int | None


class PciInfo(Protocol):
    busId: str | bytes


class Nvml(Protocol):
    """What this package uses of pynvml. Handles are opaque."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlSystemGetDriverVersion(self) -> str | bytes: ...
    def nvmlSystemGetCudaDriverVersion_v2(self) -> int: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> object: ...
    def nvmlDeviceGetName(self, handle: object, /) -> str | bytes: ...
    def nvmlDeviceGetMemoryInfo(self, handle: object, /) -> MemoryInfo: ...
    def nvmlDeviceGetPciInfo(self, handle: object, /) -> PciInfo: ...
    def nvmlDeviceGetCudaComputeCapability(self, handle: object, /) -> tuple[int, int]: ...
    def nvmlDeviceGetDisplayActive(self, handle: object, /) -> int: ...
    def nvmlDeviceGetComputeRunningProcesses(self, handle: object, /) -> Sequence[RunningProcess]: ...
    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: object, /) -> Sequence[RunningProcess]: ...


@dataclass(frozen=True, slots=True)
class VramUse:
    """Device memory now, in bytes. ``ours`` is None where the driver does not tell it per process."""

    total: int
    used: int
    free: int
    ours: int | None = None


def driver_may_be_present(root: Path = Path("/"), platform: str = sys.platform) -> bool:
    """A cheap look at the disk: is it worth loading the driver's library at all?"""
    if platform == "win32":
        return any((root / place).exists() for place in _WINDOWS_LIBRARIES)
    if platform == "darwin":
        return False
    if (root / "proc/driver/nvidia/version").exists() or (root / "dev/nvidiactl").exists():
        return True
    return any((root / folder / _LIBRARY).exists() for folder in _LIBRARY_FOLDERS)


def load_pynvml(root: Path = Path("/")) -> Nvml:
    """The pynvml module. Under WSL the library's folder may be on no search path: it is loaded from there.

    Raises:
        ImportError: nvidia-ml-py is not installed.
    """
    library = root / WSL_FOLDER / _LIBRARY
    if library.exists():
        try:
            ctypes.CDLL(str(library))  # pynvml then finds it by its name among the loaded ones
        except OSError:
            pass  # pynvml reports the reason itself
    import pynvml

    module: Nvml = pynvml
    return module


def probe_nvidia(
    memory: Memory,
    root: Path = Path("/"),
    platform: str = sys.platform,
    load: Callable[[Path], Nvml] = load_pynvml,
) -> tuple[tuple[Gpu, ...], tuple[ProbeNote, ...]]:
    """All NVIDIA devices that the driver lists, and why some or all are not there.

    ``memory`` is the pool of parts that share the RAM (their driver answers "not supported" for memory).
    """
    if not driver_may_be_present(root, platform):
        return (), (ProbeNote("nvidia", "no-driver", "no NVIDIA driver library on this system"),)
    try:
        nvml = load(root)
    except ImportError as error:
        return (), (ProbeNote("nvidia", "library-missing", f"nvidia-ml-py: {error}"),)
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return (), (_note(error, "nvmlInit"),)
    except OSError as error:
        return (), (ProbeNote("nvidia", "library-missing", str(error)),)
    try:
        return _read_all(nvml, memory)
    finally:
        shut_down(nvml)


def _read_all(nvml: Nvml, memory: Memory) -> tuple[tuple[Gpu, ...], tuple[ProbeNote, ...]]:
    gpus: list[Gpu] = []
    notes: list[ProbeNote] = []
    try:
        count = int(nvml.nvmlDeviceGetCount())
        driver = _text(nvml.nvmlSystemGetDriverVersion())
    except nvml.NVMLError as error:
        return (), (_note(error, "device list"),)
    for index in range(count):
        try:
            gpus.append(_read_one(nvml, index, driver, memory))
        except nvml.NVMLError as error:
            notes.append(_note(error, f"device {index}"))
    if count == 0:
        notes.append(ProbeNote("nvidia", "failed", "the driver is there but lists no device"))
    return tuple(gpus), tuple(notes)


def _read_one(nvml: Nvml, index: int, driver: str, memory: Memory) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    total: int | None
    free: int | None
    try:
        info = nvml.nvmlDeviceGetMemoryInfo(handle)
        kind, total, free = DeviceKind.DISCRETE, int(info.total), int(info.free)
    except nvml.NVMLError as error:
        if getattr(error, "value", None) != _NOT_SUPPORTED:
            raise
        # Parts like GB10 or Jetson have no memory of their own; the RAM is the pool.
        kind, total, free = DeviceKind.UNIFIED, memory.total_bytes, memory.available_bytes
    return Gpu(
        name=capped(_text(nvml.nvmlDeviceGetName(handle))) or "NVIDIA GPU",
        vendor="NVIDIA",
        kind=kind,
        vram_total_bytes=total,
        vram_free_bytes=free,
        driver=capped(driver),
        compute_capability=_capability(nvml, handle),
        source="nvml",
        index=index,
        bus_id=_bus_id(nvml, handle),
        drives_display=_drives_display(nvml, handle),
    )


def driver_cuda_version(
    root: Path = Path("/"),
    platform: str = sys.platform,
    load: Callable[[Path], Nvml] = load_pynvml,
) -> tuple[int, int] | None:
    """The newest CUDA version that the driver serves; None without a driver that works. Never raises."""
    if not driver_may_be_present(root, platform):
        return None
    try:
        nvml = load(root)
        nvml.nvmlInit()
    except Exception:  # why there is none is told by probe_nvidia
        return None
    try:
        number = int(nvml.nvmlSystemGetCudaDriverVersion_v2())  # 12040 for 12.4
        return number // 1000, number % 1000 // 10
    except nvml.NVMLError:
        return None
    finally:
        shut_down(nvml)


def read_vram_use(nvml: Nvml, index: int, pids: Collection[int]) -> VramUse:
    """Memory of one device now; ``nvmlInit`` has been called.

    Raises:
        NVMLError: the device is lost, or keeps no memory of its own.
    """
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    info = nvml.nvmlDeviceGetMemoryInfo(handle)
    return VramUse(int(info.total), int(info.used), int(info.free), used_by_processes(nvml, handle, pids))


def used_by_processes(nvml: Nvml, handle: object, pids: Collection[int]) -> int | None:
    """Bytes that these processes hold on the device, or None where the driver keeps that to itself.

    Windows lists processes without a size, and in a container the driver knows other process numbers:
    then none of ours is found, which is not the same as zero. A process in both lists counts once.
    """
    if not pids:
        return 0
    sizes: dict[int, int] = {}
    try:
        listed = [
            *nvml.nvmlDeviceGetComputeRunningProcesses(handle),
            *nvml.nvmlDeviceGetGraphicsRunningProcesses(handle),
        ]
    except nvml.NVMLError:
        return None
    for process in listed:
        if process.pid in pids:
            if process.usedGpuMemory is None:
                return None
            sizes[process.pid] = max(sizes.get(process.pid, 0), int(process.usedGpuMemory))
    return sum(sizes.values()) if sizes else None


def _capability(nvml: Nvml, handle: object) -> str:
    try:
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    except nvml.NVMLError:
        return ""
    return f"{major}.{minor}"


def _drives_display(nvml: Nvml, handle: object) -> bool | None:
    try:
        return bool(nvml.nvmlDeviceGetDisplayActive(handle))
    except nvml.NVMLError:
        return None


def _bus_id(nvml: Nvml, handle: object) -> str:
    """As sysfs writes it: NVML has eight digits of domain and capitals ("00000000:01:00.0")."""
    try:
        text = _text(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()
    except nvml.NVMLError:
        return ""
    domain, colon, rest = text.partition(":")
    return f"{domain[-4:]}:{rest}" if colon else text


def shut_down(nvml: Nvml) -> None:
    """Give the handle of ``nvmlInit`` back. Never raises."""
    try:
        nvml.nvmlShutdown()
    except nvml.NVMLError:
        pass  # the driver has gone in between; there is nothing to give back


def _note(error: Exception, step: str) -> ProbeNote:
    kind = _KINDS.get(getattr(error, "value", -1), "driver-error")
    return ProbeNote("nvidia", kind, capped(f"{step}: {error}", 200))


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
