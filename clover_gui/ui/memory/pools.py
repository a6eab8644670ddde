"""The memories of a plan as bars show them: what would lie in each, what is free, what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clover_gui.i18n import _, capped
from clover_gui.planning.plan import FitPlan
from clover_gui.ui.gauges.memory_parts import MemoryPart, parts_of

SHORTEST_NAME = 24


@dataclass(frozen=True, slots=True)
class Pool:
    """One memory with what would lie in it. ``total`` and ``free`` in bytes; red where ``parts`` are more."""

    name: str
    parts: Mapping[MemoryPart, int]
    free: int
    total: int

    @property
    def need(self) -> int:
        return sum(self.parts.values())

    @property
    def is_refused(self) -> bool:
        """Whether it shows what is missing instead of a plan."""
        return MemoryPart.MISSING in self.parts

    @property
    def shown_parts(self) -> dict[MemoryPart, int]:
        """The parts that are worth words, those of others and what is left free included. Where something
        is missing, only that: the rest is merely the part that would fit."""
        if self.is_refused:
            return {MemoryPart.MISSING: self.parts[MemoryPart.MISSING]}
        parts = {part: amount for part, amount in self.parts.items() if amount}
        if self.total > self.free:
            parts[MemoryPart.OTHERS] = self.total - self.free
        if self.free > self.need:
            parts[MemoryPart.FREE] = self.free - self.need
        return parts


def pools_of(plan: FitPlan) -> tuple[Pool, ...]:
    """One for each graphics card, and the RAM."""
    pools = []
    ram = parts_of(plan.ram)
    for share in plan.devices:
        if share.unified:
            ram = {part: ram[part] + amount for part, amount in parts_of(share.need).items()}
            continue
        name = capped(share.name, SHORTEST_NAME) if len(plan.devices) > 1 else _("Graphics memory")
        total = max(share.total_bytes, share.available_bytes)
        pools.append(Pool(name, parts_of(share.need), share.available_bytes, total))
    shared = any(share.unified for share in plan.devices)
    name = _("RAM, shared with the graphics card") if shared else _("RAM")
    total = max(plan.ram_total_bytes, plan.ram_available_bytes)
    return (*pools, Pool(name, ram, plan.ram_available_bytes, total))


def missing_pool(where: str, needed: int, available: int) -> Pool:
    """What is missing; ``where`` is "gpu" or "ram"."""
    name = _("Graphics memory") if where == "gpu" else _("RAM")
    over = max(0, needed - available)
    parts = {MemoryPart.MODEL: needed - over, MemoryPart.MISSING: over}
    return Pool(name, parts, available, max(needed, available))
