"""Where every part of a model goes on this machine: ``make_plan``. Pure: no disk, no driver, no clock.

The order of preference, for the asked or the usual context:

    experts models:  all on the GPU; experts of as few layers as possible in RAM; a quantised KV cache;
                     less context; fewer layers on the GPU; processor only
    dense models:    all on the GPU; a quantised KV cache; less context; fewer layers on the GPU;
                     processor only

What was set by hand is kept and the rest arranged round it. Every candidate is checked as a whole, on
both sides, so a plan that does not fit cannot come out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clover_gui.hardware.machine import DeviceKind, Gpu, Machine
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.memory import MIB, Layout, all_gpu_layers, gpu_need, ram_need
from clover_gui.planning.plan import DoesNotFit, FitPlan, KvType, Placement, Wishes

USUAL_CONTEXT = 32768
SMALLEST_CONTEXT = 4096
# Below this a full GPU is not worth the context that it costs a dense model.
_SMALLEST_FULL_CONTEXT = 8192
# Without a GPU: more context than this only where RAM abounds, and never more than twice as much.
_CPU_CONTEXT = 8192
# RAM that stays free for other programs, and below which the plan says that it is tight.
_RAM_RESERVE_BYTES = 512 * MIB
_RAM_TIGHT_BYTES = 2048 * MIB


def make_plan(
    machine: Machine, model: ModelFile, wishes: Wishes | None = None, usable_gpu: Gpu | None = None
) -> FitPlan | DoesNotFit:
    """The best placement that fits, or what the smallest one lacks.

    ``usable_gpu`` is the device that the engine can use (None: none), with the memory that is free now.
    """
    return _Planner(machine, model, wishes or Wishes(), usable_gpu).plan()


class _Planner:
    """One planning run: the facts, and the steps from candidates to a checked plan."""

    def __init__(self, machine: Machine, model: ModelFile, wishes: Wishes, gpu: Gpu | None) -> None:
        self._model = model
        self._wishes = wishes
        self._gpu = gpu
        self._ram_free = machine.memory.available_bytes
        self._gpu_free = _gpu_free(gpu, self._ram_free)
        self._threads = wishes.threads or max(1, machine.processor.physical_cores - 1)
        self._has_devices = bool(machine.gpus) or gpu is not None
        self._trained = model.trained_context or SMALLEST_CONTEXT

    def plan(self) -> FitPlan | DoesNotFit:
        for layout in self._gpu_layouts():
            if self._fits(layout):
                return self._finished(layout)
        if self._gpu_free is not None and self._gpu_by_hand():
            return self._no_gpu_fit()
        for layout in self._cpu_layouts():
            if self._fits(layout):
                return self._finished(layout)
        return self._no_ram_fit([*self._cpu_layouts(), *self._on_gpu()])

    # ---------------------------------------------------------------- candidates, the best first

    def _gpu_layouts(self) -> Iterator[Layout]:
        if self._gpu_free is None:
            return
        if self._wishes.gpu_layers is not None:
            if self._wishes.gpu_layers > 0:
                yield from self._with_experts(min(self._wishes.gpu_layers, all_gpu_layers(self._model)))
            return
        if self._can_move_experts():
            yield from self._with_experts(all_gpu_layers(self._model))
        else:
            yield from self._full()
        yield from self._partial()

    def _with_experts(self, gpu_layers: int) -> Iterator[Layout]:
        """All experts on the GPU, then those of more and more layers in RAM, then smaller caches."""
        context = self._usual_context()
        counts = self._expert_counts()
        for count in counts:
            yield self._layout(gpu_layers, count, context, self._kv_types()[0])
        for smaller in self._contexts(SMALLEST_CONTEXT):
            for kv_type in self._kv_types():
                yield self._layout(gpu_layers, counts[-1], smaller, kv_type)

    def _full(self) -> Iterator[Layout]:
        for context in self._contexts(_SMALLEST_FULL_CONTEXT):
            for kv_type in self._kv_types():
                yield self._layout(all_gpu_layers(self._model), self._expert_counts()[0], context, kv_type)

    def _partial(self) -> Iterator[Layout]:
        """Fewer layers on the GPU (experts, if any, in RAM), at a moderate context.

        Not where the place of the experts was set by hand: whole layers in RAM would take theirs along.
        """
        if self._can_move_experts() and self._wishes.cpu_expert_layers is not None:
            return
        context = self._wishes.context or min(self._usual_context(), _SMALLEST_FULL_CONTEXT)
        for gpu_layers in range(self._model.layer_count, 1, -1):
            yield self._layout(
                gpu_layers, self._expert_counts()[-1], self._limited(context), self._kv_types()[0]
            )

    def _cpu_layouts(self) -> Iterator[Layout]:
        """Everything in RAM. Long contexts are read slowly here: they are chosen only where RAM abounds."""
        for context in self._contexts(SMALLEST_CONTEXT):
            if self._wishes.context is None and context > _CPU_CONTEXT:
                need = ram_need(self._model, self._layout(0, 0, context, self._kv_types()[0])).total
                if context > 2 * _CPU_CONTEXT or 4 * need > self._ram_free:
                    continue
            for kv_type in self._kv_types():
                yield self._layout(0, 0, context, kv_type)

    def _layout(self, gpu_layers: int, cpu_experts: int, context: int, kv_type: KvType) -> Layout:
        return Layout(gpu_layers, cpu_experts, context, kv_type, self._wishes.batch)

    def _expert_counts(self) -> list[int]:
        if self._wishes.cpu_expert_layers is not None and self._model.is_moe:
            return [max(0, min(self._wishes.cpu_expert_layers, self._model.layer_count))]
        return list(range(self._model.layer_count + 1)) if self._can_move_experts() else [0]

    def _can_move_experts(self) -> bool:
        """Experts in RAM relieve a card with memory of its own; one that shares the RAM gains nothing."""
        return self._model.is_moe and self._gpu is not None and self._gpu.kind is DeviceKind.DISCRETE

    def _kv_types(self) -> list[KvType]:
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

    # ---------------------------------------------------------------- checks

    def _fits(self, layout: Layout) -> bool:
        return self._fits_gpu(layout) and self._ram_use(layout) + _RAM_RESERVE_BYTES <= self._ram_free

    def _fits_gpu(self, layout: Layout) -> bool:
        if layout.gpu_layers <= 0:
            return True
        needed = gpu_need(self._model, layout).total + self._wishes.reserve_bytes
        return self._gpu_free is not None and needed <= self._gpu_free

    def _ram_use(self, layout: Layout) -> int:
        """RAM in all: a device without enough memory of its own takes the rest of its part from there."""
        gpu, ram, device = gpu_need(self._model, layout), ram_need(self._model, layout), self._gpu
        if device is None or device.kind is DeviceKind.DISCRETE or not gpu.total:
            return ram.total
        own = 0 if device.kind is DeviceKind.UNIFIED else device.vram_free_bytes or 0
        return ram.total + max(0, gpu.total - own)

    # ---------------------------------------------------------------- results

    def _finished(self, layout: Layout) -> FitPlan:
        return FitPlan(
            placement=self._placement(layout),
            context=layout.context,
            kv_type=layout.kv_type,
            gpu_layers=layout.gpu_layers,
            cpu_expert_layers=layout.cpu_expert_layers,
            threads=self._threads,
            gpu=gpu_need(self._model, layout),
            ram=ram_need(self._model, layout),
            gpu_available_bytes=self._gpu_free or 0,
            ram_available_bytes=self._ram_free,
            gpu_name=self._gpu.name if self._gpu and layout.gpu_layers > 0 else "",
            batch=layout.batch,
            reserve_bytes=self._wishes.reserve_bytes if layout.gpu_layers > 0 else 0,
            warnings=self._warnings(layout),
        )

    def _placement(self, layout: Layout) -> Placement:
        if layout.gpu_layers <= 0:
            return Placement.CPU_ONLY
        if layout.gpu_layers < all_gpu_layers(self._model):
            return Placement.PARTIAL_GPU
        return Placement.EXPERTS_ON_CPU if layout.cpu_expert_layers else Placement.FULL_GPU

    def _warnings(self, layout: Layout) -> tuple[str, ...]:
        placement = self._placement(layout)
        by_hand = self._wishes.gpu_layers == 0
        usual = self._usual_context() if layout.gpu_layers else min(self._usual_context(), _CPU_CONTEXT)
        found = {
            "gpu-unusable": self._has_devices and self._gpu_free is None,
            "not-on-gpu": self._gpu_free is not None and placement is Placement.CPU_ONLY and not by_hand,
            "context-limited": (self._wishes.context or 0) > self._trained,
            "context-reduced": layout.context < usual,
            "kv-quantised": layout.kv_type is not KvType.F16 and self._wishes.kv_type is None,
            "experts-in-ram": placement is Placement.EXPERTS_ON_CPU,
            "partly-on-gpu": placement is Placement.PARTIAL_GPU,
            "ram-tight": self._ram_free - self._ram_use(layout) < _RAM_TIGHT_BYTES,
        }
        return tuple(word for word, holds in found.items() if holds)

    def _gpu_by_hand(self) -> bool:
        """Whether a place on the GPU was asked for, so that the processor alone is no answer."""
        if self._wishes.gpu_layers is not None:
            return self._wishes.gpu_layers > 0
        return self._can_move_experts() and self._wishes.cpu_expert_layers is not None

    def _on_gpu(self) -> list[Layout]:
        """Candidates whose part on the GPU fits there."""
        return [layout for layout in self._gpu_layouts() if self._fits_gpu(layout)]

    def _no_gpu_fit(self) -> DoesNotFit:
        """Of what was set by hand the smallest form, and what would help."""
        if found := self._on_gpu():
            return self._no_ram_fit(found)
        needed = min(gpu_need(self._model, layout).total for layout in self._gpu_layouts())
        by_hand = self._wishes
        words = {
            "smaller-context": (by_hand.context or 0) > SMALLEST_CONTEXT,
            "kv-q8_0": by_hand.kv_type is KvType.F16,
            "more-experts-in-ram": self._expert_counts()[-1] < self._model.layer_count
            and self._can_move_experts(),
            "fewer-gpu-layers": bool(by_hand.gpu_layers),
            "smaller-reserve": needed <= (self._gpu_free or 0),
            "close-programs": True,
        }
        available = max(0, (self._gpu_free or 0) - by_hand.reserve_bytes)
        return DoesNotFit("gpu", needed, available, tuple(word for word, helps in words.items() if helps))

    def _no_ram_fit(self, candidates: list[Layout]) -> DoesNotFit:
        """The RAM is what is missing: how much for the smallest of ``candidates``, and what would help."""
        needed = min(self._ram_use(layout) for layout in candidates)
        available = max(0, self._ram_free - _RAM_RESERVE_BYTES)
        smallest = replace(
            min(candidates, key=self._ram_use), context=self._limited(SMALLEST_CONTEXT), kv_type=KvType.Q8_0
        )
        curable = self._ram_use(smallest) <= available
        words = {
            "smaller-context": curable and (self._wishes.context or 0) > SMALLEST_CONTEXT,
            "kv-q8_0": curable and self._wishes.kv_type is KvType.F16,
            "close-programs": True,
            "smaller-model": True,
        }
        return DoesNotFit("ram", needed, available, tuple(word for word, helps in words.items() if helps))


def _gpu_free(gpu: Gpu | None, ram_free: int) -> int | None:
    """What the device can hold now. Shared RAM counts for integrated devices only, and only if it is free."""
    if gpu is None or (gpu.vram_free_bytes is None and gpu.shared_free_bytes is None):
        return None
    own = gpu.vram_free_bytes or 0
    if gpu.kind is DeviceKind.UNIFIED:
        return min(own, ram_free)
    if gpu.kind is DeviceKind.INTEGRATED:
        return own + min(gpu.shared_free_bytes or 0, ram_free)
    return own
