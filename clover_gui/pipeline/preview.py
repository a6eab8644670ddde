"""What would happen if the loaded model were loaded with other settings: a plan, or what cures its lack.

Plans with what is free now, what our own engine holds included. Loads nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import EngineInfo
from clover_gui.errors import DoesNotFitError
from clover_gui.hardware.machine import Machine
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.gpu_choice import choose_gpu
from clover_gui.pipeline.placing import Placer
from clover_gui.pipeline.services import Services
from clover_gui.planning.cure import Cure, possible_cures
from clover_gui.planning.plan import FitPlan, Wishes


@dataclass(frozen=True, slots=True)
class Preview:
    """Either ``plan`` or ``refusal``; ``cure`` is the gentlest single change with which it fits, if any."""

    wishes: Wishes
    plan: FitPlan | None
    refusal: DoesNotFitError | None = None
    cure: Cure | None = None


async def preview(
    engine: Engine,
    machine: Machine,
    info: EngineInfo,
    model: ModelFile,
    wishes: Wishes,
    services: Services,
) -> Preview:
    """Plan for ``wishes``; where they do not fit, look for one change that does. Works in threads."""

    async def plan(wished: Wishes) -> FitPlan:
        choice = choose_gpu(machine, info, wished.graphics)
        return (await Placer(engine, machine, model, wished, choice, services).plan()).plan

    try:
        return Preview(wishes, await plan(wishes))
    except DoesNotFitError as error:
        return Preview(wishes, None, error, await _find_cure(plan, wishes, error))


async def _find_cure(
    plan: Callable[[Wishes], Awaitable[FitPlan]], wishes: Wishes, refusal: DoesNotFitError
) -> Cure | None:
    """The gentlest single change to ``wishes`` for which ``plan`` does not raise DoesNotFitError."""
    for kind, changed in possible_cures(wishes, refusal.fitting_context):
        try:
            return Cure(kind, changed, await plan(changed))
        except DoesNotFitError:
            continue
    return None


def is_other(plan: FitPlan, loaded: FitPlan) -> bool:
    """Whether the engine would hold something else than now. Copies and speeds do not count."""
    return _placed(plan) != _placed(loaded)


def _placed(plan: FitPlan) -> tuple[object, ...]:
    shares = tuple((share.name, share.bus_id, share.layers) for share in plan.devices)
    return plan.context, plan.kv_type, plan.gpu_layers, plan.cpu_expert_layers, plan.batch, shares
