"""How the chosen model fits, also one that is not here yet: a plan on the page, or what is missing.

Loads and fetches nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from clover_gui.catalog.entry import CatalogEntry
from clover_gui.engine.engine import Engine
from clover_gui.errors import DoesNotFitError
from clover_gui.ui.setup.engine_supply import EngineSupply
from clover_gui.ui.setup.hand_wishes import HandWishes
from clover_gui.ui.setup.model_fetch import ModelFetch
from clover_gui.ui.setup.setup_display import SetupDisplay
from clover_gui.ui.setup.stage_runner import StageRunner


class Fitting:
    """``refused`` is told what does not fit as it is wished."""

    def __init__(
        self,
        engine: Engine,
        stages: StageRunner,
        supply: EngineSupply,
        display: SetupDisplay,
        fetch: ModelFetch,
        wishes: HandWishes,
        refused: Callable[[DoesNotFitError], None],
    ) -> None:
        self._engine = engine
        self._stages = stages
        self._supply = supply
        self._display = display
        self._fetch = fetch
        self._wishes = wishes
        self._refused = refused

    async def plan(self, path: Path) -> bool:
        """Whether this file fits.

        Raises:
            CloverError: it cannot be planned.
        """
        return await self._fits(lambda: self._stages.plan(path))

    async def plan_ahead(self, entry: CatalogEntry, *, ask: bool) -> Path | None:
        """See how a model would fit that is not here; ``ask`` the hub for it as well. The file, if it turns
        out to be here already.

        Raises:
            CloverError: the hub or the engine cannot be asked.
        """
        shape = self._fetch.shape
        if shape is not None:
            await self._fits(lambda: self._stages.plan_ahead(shape))
        if ask and (here := await self._ask(entry)) is not None:
            return here
        if shape is None and (found := self._fetch.shape) is not None:
            await self._fits(lambda: self._stages.plan_ahead(found))
        return None

    async def _ask(self, entry: CatalogEntry) -> Path | None:
        self._fetch.say_asking()
        here: list[Path | None] = []

        async def ask() -> None:
            here.append(await self._fetch.look_up(entry))

        await self._supply.work_with_engine(ask)
        return here[-1]

    async def _fits(self, planning: Callable[[], Awaitable[None]]) -> bool:
        """Whether the planning comes to a plan; where not, say what is missing and what would cure it."""
        try:
            await self._supply.work_with_engine(planning)
        except DoesNotFitError as error:
            self._display.show_refusal(error)
            self._refused(error)
            if (facts := self._display.facts) is not None:
                await self._wishes.offer_cure(self._engine, facts, self._stages.services)
            return False
        return True
