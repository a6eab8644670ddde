"""The graphics part of an Apple chip: it uses the RAM, up to a limit that the system sets."""

from __future__ import annotations

from clover_gui.hardware.machine import DeviceKind, Gpu, Memory
from clover_gui.hardware.processor import Sysctl

_GIB = 1 << 30


def apple_gpu(sysctl: Sysctl, architecture: str, memory: Memory) -> Gpu | None:
    """The device of this chip, None on Intel Macs (their Metal devices are too small for this engine).

    The share of the RAM that Metal recommends as a working set is two thirds up to 36 GB and three
    quarters above, unless ``iogpu.wired_limit_mb`` was set by hand.
    """
    if architecture != "arm64":
        return None
    limit_mib = sysctl("iogpu.wired_limit_mb")
    if isinstance(limit_mib, int) and limit_mib > 0:
        limit = limit_mib << 20
    else:
        limit = (
            memory.total_bytes * 2 // 3 if memory.total_bytes <= 36 * _GIB else memory.total_bytes * 3 // 4
        )
    limit = min(limit, memory.total_bytes)
    return Gpu(
        name=f"{sysctl('machdep.cpu.brand_string') or 'Apple'} GPU",
        vendor="Apple",
        kind=DeviceKind.UNIFIED,
        vram_total_bytes=limit,
        vram_free_bytes=min(limit, memory.available_bytes),
        driver="Metal",
        source="metal",
    )
