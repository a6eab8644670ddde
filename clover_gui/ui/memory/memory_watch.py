"""Feeds the memory gauges once a second, and notices when a loaded plan does not fit any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from clover_gui.pipeline.prepare import ReadyToChat
from clover_gui.planning.fit_watch import FitWatch, RefitOffer
from clover_gui.ui.gauges.memory_poll import poll_memory
from clover_gui.ui.gauges.readings import MemoryReading
from clover_gui.ui.gauges.strip import GaugeStrip
from clover_gui.ui.tasks import TaskSet


class MemoryWatch(QObject):
    """``refit_offered`` carries a RefitOffer, at most once for each load. ``engine_pid`` is the number of the
    engine's process, whose memory counts as ours."""

    refit_offered = Signal(object)

    def __init__(self, gauges: GaugeStrip, tasks: TaskSet, engine_pid: Callable[[], int | None]) -> None:
        super().__init__(gauges)
        self._gauges = gauges
        self._tasks = tasks
        self._engine_pid = engine_pid
        self._fit: FitWatch | None = None
        self._polling: asyncio.Task[None] | None = None

    def start(self, ready: ReadyToChat) -> None:
        """Watch this load from now on."""
        if self._polling is not None:
            self._polling.cancel()
        self._gauges.show_plan(ready.plan)
        self._fit = FitWatch(ready.plan)
        polling = poll_memory(ready.gpus, self._engine_pid, self._read)
        self._polling = self._tasks.start(polling, "memory gauges")

    def stop(self) -> None:
        """Nothing is loaded any more: let the drivers go, so that a card may sleep."""
        if self._polling is not None and self._fit is not None:
            self._polling.cancel()
            self._fit = None
            self._gauges.show_plan(None)
            self._gauges.show_memory(None)

    def answered(self, tokens: int, seconds: float) -> None:
        """So many tokens of an answer were written in this time."""
        if self._fit is not None:
            self._offer(self._fit.answer(tokens, seconds))

    async def end(self) -> None:
        """Stop looking and wait until the drivers are let go."""
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)

    def _read(self, reading: MemoryReading) -> None:
        self._gauges.show_memory(reading)
        if self._fit is not None:
            self._offer(self._fit.memory(reading.least_available_vram))

    def _offer(self, offer: RefitOffer | None) -> None:
        if offer is not None:
            self.refit_offered.emit(offer)
