"""What a machine can hold of a model: free memory against need, for each GPU and for the RAM. No choices.

Needs come from ``memory.py``; what was learned on this machine replaces the assumptions there.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from clover_gui.hardware.bandwidth import assumed_ram_bandwidth, gpu_bandwidth
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.memory import (
    DRIVER_OVERHEAD_BYTES,
    MIB,
    Layout,
    compute_bytes,
    gpu_needs,
    ram_need,
    split_layers,
    useful_copies_bytes,
)
from clover_gui.planning.plan import DeviceShare, Need, Speed, Wishes
from clover_gui.planning.speed import Bandwidths, expected_speed

# RAM that stays free for other programs, and below which a plan says that it is tight.
RAM_RESERVE_BYTES = 512 * MIB
RAM_TIGHT_BYTES = 2048 * MIB
# A card that draws the screen needs more at times: windows, videos, browsers.
DISPLAY_RESERVE_BYTES = 1024 * MIB
HEADLESS_RESERVE_BYTES = 512 * MIB
# Copies of states get a part of the RAM that nobody else needs, or this where that is less.
_COPIES_BYTES, _COPIES_SHARE = 512 * MIB, 0.25


@dataclass(frozen=True, slots=True)
class Known:
    """What was measured on this machine. Sizes in bytes.

    ``overheads`` are what the driver took beside the engine's buffers, one for each usable GPU (None: not
    measured). ``extra_gpu_bytes`` and ``extra_ram_bytes`` are what a plan needed more than the formula said;
    they are added on every GPU and in RAM.
    """

    overheads: tuple[int | None, ...] = ()
    extra_gpu_bytes: int = 0
    extra_ram_bytes: int = 0


class Budget:
    """Answers "does this layout fit?", and by what. Sums are kept for each layout."""

    def __init__(
        self, machine: Machine, model: ModelFile, wishes: Wishes, gpus: tuple[Gpu, ...], known: Known
    ) -> None:
        self._machine = machine
        self._model = model
        self._known = known
        self._reserve = wishes.reserve_bytes
        self.ram_free, self.ram_total = machine.memory.available_bytes, machine.memory.total_bytes
        measured = known.overheads or (None,) * len(gpus)
        sized = [
            (gpu, DRIVER_OVERHEAD_BYTES if overhead is None else overhead, free)
            for gpu, overhead in zip(gpus, measured, strict=True)
            if (free := usable_bytes(gpu, self.ram_free)) is not None
        ]
        self.gpus = tuple(gpu for gpu, _, _ in sized)
        self._overheads = tuple(overhead + known.extra_gpu_bytes for _, overhead, _ in sized)
        self._free = tuple(free for _, _, free in sized)
        self._needs = functools.lru_cache(maxsize=256)(self._gpu_needs)
        self._ram_need = functools.lru_cache(maxsize=256)(self._compute_ram_need)

    @property
    def has_gpu(self) -> bool:
        """Whether there is a usable device of known size."""
        return bool(self.gpus)

    @property
    def kind(self) -> DeviceKind | None:
        """The kind of the first device: devices of different kinds are never used together."""
        return self.gpus[0].kind if self.gpus else None

    @property
    def gpu_free(self) -> int:
        return sum(self._free)

    def reserve(self, gpu: Gpu) -> int:
        """What stays free on this device: the person's number, or more where a screen hangs on it."""
        if self._reserve is not None:
            return self._reserve
        return HEADLESS_RESERVE_BYTES if gpu.drives_display is False else DISPLAY_RESERVE_BYTES

    @property
    def reserve_total(self) -> int:
        return sum(self.reserve(gpu) for gpu in self.gpus)

    def parts(self, layout: Layout) -> list[range]:
        """The layers of each GPU."""
        if len(self.gpus) == 1:
            return split_layers(self._model, layout, [1])
        computing = compute_bytes(self._model, layout)
        rooms = [
            max(0, free - self.reserve(gpu) - overhead - computing)
            for gpu, overhead, free in zip(self.gpus, self._overheads, self._free, strict=True)
        ]
        return split_layers(self._model, layout, rooms)

    def gpu_total(self, layout: Layout) -> Need:
        return sum(self._needs(layout), Need())

    def fits_gpus(self, layout: Layout) -> bool:
        if layout.gpu_layers <= 0:
            return True
        return self.has_gpu and all(
            need.total + self.reserve(gpu) <= free
            for gpu, need, free in zip(self.gpus, self._needs(layout), self._free, strict=True)
        )

    def fits_ram(self, layout: Layout) -> bool:
        return self.ram_use(layout) + RAM_RESERVE_BYTES <= self.ram_free

    def ram_is_tight(self, layout: Layout) -> bool:
        return self.ram_free - self.ram_use(layout) < RAM_TIGHT_BYTES

    def ram_need(self, layout: Layout) -> Need:
        """With the least that copies of states may take; ``copies_bytes`` says what they get."""
        return self._ram_need(layout)

    def copies_bytes(self, layout: Layout) -> int:
        """The bound for copies of states: what is useful, as far as it leaves the RAM at ease."""
        spare = max(0, self.ram_free - RAM_TIGHT_BYTES - self.ram_use(layout))
        share = max(int(_COPIES_SHARE * spare), min(_COPIES_BYTES, spare))
        return max(self.ram_need(layout).copies, min(share, useful_copies_bytes(self._model, layout)))

    def ram_use(self, layout: Layout) -> int:
        """RAM in all: a device without enough memory of its own takes the rest of its part from there."""
        ram, gpu = self.ram_need(layout).total, self.gpu_total(layout).total
        if not self.gpus or self.kind is DeviceKind.DISCRETE or not gpu:
            return ram
        own = 0 if self.kind is DeviceKind.UNIFIED else self.gpus[0].vram_free_bytes or 0
        return ram + max(0, gpu - own)

    def shares(self, layout: Layout) -> tuple[DeviceShare, ...]:
        """What each device gets; empty when nothing is on a GPU."""
        if layout.gpu_layers <= 0:
            return ()
        return tuple(
            DeviceShare(
                gpu.name,
                len(part),
                need,
                free,
                self.reserve(gpu),
                gpu.bus_id,
                gpu.driver,
                gpu.engine_name,
                gpu.vram_total_bytes or 0,
                gpu.kind is DeviceKind.UNIFIED,
            )
            for gpu, part, need, free in zip(
                self.gpus, self.parts(layout), self._needs(layout), self._free, strict=True
            )
        )

    def speed(self, layout: Layout, threads: int) -> Speed:
        processor = self._machine.processor
        ram = self._machine.memory.bandwidth or assumed_ram_bandwidth(processor)
        bandwidths = Bandwidths(tuple(gpu_bandwidth(gpu, ram) for gpu in self.gpus), ram)
        return expected_speed(self._model, layout, self.parts(layout), bandwidths, processor, threads)

    def _gpu_needs(self, layout: Layout) -> tuple[Need, ...]:
        return gpu_needs(self._model, layout, self.parts(layout), self._overheads)

    def _compute_ram_need(self, layout: Layout) -> Need:
        return ram_need(self._model, layout) + Need(overhead=self._known.extra_ram_bytes)


def usable_bytes(gpu: Gpu, ram_free: int) -> int | None:
    """What the device can hold now; None where its size is unknown.

    A card's shared memory never counts. Graphics in the processor are one pool: what was set aside for
    them and is free, plus what they may borrow, of which the RAM must really have it free. A device that
    shares the RAM wholly can use what is free there.
    """
    if gpu.vram_free_bytes is None and gpu.shared_free_bytes is None:
        return None
    own = gpu.vram_free_bytes or 0
    if gpu.kind is DeviceKind.UNIFIED:
        return min(own, ram_free)
    if gpu.kind is DeviceKind.INTEGRATED:
        return own + min(gpu.shared_free_bytes or 0, ram_free)
    return own
