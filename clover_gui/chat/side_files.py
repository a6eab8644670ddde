"""The files that belong to one SQLite database, as names on the disk. Must not know what is in them."""

from __future__ import annotations

import os
import time
from pathlib import Path

SIDES = ("-wal", "-shm")


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def free_name(path: Path, word: str, now: float) -> Path:
    """A name beside ``path`` with the word and the time, that nothing has yet."""
    stamp = time.strftime("%Y-%m-%d-%H%M%S", time.localtime(now))
    number = 0
    while True:
        target = beside(path, f".{word}-{stamp}" + (f"-{number}" if number else ""))
        if not any(os.path.lexists(beside(target, side)) for side in ("", *SIDES)):
            return target
        number += 1


def rename_all(path: Path, target: Path) -> None:
    """Rename the file and what belongs to it; what is not there is left out.

    Raises:
        OSError: one of them cannot be renamed.
    """
    for side in ("", *SIDES):
        source = beside(path, side)
        if source.exists():
            source.rename(beside(target, side))


def remove_all(path: Path) -> None:
    """Remove the file and what belongs to it, if there is any.

    Raises:
        OSError: one of them cannot be removed.
    """
    for side in ("", *SIDES):
        beside(path, side).unlink(missing_ok=True)


def stats_of_sides(path: Path) -> dict[str, os.stat_result]:
    """What tells the journal of an open database from another one of the same name."""
    stats = {}
    for side in SIDES:
        try:
            stats[side] = beside(path, side).stat()
        except OSError:
            continue
    return stats


def remove_own_sides(path: Path, own: dict[str, os.stat_result]) -> None:
    """Remove those that are still the ones of ``stats_of_sides``; others belong to another file.

    Raises:
        OSError: one of them cannot be removed.
    """
    for side, there in stats_of_sides(path).items():
        if side in own and os.path.samestat(own[side], there):
            beside(path, side).unlink()
