"""What the person's settings wish of a plan, for both front ends."""

from __future__ import annotations

from clover_gui.planning.plan import KvType, Wishes
from clover_gui.settings import Settings


def wishes_of(settings: Settings) -> Wishes:
    """The wishes of the settings; what they leave open the planner chooses."""
    return Wishes(
        context=settings.context or None,
        kv_type=KvType(settings.kv_type) if settings.kv_type else None,
        reserve_bytes=settings.reserve_mb << 20 if settings.reserve_mb >= 0 else None,
        graphics=settings.graphics,
    )
