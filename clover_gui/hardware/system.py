"""Main memory, disk and the name of the system, as far as this process may use them."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import psutil

from clover_gui.hardware.cgroup import Limits, read_limits
from clover_gui.hardware.machine import Disk, Memory
from clover_gui.i18n import capped


def read_memory(limits: Limits | None = None) -> Memory:
    """RAM and swap; a container's limit counts as the total where it is smaller."""
    limits = read_limits() if limits is None else limits
    ram = psutil.virtual_memory()
    total, available = int(ram.total), int(ram.available)
    if limits.memory_bytes is not None and limits.memory_bytes < total:
        total = limits.memory_bytes
        available = max(0, min(available, total - limits.memory_used_bytes))
    try:
        swap = psutil.swap_memory()
        swap_total, swap_free = int(swap.total), int(swap.free)
    except (OSError, RuntimeError):  # no /proc/vmstat, or performance counters switched off
        swap_total = swap_free = 0
    return Memory(total, available, swap_total, swap_free)


def read_disk(path: Path) -> Disk:
    """The file system that holds ``path``, which need not exist yet.

    Raises:
        OSError: the system does not tell.
    """
    existing = Path.cwd() / path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    usage = shutil.disk_usage(existing)
    return Disk(str(path), usage.total, usage.free)


def system_name(root: Path = Path("/")) -> str:
    """For example "Linux 6.1.0 (Debian GNU/Linux 12)", with "under WSL" where that is so."""
    system, release = platform.system(), platform.release()
    if system == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    if system != "Linux":
        return f"{system} {release} ({platform.version()})"
    name = _distribution(root)
    text = f"Linux {release}" + (f" ({name})" if name else "")
    return f"{text} under WSL" if is_wsl(root) else text


def is_wsl(root: Path = Path("/")) -> bool:
    """Whether this Linux runs inside Windows."""
    try:
        version = (root / "proc/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "microsoft" in version.lower()


def _distribution(root: Path) -> str:
    for place in ("etc/os-release", "usr/lib/os-release"):
        try:
            lines = (root / place).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition("=")
            if key == "PRETTY_NAME":
                return capped(value.strip().strip("\"'"))
    return ""
