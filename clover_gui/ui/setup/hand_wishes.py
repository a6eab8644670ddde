"""What the person set by hand for the chosen file, and the one change to it that would make the file fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import EngineInfo
from clover_gui.explain import cure_text
from clover_gui.hardware.machine import Machine
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.prepare import Services
from clover_gui.pipeline.preview import preview
from clover_gui.planning.cure import Cure
from clover_gui.planning.plan import Wishes
from clover_gui.ui.setup.hand_memory import HandMemory
from clover_gui.ui.setup.plan_card import PlanCard
from clover_gui.ui.setup.plan_controls import PlanWishes


class HandWishes:
    """``usual`` are the wishes of the settings; ``keep_graphics`` keeps a choice of a graphics card there,
    and ``memory`` what a file was loaded with. ``as_last_time``: the values were found there."""

    def __init__(
        self,
        card: PlanCard,
        usual: Callable[[], Wishes],
        keep_graphics: Callable[[str], None],
        memory: HandMemory,
    ) -> None:
        self._card = card
        self._usual = usual
        self._keep_graphics = keep_graphics
        self._memory = memory
        self._cure: Cure | None = None
        self._given_way = False
        self.values = PlanWishes()
        self.as_last_time = False

    def now(self) -> Wishes:
        """The wishes in force."""
        return self.values.over(self._usual())

    def take(self, values: PlanWishes) -> None:
        """From now on these."""
        self.values, self.as_last_time, self._given_way = values, False, False
        if values.graphics is not None:
            self._keep_graphics(values.graphics)

    def recall(self, path: Path | None) -> None:
        """Another file (None: one that is not here): what it was loaded with last time, if that was set."""
        self.values = self._memory.recall(path) if path is not None else PlanWishes()
        self.as_last_time, self._given_way = self.values != PlanWishes(), False
        self._card.controls.show_wishes(self.values, as_last_time=self.as_last_time)

    def give_way(self) -> bool:
        """What was set last time does not fit now: everything is automatic, this once. Whether it was set."""
        if not self.as_last_time:
            return False
        self.values, self.as_last_time, self._given_way = PlanWishes(), False, True
        self._card.controls.show_wishes(self.values)
        return True

    def loaded(self, path: Path) -> None:
        """The file was loaded so, and is to be next time."""
        if not self._given_way:
            self._memory.keep(path, self.values)

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
