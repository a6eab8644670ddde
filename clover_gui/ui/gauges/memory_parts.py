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
    CHATS = "chats"
    WORKING = "working"
    OTHERS = "others"
    MISSING = "missing"


def part_name(part: MemoryPart) -> str:
    return {
        MemoryPart.MODEL: _("model"),
        MemoryPart.CONTEXT: _("context"),
        MemoryPart.CHATS: _("other chats, at most"),
        MemoryPart.WORKING: _("working space"),
        MemoryPart.OTHERS: _("other programs"),
        MemoryPart.MISSING: _("missing"),
    }[part]


def part_color(part: MemoryPart, colors: Colors) -> QColor:
    color = QColor(
        {
            MemoryPart.MODEL: colors.gauge_ours,
            MemoryPart.CONTEXT: colors.gauge_writing,
            MemoryPart.CHATS: colors.gauge_writing,
            MemoryPart.WORKING: colors.gauge_reading,
            MemoryPart.OTHERS: colors.gauge_others,
            MemoryPart.MISSING: colors.danger,
        }[part]
    )
    if part is MemoryPart.CHATS:
        color.setAlphaF(0.45)
    return color


def parts_of(need: Need) -> dict[MemoryPart, int]:
    """A planned need by parts; nothing of it is left out."""
    return {
        MemoryPart.MODEL: need.weights,
        MemoryPart.CONTEXT: need.kv + need.recurrent,
        MemoryPart.CHATS: need.copies,
        MemoryPart.WORKING: need.compute + need.overhead + need.output,
    }


def in_use(ours: int, need: Need | None) -> dict[MemoryPart, int]:
    """What is in use now, divided as planned; what nobody planned counts as working space."""
    if need is None:
        return {MemoryPart.MODEL: ours}
    model = min(ours, need.weights)
    context = min(ours - model, need.kv + need.recurrent)
    return {
        MemoryPart.MODEL: model,
        MemoryPart.CONTEXT: context,
        MemoryPart.WORKING: ours - model - context,
    }


def segments(parts: Mapping[MemoryPart, int], total: int, colors: Colors) -> tuple[Segment, ...]:
    """The coloured pieces of a bar of ``total`` bytes."""
    return tuple(
        Segment(parts[part] / max(1, total), part_color(part, colors))
        for part in MemoryPart
        if parts.get(part, 0) > 0
    )
