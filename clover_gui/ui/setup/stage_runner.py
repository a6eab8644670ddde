"""Runs the stages of the pipeline for the set-up page: around the machine, up to a plan, or whole.

The same stages as in the terminal. Must not know the page: every stage goes to whoever shows it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from clover_gui.engine.engine import Engine
from clover_gui.model_file.summary import ModelFile
from clover_gui.paths import DataFolder
from clover_gui.pipeline.ahead import plan_ahead
from clover_gui.pipeline.dry_run import DryEngine
from clover_gui.pipeline.prepare import (
    Planned,
    RepairWish,
    Services,
    StageEvent,
    look_around,
    prepare,
)
from clover_gui.planning.plan import Wishes


class StageRunner:
    """``show`` gets every stage; ``wishes`` are those in force; ``make_engine`` makes those for dry runs."""

    def __init__(
        self,
        engine: Engine,
        data: DataFolder,
        models_folder: Callable[[], Path],
        wishes: Callable[[], Wishes],
        make_engine: Callable[[], DryEngine],
        show: Callable[[StageEvent], None],
    ) -> None:
        self._engine = engine
        self._data = data
        self._models_folder = models_folder
        self._wishes = wishes
        self._make_engine = make_engine
        self._show = show
        self._services: Services | None = None

    @property
    def services(self) -> Services:
        """Dry runs and measurements; one for the whole run of the program."""
        if self._services is None:
            self._services = Services.for_folder(self._data.root, self._make_engine)
        return self._services

    def forget_services(self) -> None:
        """What they know of dry runs is that of another engine."""
        self._services = None

    async def look_around(self) -> None:
        """Machine and engine."""
        looking = look_around(self._engine, self._models_folder(), self._wishes().graphics)
        async with contextlib.aclosing(looking) as stages:
            async for stage in stages:
                self._show(stage)

    async def plan(self, path: Path) -> None:
        """Up to the plan for this file; nothing is changed or loaded.

        Raises:
            CloverError: of the stage that failed; DoesNotFitError where nothing fits as it is wished.
        """
        stages = prepare(self._engine, path, self._models_folder(), self._wishes(), self.services)
        async with contextlib.aclosing(stages):
            async for stage in stages:
                self._show(stage)
                if isinstance(stage, Planned):
                    return

    async def plan_ahead(self, model: ModelFile) -> None:
        """The plan for a model that is not here yet.

        Raises:
            CloverError: of the stage that failed; DoesNotFitError where nothing fits as it is wished.
        """
        stages = plan_ahead(self._engine, model, self._models_folder(), self._wishes(), self.services)
        async with contextlib.aclosing(stages):
            async for stage in stages:
                self._show(stage)

    async def load(self, path: Path) -> None:
        """Everything, with memory measured anew; the file is repaired where it needs that.

        Raises:
            CloverError: of the stage that failed.
        """
        stages = prepare(
            self._engine,
            path,
            self._models_folder(),
            self._wishes(),
            self.services,
            repair=RepairWish.ALLOW,
        )
        async with contextlib.aclosing(stages):
            async for stage in stages:
                self._show(stage)
