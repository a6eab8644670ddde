"""What graphics computing this system could carry: the driver's CUDA version, a Vulkan loader, Metal.

Facts for choosing a build of the engine; which devices there are is told by ``probe.py``. Never raises.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path

from clover_gui.hardware import nvidia

_VULKAN = {"win32": ("vulkan-1.dll",), "linux": ("libvulkan.so.1",)}


@dataclass(frozen=True, slots=True)
class Backends:
    """``cuda`` is the newest CUDA version that the NVIDIA driver serves, None without one.

    ``vulkan``: the system has the loader (macOS has none of its own). ``metal``: a Mac with Apple's chip.
    """

    cuda: tuple[int, int] | None = None
    vulkan: bool = False
    metal: bool = False


def probe_backends(root: Path = Path("/")) -> Backends:
    """Look. Starts the NVIDIA driver where there is one: not for the window's thread."""
    import platform

    return Backends(
        cuda=nvidia.driver_cuda_version(root),
        vulkan=_has_vulkan_loader(),
        metal=sys.platform == "darwin" and platform.machine() == "arm64",
    )


def _has_vulkan_loader() -> bool:
    for name in _VULKAN.get(sys.platform, ()):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
