"""What was set by hand for each model file, kept in the settings and found again there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from clover_gui.planning.plan import KvType
from clover_gui.settings import ByHand, Settings
from clover_gui.ui.setup.plan_controls import PlanWishes


class HandMemory:
    """``change`` keeps other settings in place of ``settings``. The choice of a card is a setting of its own
    and not kept here."""

    def __init__(self, settings: Callable[[], Settings], change: Callable[[Settings], None]) -> None:
        self._settings = settings
        self._change = change

    def recall(self, path: Path) -> PlanWishes:
        """What this file was last loaded with by hand."""
        kept = self._settings().by_hand_for(path) or ByHand(str(path))
        return PlanWishes(
            kept.context or None,
            KvType(kept.kv_type) if kept.kv_type else None,
            kept.cpu_expert_layers if kept.cpu_expert_layers >= 0 else None,
        )

    def keep(self, path: Path, wishes: PlanWishes) -> None:
        """The file was loaded with these."""
        experts = -1 if wishes.cpu_expert_layers is None else wishes.cpu_expert_layers
        kv_type = wishes.kv_type.value if wishes.kv_type else ""
        before = self._settings()
        after = before.with_by_hand(ByHand(str(path), wishes.context or 0, kv_type, experts))
        if after != before:
            self._change(after)
