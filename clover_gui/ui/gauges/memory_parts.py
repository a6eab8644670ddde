"""The parts of memory as all bars show them: one name and one colour each, planned or in use."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from PySide6.QtGui import QColor

from clover_gui.i18n import _
from clover_gui.planning.plan import Need
from clover_gui.ui.colors import Colors
from clover_gui.ui.gauges.segment_bar import Segment


class MemoryPart(StrEnum):
    """In the order of the bars, from the left."""

    MODEL = "model"
    CONTEXT = "context"
    STATE = "state"
    CHATS = "chats"
    WORKING = "working"
    OVERHEAD = "overhead"
    OTHERS = "others"
    MISSING = "missing"
    FREE = "free"


# Parts that belong together have one colour, the smaller one paler.
_PALER = {MemoryPart.STATE: 0.7, MemoryPart.CHATS: 0.45, MemoryPart.OVERHEAD: 0.55}


def part_name(part: MemoryPart) -> str:
    return {
        MemoryPart.MODEL: _("model"),
        MemoryPart.CONTEXT: _("context"),
        MemoryPart.STATE: _("state"),
        MemoryPart.CHATS: _("other chats, at most"),
        MemoryPart.WORKING: _("working space"),
        MemoryPart.OVERHEAD: _("overhead"),
        MemoryPart.OTHERS: _("other programs"),
        MemoryPart.MISSING: _("missing"),
        MemoryPart.FREE: _("free"),
    }[part]


def part_color(part: MemoryPart, colors: Colors) -> QColor:
    color = QColor(
        {
            MemoryPart.MODEL: colors.gauge_ours,
            MemoryPart.CONTEXT: colors.gauge_writing,
            MemoryPart.STATE: colors.gauge_writing,
            MemoryPart.CHATS: colors.gauge_writing,
            MemoryPart.WORKING: colors.gauge_reading,
            MemoryPart.OVERHEAD: colors.gauge_reading,
            MemoryPart.OTHERS: colors.gauge_others,
            MemoryPart.MISSING: colors.danger,
            MemoryPart.FREE: colors.gauge_free,
        }[part]
    )
    color.setAlphaF(_PALER.get(part, 1.0))
    return color


def parts_of(need: Need) -> dict[MemoryPart, int]:
    """A planned need by parts; nothing of it is left out."""
    return {
        MemoryPart.MODEL: need.weights,
        MemoryPart.CONTEXT: need.kv,
        MemoryPart.STATE: need.recurrent,
        MemoryPart.CHATS: need.copies,
        MemoryPart.WORKING: need.compute + need.output,
        MemoryPart.OVERHEAD: need.overhead,
    }


def in_use(ours: int, need: Need | None) -> dict[MemoryPart, int]:
    """What is in use now, divided as planned; what nobody planned counts as overhead."""
    if need is None:
        return {MemoryPart.MODEL: ours}
    parts: dict[MemoryPart, int] = {}
    left = ours
    for part, planned in parts_of(need).items():
        if part not in (MemoryPart.CHATS, MemoryPart.OVERHEAD):
            parts[part] = min(left, planned)
            left -= parts[part]
    return parts | {MemoryPart.OVERHEAD: left}


def segments(parts: Mapping[MemoryPart, int], total: int, colors: Colors) -> tuple[Segment, ...]:
    """The coloured pieces of a bar of ``total`` bytes."""
    return tuple(
        Segment(parts[part] / max(1, total), part_color(part, colors))
        for part in MemoryPart
        if parts.get(part, 0) > 0
    )
