"""Builds file trees as Linux shows graphics devices, for machines that the tests do not have."""

from __future__ import annotations

from pathlib import Path

GIB = 1 << 30


def add_card(
    root: Path,
    bus: str,
    vendor: int,
    device: int,
    *,
    driver: str = "",
    display_class: str = "0x030000",
    files: dict[str, str | bytes] | None = None,
) -> Path:
    """One PCI device below ``root``; ``files`` are further files of its folder."""
    folder = root / "sys/bus/pci/devices" / bus
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(f"0x{vendor:04x}\n")
    (folder / "device").write_text(f"0x{device:04x}\n")
    (folder / "class").write_text(f"{display_class}\n")
    if driver:
        target = root / "sys/bus/pci/drivers" / driver
        target.mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(target)
    for name, content in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def amd_files(vram: int, used: int, gtt: int, *, metrics_format: int | None) -> dict[str, str | bytes]:
    """The memory files of amdgpu; ``metrics_format`` is the third byte of gpu_metrics."""
    files: dict[str, str | bytes] = {
        "mem_info_vram_total": f"{vram}\n",
        "mem_info_vram_used": f"{used}\n",
        "mem_info_gtt_total": f"{gtt}\n",
        "mem_info_gtt_used": "16777216\n",
    }
    if metrics_format is not None:
        files["gpu_metrics"] = bytes([120, 0, metrics_format, 3]) + bytes(116)
    return files


def add_driver_library(root: Path, folder: str = "usr/lib/x86_64-linux-gnu") -> None:
    """An (empty) NVML library, so that the driver seems to be installed."""
    place = root / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "libnvidia-ml.so.1").touch()
