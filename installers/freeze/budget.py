"""How large each thing may become. Packing fails above it, so that growth is somebody's decision.

Figures are megabytes (10^6 bytes), a tenth or so above what was measured when they were set.
"""

from __future__ import annotations

from pathlib import Path

BUDGET_MB = {
    "folder": 150,
    "deb": 48,
    "tar": 48,
}


def size_bytes(path: Path) -> int:
    """The size of a file, or of all files below a folder; links count nothing."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())


def complaint(kind: str, path: Path) -> str:
    """A sentence when something is over its budget, else empty. Kinds without a budget may have any size."""
    most = BUDGET_MB.get(kind)
    size_mb = size_bytes(path) / 1e6
    if most is None or size_mb <= most:
        return ""
    return f"{path.name} has {size_mb:.1f} MB, more than the {most} MB that are allowed (freeze/budget.py)"
