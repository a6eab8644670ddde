"""Which graphics computing the system could carry."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from clover_gui.hardware import backends
from clover_gui.hardware.nvidia import driver_cuda_version
from tests.hardware.fake_nvml import FakeNvml


def with_driver(root: Path) -> Path:
    (root / "dev").mkdir()
    (root / "dev" / "nvidiactl").write_text("")
    return root


def test_the_drivers_cuda_version(tmp_path: Path) -> None:
    nvml = FakeNvml()
    assert driver_cuda_version(with_driver(tmp_path), "linux", lambda _root: nvml) == (13, 1)
    assert nvml.open == 0


def test_without_a_driver_that_works_there_is_none(tmp_path: Path) -> None:
    def missing(_root: Path) -> FakeNvml:
        raise ImportError("nvidia-ml-py")

    assert driver_cuda_version(tmp_path, "linux", missing) is None
    root = with_driver(tmp_path)
    assert driver_cuda_version(root, "linux", missing) is None
    assert driver_cuda_version(root, "linux", lambda _root: FakeNvml(init_error=9)) is None


@pytest.mark.parametrize("there", [True, False])
def test_a_vulkan_loader(there: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def load(_name: str) -> None:
        if not there:
            raise OSError("not found")

    monkeypatch.setattr(backends.sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", load)
    assert backends.probe_backends(tmp_path).vulkan is there
