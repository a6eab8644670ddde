"""What the person set by hand for the chosen file, and the one change to it that would make the file fit."""

from __future__ import annotations

from collections.abc import Callable

from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import EngineInfo
from clover_gui.explain import cure_text
from clover_gui.hardware.machine import Machine
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.prepare import Services
from clover_gui.pipeline.preview import preview
from clover_gui.planning.cure import Cure
from clover_gui.planning.plan import Wishes
from clover_gui.ui.setup.plan_card import PlanCard
from clover_gui.ui.setup.plan_controls import PlanWishes


class HandWishes:
    """``usual`` are the wishes of the settings; ``keep_graphics`` keeps a choice of a graphics card there."""

    def __init__(
        self, card: PlanCard, usual: Callable[[], Wishes], keep_graphics: Callable[[str], None]
    ) -> None:
        self._card = card
        self._usual = usual
        self._keep_graphics = keep_graphics
        self._cure: Cure | None = None
        self.values = PlanWishes()

    def now(self) -> Wishes:
        """The wishes in force."""
        return self.values.over(self._usual())

    def take(self, values: PlanWishes) -> None:
        """From now on these."""
        self.values = values
        if values.graphics is not None:
            self._keep_graphics(values.graphics)

    def forget(self) -> None:
        """Another file: nothing is set for it."""
        self.values = PlanWishes()
        self._card.controls.reset()

    def forget_cure(self) -> None:
        """Something else is planned."""
        self._cure = None

    async def offer_cure(
        self, engine: Engine, facts: tuple[Machine, EngineInfo, ModelFile], services: Services
    ) -> None:
        """Look for the one change with which it would fit, and offer it on the card."""
        found = await preview(engine, *facts, self.now(), services)
        self._cure = found.cure
        if found.cure is not None:
            self._card.show_cure(cure_text(found.cure))

    def cured(self) -> PlanWishes | None:
        """The values with the change that was offered, shown in the controls as well; None: none was."""
        if self._cure is None:
            return None
        values = self.values.cured(self._cure, self._usual())
        self._card.controls.show_wishes(values)
        return values
