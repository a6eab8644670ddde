"""From a model to a loaded model: plan, dry run, free memory once more, load, and smaller if need be.

One ``Placer`` for each load. It yields what it does as events; ``prepare`` passes them on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import FAIL_MEMORY, Loaded, LoadProgress, LoadSettings
from clover_gui.errors import DoesNotFitError, EngineDied, EngineError, ModelLoadFailed
from clover_gui.hardware.machine import Gpu, Machine
from clover_gui.hardware.watch import VramReading
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.dry_run import (
    SMALL_FILE_BYTES,
    DryRunEnd,
    overshoot,
    with_buffers,
)
from clover_gui.pipeline.free_memory import OwnUse
from clover_gui.pipeline.gpu_choice import GPU_UNUSABLE, GpuChoice
from clover_gui.pipeline.loading import load
from clover_gui.pipeline.measured import compare
from clover_gui.pipeline.placing_events import (
    MEMORY_TAKEN,
    MORE_NEEDED,
    OUT_OF_MEMORY,
    Loading,
    Placed,
    PlacingEvent,
    PlanChecked,
    Planned,
    Replanned,
)
from clover_gui.pipeline.services import Services
from clover_gui.planning.budget import Known
from clover_gui.planning.plan import DeviceShare, DoesNotFit, FitPlan, Wishes
from clover_gui.planning.planner import make_plan
from clover_gui.planning.speed import measured_speed

MOST_RETRIES = 2
_FIRST_STEP_BYTES = 512 << 20
_SMALLEST_RETRIED_CONTEXT = 1024
_OUT_OF_MEMORY_WORDS = ("out of memory", "insufficient memory", "failed to allocate", "bad_alloc", "oom")

_log = logging.getLogger(__name__)


class Placer:
    """Places one model on one machine."""

    def __init__(
        self,
        engine: Engine,
        machine: Machine,
        model: ModelFile,
        wishes: Wishes,
        choice: GpuChoice,
        services: Services,
    ) -> None:
        self._engine = engine
        self._model = model
        self._wishes = wishes
        self._choice = choice
        self._services = services
        self._gpus = choice.gpus or ((choice.gpu,) if choice.gpu else ())
        overheads = tuple(services.measurements.overhead(gpu) for gpu in self._gpus)
        self._known = Known(overheads)
        self._machine = machine
        self._readings: tuple[VramReading | None, ...] = ()

    async def plan(self) -> Planned:
        """The first plan, with what is free at this moment.

        Raises:
            DoesNotFitError: no placement is possible.
        """
        await self._read_free()
        await self._know_bandwidth()
        return self._planned(await asyncio.to_thread(self._plan_or_refusal))

    async def place(self, planned: Planned) -> AsyncGenerator[PlacingEvent, None]:
        """Check the plan, load it, and go down to smaller plans while memory runs out (twice at most).

        Raises:
            EngineError: the load failed for another reason, or no smaller plan is left.
            DoesNotFitError: the memory that was free is gone.
        """
        async with aclosing(self._checked(planned)) as checks:
            async for event in checks:
                planned = Planned(event.plan, event.settings)
                yield event
        again = await self._fallen(planned)
        if again is not None:
            planned = Planned(again.plan, again.settings)
            yield again
        for attempt in range(MOST_RETRIES + 1):
            try:
                async with aclosing(load(self._engine, planned.settings)) as progress:
                    async for step in progress:
                        if isinstance(step, LoadProgress):
                            yield Loading(step)
                        else:
                            yield await self._placed(planned.plan, step)
                return
            except EngineError as error:
                smaller = await self._smaller(planned, error, attempt)
                if smaller is None:
                    raise
                planned = Planned(smaller.plan, smaller.settings)
                yield smaller

    # ---------------------------------------------------------------- steps

    async def _checked(self, planned: Planned) -> AsyncGenerator[PlanChecked | Replanned, None]:
        """Dry runs until a plan fits by the engine's own figures; a second one only if the first did not."""
        runner = self._services.dry_runner
        for _attempt in range(2):
            if runner is None:
                return
            found = await runner.run(planned.settings)
            if found.end is DryRunEnd.SMALL:
                return
            plan = planned.plan
            if found.end is DryRunEnd.DONE:
                plan = with_buffers(plan, found.buffers, self._known)
            gpu, ram = overshoot(plan)
            if gpu <= 0 and ram <= 0:
                yield PlanChecked(plan, planned.settings, found)
                return
            self._known = replace(
                self._known,
                extra_gpu_bytes=self._known.extra_gpu_bytes + max(0, gpu),
                extra_ram_bytes=self._known.extra_ram_bytes + max(0, ram),
            )
            before, planned = plan, self._planned(await asyncio.to_thread(self._plan_or_refusal))
            yield Replanned(MORE_NEEDED, before, planned.plan, planned.settings)

    async def _fallen(self, planned: Planned) -> Replanned | None:
        """Another plan if less is free now than the plan needs. What has become free is left alone."""
        before = planned.plan
        gpus_then = {_key(gpu): gpu.vram_free_bytes or 0 for gpu in self._gpus}
        ram_then = self._machine.memory.available_bytes
        await self._read_free()
        shares = {_key(share): share for share in before.devices}
        lost = any(
            (share := shares.get(_key(gpu))) is not None
            and (gpu.vram_free_bytes or 0) < gpus_then[_key(gpu)]
            and (gpu.vram_free_bytes or 0) < share.need.total + share.reserve_bytes
            for gpu in self._gpus
        )
        ram_now = self._machine.memory.available_bytes
        if not lost and not (ram_now < ram_then and ram_now < before.ram.total):
            return None
        again = self._planned(await asyncio.to_thread(self._plan_or_refusal))
        _log.info("less memory is free than a moment ago: planned anew")
        return Replanned(MEMORY_TAKEN, before, again.plan, again.settings)

    async def _smaller(self, planned: Planned, error: EngineError, attempt: int) -> Replanned | None:
        """The next smaller plan after a load that ran out of memory; None where there is none."""
        if attempt >= MOST_RETRIES or not ran_out_of_memory(error):
            return None
        before = planned.plan
        await self._read_free()
        for wishes in self._smaller_wishes(before):
            try:
                plan = await asyncio.to_thread(self._plan_or_refusal, wishes)
            except DoesNotFitError:
                return None
            if _is_smaller(plan, before):
                again = self._planned(plan)
                return Replanned(OUT_OF_MEMORY, before, again.plan, again.settings, attempt + 1)
        return None

    def _smaller_wishes(self, before: FitPlan) -> Iterator[Wishes]:
        """With a GPU the same wishes and ever more that must stay free there; without one less context."""
        if before.gpu.total > 0:
            step = max(_FIRST_STEP_BYTES, before.gpu.total // 20)
            for _try in range(6):
                extra = self._known.extra_gpu_bytes + step
                self._known = replace(self._known, extra_gpu_bytes=extra)
                yield self._wishes
                step *= 2
        elif self._wishes.context is None and before.context >= 2 * _SMALLEST_RETRIED_CONTEXT:
            yield replace(self._wishes, context=before.context // 2)

    async def _placed(self, plan: FitPlan, loaded: Loaded) -> Placed:
        own = OwnUse(_pid(self._engine), loaded)
        shares = {_key(share) for share in plan.devices}
        pairs = [pair for pair in zip(self._gpus, self._readings, strict=True) if _key(pair[0]) in shares]
        gpus, before = tuple(gpu for gpu, _ in pairs), tuple(reading for _, reading in pairs)
        after = await asyncio.to_thread(self._services.free_memory.readings, gpus, own)
        measured = compare(plan, loaded, before, after)
        known = self._services.measurements
        for device in measured.devices:
            overhead = device.overhead_bytes
            if overhead is None or not device.buffer_bytes:
                continue
            assumed = next((s.need.overhead for s in plan.devices if s.name == device.name), 0)
            if device.exact or overhead > assumed:  # a growth may miss what was taken before
                known.learn_overhead(device.name, device.driver, overhead)
        await asyncio.to_thread(known.save)
        return Placed(self._machine, plan, loaded, measured, gpus)

    # ---------------------------------------------------------------- planning

    async def _read_free(self) -> None:
        own = OwnUse(_pid(self._engine), self._engine.loaded)
        self._machine, self._gpus, self._readings = await asyncio.to_thread(
            self._services.free_memory.now, self._machine, self._gpus, own
        )

    async def _know_bandwidth(self) -> None:
        """How fast the RAM is: measured once (a tenth of a second), for models whose speed depends on it."""
        known, measure = self._services.measurements, self._services.measure_bandwidth
        if not known.ram_bandwidth and measure is not None and self._model.size_bytes >= SMALL_FILE_BYTES:
            cores = max(1, self._machine.processor.physical_cores - 1)
            known.learn_ram_bandwidth(await asyncio.to_thread(measure, cores))
        if known.ram_bandwidth:
            memory = replace(self._machine.memory, bandwidth=known.ram_bandwidth)
            self._machine = replace(self._machine, memory=memory)

    def _plan_or_refusal(self, wishes: Wishes | None = None) -> FitPlan:
        plan = make_plan(self._machine, self._model, wishes or self._wishes, self._gpus, self._known)
        if isinstance(plan, DoesNotFit):
            raise DoesNotFitError(
                plan.needed_bytes,
                plan.available_bytes,
                plan.where,
                plan.suggestions,
                plan.fitting_context,
                plan.fitting_file_bytes,
            )
        # Why the GPU is not used was found out more exactly by the choice.
        words = [word for word in plan.warnings if not (self._choice.warnings and word == GPU_UNUSABLE)]
        rate = self._services.measurements.speed(self._model, plan)
        speed = plan.speed if rate is None else measured_speed(rate)
        return replace(plan, warnings=(*self._choice.warnings, *words), speed=speed)

    def _planned(self, plan: FitPlan) -> Planned:
        return Planned(plan, load_settings(plan, self._model.path))


def load_settings(plan: FitPlan, model_path: Path) -> LoadSettings:
    """What the engine is asked for to carry out this plan: its very devices and layers on each."""
    used = tuple(share for share in plan.devices if share.layers)
    named = all(share.engine_name for share in used)
    return LoadSettings(
        path=str(model_path),
        context=plan.context,
        kv_type=plan.kv_type.value,
        gpu_layers=plan.gpu_layers,
        cpu_expert_layers=plan.cpu_expert_layers,
        threads=plan.threads,
        batch=plan.batch,
        use_mmap=plan.use_mmap,
        checkpoint_bytes=plan.ram.copies,
        devices=tuple(share.engine_name for share in used) if named else (),
        tensor_split=tuple(float(share.layers) for share in used) if named and len(used) > 1 else (),
    )


def ran_out_of_memory(error: EngineError) -> bool:
    """Whether a load failed for want of memory, by the engine's word or by its last lines."""
    if isinstance(error, ModelLoadFailed) and error.kind == FAIL_MEMORY:
        return True
    words = " ".join((error.reason, *error.log_lines)).lower()
    return isinstance(error, (ModelLoadFailed, EngineDied)) and any(w in words for w in _OUT_OF_MEMORY_WORDS)


def _is_smaller(plan: FitPlan, before: FitPlan) -> bool:
    """Less on the GPU; or, without one, less in RAM. Overheads do not count: they are what was raised."""
    if before.gpu.total > 0:
        return plan.gpu.buffers < before.gpu.buffers
    return plan.ram.buffers < before.ram.buffers


def _key(device: Gpu | DeviceShare) -> tuple[str, str, str]:
    return device.name, device.bus_id, device.engine_name


def _pid(engine: Engine) -> int | None:
    """The child's number where the engine is a child; only the client knows it."""
    pid: int | None = getattr(engine, "pid", None)
    return pid
