"""What a load uses beside the engine: dry runs, readers of free memory, what was measured before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clover_gui.engine.client import EngineClient
from clover_gui.hardware.bandwidth import measure_ram_bandwidth
from clover_gui.pipeline.dry_run import DryEngine, DryRunner
from clover_gui.pipeline.free_memory import FreeMemory
from clover_gui.pipeline.measurements import FILE_NAME, Measurements


@dataclass(frozen=True, slots=True)
class Services:
    """What a load uses beside the engine. ``dry_runner`` None leaves the dry run out, and
    ``measure_bandwidth`` (with a number of threads) None the measurement of the RAM."""

    dry_runner: DryRunner | None = None
    measurements: Measurements = field(default_factory=Measurements)
    free_memory: FreeMemory = field(default_factory=FreeMemory)
    measure_bandwidth: Callable[[int], int] | None = None

    @classmethod
    def for_folder(cls, folder: Path, make_engine: Callable[[], DryEngine] = EngineClient) -> Services:
        """The usual ones; measurements are kept in this (data) folder if it exists. ``make_engine`` makes the
        engines for dry runs: they must take the same libraries as the one that loads."""
        known = Measurements(folder / FILE_NAME if folder.is_dir() else None)
        return cls(DryRunner(make_engine), known, measure_bandwidth=measure_ram_bandwidth)
