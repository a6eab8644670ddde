"""Where every part of a model goes on this machine: ``make_plan``. Pure: no disk, no driver, no clock.

The order of preference, for the asked or the usual context:

    experts models:  all on the GPU; experts of as few layers as possible in RAM; a quantised KV cache;
                     less context; fewer layers on the GPU; processor only
    dense models:    all on the GPU; a quantised KV cache; less context; fewer layers on the GPU;
                     processor only

What was set by hand is kept and the rest arranged round it. Every candidate is checked as a whole, on
every GPU and in RAM, so a plan that does not fit cannot come out.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from clover_gui.hardware.machine import DeviceKind, Gpu, Machine
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.budget import Budget, Known, usable_bytes
from clover_gui.planning.memory import Layout, all_gpu_layers, padded
from clover_gui.planning.plan import (
    LARGEST_BATCH,
    PROCESSOR_ONLY,
    DoesNotFit,
    FitPlan,
    KvType,
    Placement,
    Wishes,
)
from clover_gui.planning.refusal import no_gpu_fit, no_ram_fit

USUAL_CONTEXT = 32768
SMALLEST_CONTEXT = 4096
# Below this a full GPU is not worth the context that it costs a dense model.
_SMALLEST_FULL_CONTEXT = 8192
# Without a GPU: more context than this only where RAM abounds, and never more than twice as much.
_CPU_CONTEXT = 8192
# With everything on the GPU the processor only hands over tokens; more threads would wait for each other.
_MOST_IDLE_THREADS = 4
# Less context than this is no chat.
_SMALLEST_OFFERED_CONTEXT = 512

# Candidates of which each needs less on the GPUs than the one before.
_Ladder = list[Layout]


def make_plan(
    machine: Machine,
    model: ModelFile,
    wishes: Wishes | None = None,
    usable_gpu: Gpu | tuple[Gpu, ...] | None = None,
    known: Known | None = None,
) -> FitPlan | DoesNotFit:
    """The best placement that fits, or what the smallest one lacks. Some milliseconds.

    ``usable_gpu`` is the device, or are the devices in the engine's order, that the engine can use (None:
    none), with the memory that is free now. ``known`` is what was measured on this machine.
    """
    gpus = usable_gpu if isinstance(usable_gpu, tuple) else (usable_gpu,) if usable_gpu else ()
    known = known or Known()
    plans = [
        (_Planner(machine, model, wishes or Wishes(), used, measured).plan(), used)
        for used, measured in device_sets(gpus, known, machine.memory.available_bytes)
    ]
    fitting = [(plan, used) for plan, used in plans if isinstance(plan, FitPlan)]
    if not fitting:
        refusals = [plan for plan, _ in plans if isinstance(plan, DoesNotFit)]
        return min(refusals, key=lambda refusal: refusal.missing_bytes)
    best, used = max(fitting, key=lambda found: _worth(found[0]))
    if not best.devices:
        return fitting[0][0]
    return replace(best, left_out=tuple(gpu.name for gpu in gpus if gpu not in used))


def device_sets(
    gpus: tuple[Gpu, ...], known: Known, ram_free: int
) -> Iterator[tuple[tuple[Gpu, ...], Known]]:
    """All devices, then ever fewer: the one with the least room goes. What is known goes with them.

    Every device costs something and a slow one holds up the others, so more are not always better.
    """
    measured = known.overheads or (None,) * len(gpus)
    left = list(zip(gpus, measured, strict=True))
    while True:
        overheads = tuple(overhead for _, overhead in left)
        yield tuple(gpu for gpu, _ in left), replace(known, overheads=overheads)
        if len(left) < 2:
            return
        least = min(range(len(left)), key=lambda index: (usable_bytes(left[index][0], ram_free) or 0, -index))
        del left[least]


def _worth(plan: FitPlan) -> tuple[int, int, float, float, int]:
    """What is better among plans for different sets of devices: in the order of preference above, then the
    faster one, then that with fewer devices."""
    rank = {Placement.CPU_ONLY: 0, Placement.PARTIAL_GPU: 1}.get(plan.placement, 2)
    rate = plan.speed.tokens_per_second if plan.speed else 0.0
    return rank, plan.context, plan.kv_type.bytes_per_value, round(rate, 1), -len(plan.devices)


class _Planner:
    """One planning run: from candidates to a checked plan."""

    def __init__(
        self, machine: Machine, model: ModelFile, wishes: Wishes, gpus: tuple[Gpu, ...], known: Known
    ) -> None:
        self._with_wishes = partial(_Planner, machine, model, gpus=gpus, known=known)
        self._model = model
        self._wishes = wishes
        self._budget = Budget(machine, model, wishes, gpus, known)
        self._cores = max(1, machine.processor.physical_cores - 1)
        self._has_devices = bool(machine.gpus) or bool(gpus)
        self._trained = model.trained_context or SMALLEST_CONTEXT
        # The engine keeps blocks of 32 values and refuses heads that are no multiple of that.
        self._can_quantise_cache = model.key_length % 32 == 0

    def plan(self) -> FitPlan | DoesNotFit:
        layout = self.best()
        return self._refusal() if layout is None else self._finished(layout)

    def best(self) -> Layout | None:
        """The first candidate that fits everywhere."""
        for ladder in self._gpu_ladders():
            layout = self._first_fit(ladder)
            if layout is not None and self._budget.fits_ram(layout):
                return layout
        return next((layout for layout in self._cpu_layouts() if self._budget.fits_ram(layout)), None)

    def _first_fit(self, ladder: _Ladder) -> Layout | None:
        """The first that fits the GPUs. From the second on each needs less than the one before; the first
        is asked by itself, because experts in RAM bring a buffer of their own along."""
        if not ladder:
            return None
        if self._budget.fits_gpus(ladder[0]):
            return ladder[0]
        place = bisect.bisect_left(ladder, True, lo=1, key=self._budget.fits_gpus)
        return ladder[place] if place < len(ladder) else None

    # ---------------------------------------------------------------- candidates, the best first

    def _gpu_ladders(self) -> Iterator[_Ladder]:
        if not self._budget.has_gpu:
            return
        everything = all_gpu_layers(self._model)
        asked = self._wishes.gpu_layers
        if asked is not None:
            if asked > 0:
                yield from self._with_experts(min(asked, everything))
            return
        if self._can_move_experts():
            yield from self._with_experts(everything)
        else:
            for context in self._contexts(_SMALLEST_FULL_CONTEXT):
                for kv_type in self._kv_types():
                    yield [self._layout(everything, self._expert_counts()[0], context, kv_type)]
        yield from self._partial()

    def _with_experts(self, gpu_layers: int) -> Iterator[_Ladder]:
        """Experts of ever more layers in RAM; where that is not enough, the same with smaller caches."""
        for context in self._contexts(SMALLEST_CONTEXT):
            for kv_type in self._kv_types():
                yield [self._layout(gpu_layers, n, context, kv_type) for n in self._expert_counts()]

    def _partial(self) -> Iterator[_Ladder]:
        """Fewer layers on the GPU (experts, if any, in RAM), at a moderate context.

        Not where the place of the experts was set by hand: whole layers in RAM would take theirs along.
        """
        if self._can_move_experts() and self._wishes.cpu_expert_layers is not None:
            return
        context = self._wishes.context or min(self._usual_context(), _SMALLEST_FULL_CONTEXT)
        yield [
            self._layout(layers, self._expert_counts()[-1], self._limited(context), self._kv_types()[0])
            for layers in range(self._model.layer_count, 1, -1)
        ]

    def _cpu_layouts(self) -> Iterator[Layout]:
        """Everything in RAM. Long contexts are read slowly here: they are chosen only where RAM abounds."""
        if self._gpu_by_hand() and self._budget.has_gpu:
            return
        for context in self._contexts(SMALLEST_CONTEXT):
            if self._wishes.context is None and context > _CPU_CONTEXT:
                needed = self._budget.ram_use(self._layout(0, 0, context, self._kv_types()[0]))
                if context > 2 * _CPU_CONTEXT or 4 * needed > self._budget.ram_free:
                    continue
            for kv_type in self._kv_types():
                yield self._layout(0, 0, context, kv_type)

    def _layout(self, gpu_layers: int, cpu_experts: int, context: int, kv_type: KvType) -> Layout:
        batch = max(1, min(self._wishes.batch, LARGEST_BATCH, padded(context)))
        return Layout(gpu_layers, cpu_experts, context, kv_type, batch)

    def _expert_counts(self) -> list[int]:
        if self._wishes.cpu_expert_layers is not None and self._model.is_moe:
            return [max(0, min(self._wishes.cpu_expert_layers, self._model.layer_count))]
        return list(range(self._model.layer_count + 1)) if self._can_move_experts() else [0]

    def _can_move_experts(self) -> bool:
        """Experts in RAM relieve a card with memory of its own; one that shares the RAM gains nothing."""
        return self._model.is_moe and self._budget.kind is DeviceKind.DISCRETE

    def _kv_types(self) -> list[KvType]:
        if not self._can_quantise_cache:
            return [KvType.F16]
        return [self._wishes.kv_type] if self._wishes.kv_type else [KvType.F16, KvType.Q8_0]

    def _usual_context(self) -> int:
        return self._limited(self._wishes.context or USUAL_CONTEXT)

    def _limited(self, context: int) -> int:
        return max(1, min(context, self._trained))

    def _contexts(self, smallest: int) -> list[int]:
        """The asked context alone, or the usual one and its halves down to ``smallest``."""
        contexts = [self._usual_context()]
        while self._wishes.context is None and contexts[-1] // 2 >= smallest:
            contexts.append(contexts[-1] // 2)
        return contexts

    # ---------------------------------------------------------------- results

    def _finished(self, layout: Layout) -> FitPlan:
        budget, placement = self._budget, self._placement(layout)
        threads = self._wishes.threads or (
            min(self._cores, _MOST_IDLE_THREADS) if placement is Placement.FULL_GPU else self._cores
        )
        shares = budget.shares(layout)
        return FitPlan(
            placement=placement,
            context=layout.context,
            kv_type=layout.kv_type,
            gpu_layers=layout.gpu_layers,
            cpu_expert_layers=layout.cpu_expert_layers,
            threads=threads,
            gpu=budget.gpu_total(layout),
            ram=replace(budget.ram_need(layout), copies=budget.copies_bytes(layout)),
            gpu_available_bytes=budget.gpu_free,
            ram_available_bytes=budget.ram_free,
            ram_total_bytes=budget.ram_total,
            gpu_name=" + ".join(share.name for share in shares),
            batch=layout.batch,
            reserve_bytes=sum(share.reserve_bytes for share in shares),
            warnings=self._warnings(layout),
            devices=shares,
            speed=budget.speed(layout, threads),
        )

    def _placement(self, layout: Layout) -> Placement:
        if layout.gpu_layers <= 0:
            return Placement.CPU_ONLY
        if layout.gpu_layers < all_gpu_layers(self._model):
            return Placement.PARTIAL_GPU
        return Placement.EXPERTS_ON_CPU if layout.cpu_expert_layers else Placement.FULL_GPU

    def _warnings(self, layout: Layout) -> tuple[str, ...]:
        placement, has_gpu = self._placement(layout), self._budget.has_gpu
        by_hand = self._wishes.gpu_layers == 0 or self._wishes.graphics == PROCESSOR_ONLY
        usual = self._usual_context() if layout.gpu_layers else min(self._usual_context(), _CPU_CONTEXT)
        found = {
            "gpu-unusable": self._has_devices and not has_gpu and not by_hand,
            "not-on-gpu": has_gpu and placement is Placement.CPU_ONLY and not by_hand,
            "context-limited": (self._wishes.context or 0) > self._trained,
            "context-reduced": layout.context < usual,
            "kv-full-only": layout.kv_type is not (self._wishes.kv_type or layout.kv_type),
            "kv-quantised": layout.kv_type is not KvType.F16 and self._wishes.kv_type is None,
            "experts-in-ram": placement is Placement.EXPERTS_ON_CPU,
            "partly-on-gpu": placement is Placement.PARTIAL_GPU,
            "ram-tight": self._budget.ram_is_tight(layout),
        }
        return tuple(word for word, holds in found.items() if holds)

    def _gpu_by_hand(self) -> bool:
        """Whether a place on the GPU was asked for, so that the processor alone is no answer."""
        if self._wishes.gpu_layers is not None:
            return self._wishes.gpu_layers > 0
        return self._can_move_experts() and self._wishes.cpu_expert_layers is not None

    # ---------------------------------------------------------------- refusals

    def _on_gpu(self) -> list[Layout]:
        """Candidates whose part on the GPUs fits there."""
        return [found for ladder in self._gpu_ladders() if (found := self._first_fit(ladder)) is not None]

    def _refusal(self) -> DoesNotFit:
        """Of what was asked the smallest form, what it lacks, and what would help."""
        on_gpu = self._on_gpu()
        if self._budget.has_gpu and self._gpu_by_hand() and not on_gpu:
            smallest = [ladder[-1] for ladder in self._gpu_ladders()]
            can_move = self._can_move_experts() and self._expert_counts()[-1] < self._model.layer_count
            refusal = no_gpu_fit(self._budget, self._wishes, smallest, SMALLEST_CONTEXT, can_move)
        else:
            candidates = [*self._cpu_layouts(), *on_gpu]
            refusal = no_ram_fit(self._budget, self._wishes, candidates, self._limited(SMALLEST_CONTEXT))
        return replace(refusal, fitting_context=self._fitting_context())

    def _fitting_context(self) -> int:
        """The largest half, quarter and so on of the asked context with which there is a plan."""
        context = self._usual_context() // 2 if self._wishes.context else 0
        while context >= _SMALLEST_OFFERED_CONTEXT:
            if self._with_wishes(wishes=replace(self._wishes, context=context)).best() is not None:
                return context
            context //= 2
        return 0
