"""Planned against measured: what each device really holds after a load, and what the driver took of it.

Pure: readings and buffers in, a comparison out.
"""

from __future__ import annotations

from dataclasses import dataclass

from clover_gui.engine.protocol import Loaded
from clover_gui.hardware.watch import VramReading
from clover_gui.pipeline.dry_run import device_buffers
from clover_gui.planning.plan import DeviceShare, FitPlan

# The plan put layers on a GPU, and the engine holds nothing there: never pass over that in silence.
GPU_NOT_USED = "gpu-not-used"
# More was taken than planned, by more than the reserve can bear.
MORE_THAN_PLANNED = "more-than-planned"


@dataclass(frozen=True, slots=True)
class DeviceMeasure:
    """One GPU. ``measured_bytes`` (None: the driver does not tell) is what our engine holds there in all,
    ``buffer_bytes`` the engine's own count; the rest of it is the driver's ``overhead_bytes``.

    ``exact``: the driver told our part; otherwise it is the growth of what is in use.
    """

    name: str
    driver: str
    planned_bytes: int
    buffer_bytes: int
    measured_bytes: int | None = None
    exact: bool = False

    @property
    def overhead_bytes(self) -> int | None:
        return None if self.measured_bytes is None else self.measured_bytes - self.buffer_bytes


@dataclass(frozen=True, slots=True)
class Measured:
    """After a load. ``ram_*`` compare what the engine counts in main memory; warnings are words."""

    devices: tuple[DeviceMeasure, ...]
    ram_planned_bytes: int
    ram_buffer_bytes: int
    warnings: tuple[str, ...] = ()


def compare(
    plan: FitPlan,
    loaded: Loaded,
    before: tuple[VramReading | None, ...],
    after: tuple[VramReading | None, ...],
) -> Measured:
    """``before`` and ``after`` are readings of the plan's devices around the load."""
    groups = device_buffers(plan, loaded.buffers)
    measures = tuple(
        _device(
            share, sum(b.model + b.context + b.compute for b in group), _at(before, index), _at(after, index)
        )
        for index, (share, group) in enumerate(zip(plan.devices, groups, strict=True))
    )
    host = sum(b.model + b.context + b.compute for b in loaded.buffers if b.is_host)
    return Measured(measures, plan.ram.buffers, host, _warnings(plan, loaded, measures))


def _warnings(plan: FitPlan, loaded: Loaded, measures: tuple[DeviceMeasure, ...]) -> tuple[str, ...]:
    words = []
    if plan.gpu.weights and loaded.buffers and not any(m.buffer_bytes for m in measures):
        words.append(GPU_NOT_USED)
    for share, measure in zip(plan.devices, measures, strict=True):
        taken = measure.measured_bytes
        if taken is not None and taken - measure.planned_bytes > max(share.reserve_bytes // 2, 256 << 20):
            words.append(MORE_THAN_PLANNED)
            break
    return tuple(words)


def _device(
    share: DeviceShare, buffer_bytes: int, before: VramReading | None, after: VramReading | None
) -> DeviceMeasure:
    taken: int | None = None
    exact = after is not None and after.ours_bytes is not None
    if after is not None and after.ours_bytes is not None:
        taken = after.ours_bytes
    elif after is not None and before is not None:
        taken = max(0, after.used - before.used) + (before.ours_bytes or 0)
    if taken is not None and taken < buffer_bytes:
        # Less than the engine itself counts: another program gave memory back meanwhile.
        taken, exact = None, False
    return DeviceMeasure(share.name, share.driver, share.need.total, buffer_bytes, taken, exact)


def _at(readings: tuple[VramReading | None, ...], index: int) -> VramReading | None:
    return readings[index] if index < len(readings) else None
