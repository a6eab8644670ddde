"""What the gauges show, as plain values. Sizes in bytes, rates in tokens per second, counts in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """One pool of memory.

    ``available`` is what programs can still get. ``ours`` is what this program holds (None where the
    driver does not tell whose memory is whose); ``ours_mapped`` are pages of the model file that the
    system keeps in RAM but counts as available, since it can take them back.
    """

    total: int
    available: int
    ours: int | None
    ours_mapped: int = 0

    @property
    def used(self) -> int:
        """Everything that is in use, the mapped file included."""
        return min(self.total, max(0, self.total - self.available) + self.ours_mapped)

    @property
    def free(self) -> int:
        return max(0, self.total - self.used)

    @property
    def others(self) -> int:
        """What everybody else uses; everything that is used when nobody can tell."""
        return max(0, self.used - self.ours_mapped - (self.ours or 0))


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """One look at both pools; ``vram`` None means that there is no graphics memory to show. With several
    graphics cards it is the sum of ``cards``."""

    ram: MemoryLevel
    vram: MemoryLevel | None = None
    cards: tuple[MemoryLevel, ...] = ()

    @property
    def least_available_vram(self) -> int | None:
        """What is free on the fullest card."""
        levels = self.cards or ((self.vram,) if self.vram is not None else ())
        return min((level.available for level in levels), default=None)


def sum_of(levels: Sequence[MemoryLevel]) -> MemoryLevel | None:
    """Several pools as one; None for none. What is ours is not known where it is not known of one."""
    if not levels:
        return None
    ours = [level.ours for level in levels if level.ours is not None]
    return MemoryLevel(
        sum(level.total for level in levels),
        sum(level.available for level in levels),
        sum(ours) if len(ours) == len(levels) else None,
    )


@dataclass(frozen=True, slots=True)
class SpeedReading:
    """Speeds of the answer at hand or of the last one; None: nothing measured yet."""

    now: float | None = None
    average: float | None = None
    reading: float | None = None


@dataclass(frozen=True, slots=True)
class ContextReading:
    """``used`` None: not known."""

    used: int | None = 0
    total: int = 0
