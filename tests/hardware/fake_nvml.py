"""A driver for tests: stands in for the pynvml module and does what a list of devices says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

GIB = 1 << 30


class FakeNvmlError(Exception):
    """Like pynvml's: an exception with NVML's return code as ``value``."""

    def __init__(self, value: int) -> None:
        super().__init__(f"code {value}")
        self.value = value


@dataclass
class FakeMemory:
    total: int
    used: int
    free: int


@dataclass
class FakeProcess:
    pid: int
    usedGpuMemory: int | None


@dataclass
class FakePci:
    busId: str | bytes


@dataclass
class FakeDevice:
    """One device. ``memory_error`` and ``error`` are return codes that its calls fail with."""

    name: str | bytes = "NVIDIA GeForce RTX 4090"
    total: int = 24 * GIB
    used: int = 1 * GIB
    bus: str | bytes = "00000000:01:00.0"
    memory_error: int = 0
    error: int = 0
    compute: list[FakeProcess] = field(default_factory=list)
    graphics: list[FakeProcess] = field(default_factory=list)
    process_error: int = 0
    display: int = 1


class FakeNvml:
    """The part of pynvml that the program uses. ``calls`` counts by name; ``open`` the open handles."""

    NVMLError = FakeNvmlError

    def __init__(self, *devices: FakeDevice, init_error: int = 0) -> None:
        self.devices = list(devices)
        self.init_error = init_error
        self.calls: list[str] = []
        self.open = 0

    def nvmlInit(self) -> None:
        self.calls.append("init")
        if self.init_error:
            raise FakeNvmlError(self.init_error)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.calls.append("shutdown")
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"580.65.06"

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return 13010

    def nvmlDeviceGetCount(self) -> int:
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> FakeDevice:
        self.calls.append("handle")
        device = self.devices[index]
        if device.error:
            raise FakeNvmlError(device.error)
        return device

    def nvmlDeviceGetName(self, handle: object, /) -> str | bytes:
        return _device(handle).name

    def nvmlDeviceGetMemoryInfo(self, handle: object, /) -> FakeMemory:
        device = _device(handle)
        if device.memory_error:
            raise FakeNvmlError(device.memory_error)
        return FakeMemory(device.total, device.used, device.total - device.used)

    def nvmlDeviceGetPciInfo(self, handle: object, /) -> FakePci:
        return FakePci(_device(handle).bus)

    def nvmlDeviceGetCudaComputeCapability(self, handle: object, /) -> tuple[int, int]:
        return (8, 9)

    def nvmlDeviceGetDisplayActive(self, handle: object, /) -> int:
        return _device(handle).display

    def nvmlDeviceGetComputeRunningProcesses(self, handle: object, /) -> Sequence[FakeProcess]:
        device = _device(handle)
        if device.process_error:
            raise FakeNvmlError(device.process_error)
        return device.compute

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: object, /) -> Sequence[FakeProcess]:
        return _device(handle).graphics


def _device(handle: object) -> FakeDevice:
    assert isinstance(handle, FakeDevice)
    return handle
