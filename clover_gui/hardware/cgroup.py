"""Limits that a container or service manager puts on this process (Linux control groups, v1 and v2).

Without them a program in a container would plan with the memory and processors of the whole host.
Nothing here raises: what cannot be read is no limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# v1 reports "no limit" as the largest page-aligned 63-bit number.
_UNLIMITED = 1 << 60


@dataclass(frozen=True, slots=True)
class Limits:
    """What this process may use. None: no limit. ``memory_used_bytes`` leaves out reclaimable file pages."""

    memory_bytes: int | None = None
    memory_used_bytes: int = 0
    processors: int | None = None


def read_limits(root: Path = Path("/")) -> Limits:
    """The tightest limits on the way from this process's group to the root group."""
    groups = _own_groups(root)
    memory: tuple[int, int] | None = None
    for folder, v2 in _folders(root, groups, "memory"):
        found = _memory_v2(folder) if v2 else _memory_v1(folder)
        if found is not None and (memory is None or found[0] - found[1] < memory[0] - memory[1]):
            memory = found
    quotas = [
        quota
        for folder, v2 in _folders(root, groups, "cpu")
        if (quota := _cpu_v2(folder) if v2 else _cpu_v1(folder)) is not None
    ]
    return Limits(
        memory_bytes=memory[0] if memory else None,
        memory_used_bytes=memory[1] if memory else 0,
        processors=min(quotas, default=None),
    )


def _own_groups(root: Path) -> dict[str, str]:
    """Controller -> path of this process's group; the v2 group under the name ""."""
    groups: dict[str, str] = {}
    for line in _text(root / "proc/self/cgroup").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(","):
                groups[controller] = parts[2].strip("/")
    return groups


def _folders(root: Path, groups: dict[str, str], controller: str) -> Iterator[tuple[Path, bool]]:
    """Folders of the own group and its parents, with whether they are v2.

    Inside a container the own path often does not exist below the mount; the mount itself is the group then.
    """
    base = root / "sys/fs/cgroup"
    for key, mount, v2 in ((controller, base / controller, False), ("", base, True)):
        if key not in groups:
            continue
        folder = mount / groups[key]
        while folder != mount and mount in folder.parents:
            yield folder, v2
            folder = folder.parent
        yield mount, v2


def _memory_v2(folder: Path) -> tuple[int, int] | None:
    limit = _number(folder / "memory.max")
    if limit is None:
        return None
    return limit, _used(folder, "memory.current", ("inactive_file", "active_file"))


def _memory_v1(folder: Path) -> tuple[int, int] | None:
    limit = _number(folder / "memory.limit_in_bytes")
    if limit is None or limit >= _UNLIMITED:
        return None
    return limit, _used(folder, "memory.usage_in_bytes", ("total_inactive_file", "total_active_file"))


def _used(folder: Path, usage_name: str, reclaimable: tuple[str, ...]) -> int:
    used = _number(folder / usage_name) or 0
    for line in _text(folder / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name in reclaimable and value.isdigit():
            used -= int(value)
    return max(used, 0)


def _cpu_v2(folder: Path) -> int | None:
    quota, _, period = _text(folder / "cpu.max").strip().partition(" ")
    return _processors(quota, period)


def _cpu_v1(folder: Path) -> int | None:
    return _processors(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))


def _processors(quota: str, period: str) -> int | None:
    quota, period = quota.strip(), period.strip()
    if not (quota.isdigit() and period.isdigit() and int(quota) > 0 and int(period) > 0):
        return None
    return max(1, math.ceil(int(quota) / int(period)))


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
