"""What happens between a plan and a loaded model, as events. Both front ends show them."""

from __future__ import annotations

from dataclasses import dataclass

from clover_gui.engine.protocol import Loaded, LoadProgress, LoadSettings
from clover_gui.hardware.machine import Gpu, Machine
from clover_gui.pipeline.dry_run import DryRun
from clover_gui.pipeline.measured import Measured
from clover_gui.planning.plan import FitPlan

# Why a plan was made anew.
MEMORY_TAKEN = "memory-taken"  # other programs took memory since
MORE_NEEDED = "more-needed"  # the engine's dry run needs more than the formula said
OUT_OF_MEMORY = "out-of-memory"  # the load failed for want of memory


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that fits (its ``warnings`` include those of the choice of the GPU), and what is asked of
    the engine for it."""

    plan: FitPlan
    settings: LoadSettings


@dataclass(frozen=True, slots=True)
class PlanChecked:
    """The dry run has ended: with the engine's own figures in the plan, or with the reason why not."""

    plan: FitPlan
    settings: LoadSettings
    dry_run: DryRun


@dataclass(frozen=True, slots=True)
class Replanned:
    """Another plan takes the place of ``before``; ``reason`` is a word of this module.

    ``attempt`` counts the loads that failed for want of memory.
    """

    reason: str
    before: FitPlan
    plan: FitPlan
    settings: LoadSettings
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Loading:
    progress: LoadProgress


@dataclass(frozen=True, slots=True)
class Placed:
    """The model is loaded as ``plan`` says; ``gpus`` are the devices of the plan."""

    machine: Machine
    plan: FitPlan
    loaded: Loaded
    measured: Measured
    gpus: tuple[Gpu, ...]


PlacingEvent = PlanChecked | Replanned | Loading | Placed
