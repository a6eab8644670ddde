"""Which single change to what was set by hand might make a model fit. Pure: wishes in, candidates out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from clover_gui.planning.plan import FitPlan, KvType, Wishes


class CureKind(StrEnum):
    """What is changed, the gentlest first."""

    EXPERTS = "experts"  # as many layers' experts in RAM as are needed
    KV_TYPE = "kv-type"  # the compact form of the context
    CONTEXT = "context"  # less context
    GRAPHICS = "graphics"  # the choice of the graphics cards is left to the program
    EVERYTHING = "everything"  # nothing is set by hand any more


@dataclass(frozen=True, slots=True)
class Cure:
    """A change that was tried: with ``wishes`` there is this ``plan``."""

    kind: CureKind
    wishes: Wishes
    plan: FitPlan


def possible_cures(wishes: Wishes, fitting_context: int = 0) -> Iterator[tuple[CureKind, Wishes]]:
    """Changes worth trying, in this order. ``fitting_context`` as in ``DoesNotFit``."""
    automatic = Wishes(threads=wishes.threads, reserve_bytes=wishes.reserve_bytes, batch=wishes.batch)
    if wishes.cpu_expert_layers is not None:
        yield CureKind.EXPERTS, replace(wishes, cpu_expert_layers=None)
    if wishes.kv_type is KvType.F16:
        yield CureKind.KV_TYPE, replace(wishes, kv_type=KvType.Q8_0)
    if fitting_context:
        yield CureKind.CONTEXT, replace(wishes, context=fitting_context)
    if wishes.graphics:
        yield CureKind.GRAPHICS, replace(wishes, graphics="")
    if wishes != automatic:
        yield CureKind.EVERYTHING, automatic
