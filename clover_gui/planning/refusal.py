"""What to say when nothing fits: how much is missing, and which single change would help. No choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clover_gui.planning.budget import RAM_RESERVE_BYTES, Budget
from clover_gui.planning.memory import Layout
from clover_gui.planning.plan import DoesNotFit, KvType, Wishes


def no_gpu_fit(
    budget: Budget, wishes: Wishes, candidates: Sequence[Layout], smallest_context: int, can_move: bool
) -> DoesNotFit:
    """The GPU is what is missing, for the smallest of ``candidates`` (which were asked for by hand).

    ``can_move``: experts of more layers could go to RAM.
    """
    smallest = min(candidates, key=lambda layout: budget.gpu_total(layout).total)
    needed = budget.gpu_total(smallest).total
    available = max(0, budget.gpu_free - budget.reserve_total)
    if needed <= available:
        # Only one of several devices is too small for its part: its gap is what is missing.
        gaps = [s.need.total + s.reserve_bytes - s.available_bytes for s in budget.shares(smallest)]
        needed = available + max(gaps)
    words = {
        "smaller-context": (wishes.context or 0) > smallest_context,
        "kv-q8_0": wishes.kv_type is KvType.F16,
        "more-experts-in-ram": can_move,
        "fewer-gpu-layers": bool(wishes.gpu_layers),
        "smaller-reserve": needed <= budget.gpu_free,
        "close-programs": True,
    }
    weights = budget.gpu_total(smallest).weights
    return DoesNotFit("gpu", needed, available, _true(words), 0, _smaller_file(weights, needed - available))


def no_ram_fit(
    budget: Budget, wishes: Wishes, candidates: Sequence[Layout], smallest_context: int
) -> DoesNotFit:
    """The RAM is what is missing: how much for the smallest of ``candidates``, and what would help."""
    smallest = min(candidates, key=budget.ram_use)
    needed = budget.ram_use(smallest)
    available = max(0, budget.ram_free - RAM_RESERVE_BYTES)
    curable = budget.ram_use(replace(smallest, context=smallest_context, kv_type=KvType.Q8_0)) <= available
    words = {
        "smaller-context": curable and (wishes.context or 0) > smallest_context,
        "kv-q8_0": curable and wishes.kv_type is KvType.F16,
        "close-programs": True,
        "smaller-model": True,
    }
    weights = budget.ram_need(smallest).weights
    return DoesNotFit("ram", needed, available, _true(words), 0, _smaller_file(weights, needed - available))


def _smaller_file(weights: int, missing: int) -> int:
    """How large the weights may be so that the missing bytes are saved; 0 where that is no way out."""
    return max(0, weights - missing) if weights > 2 * missing or weights - missing > weights // 4 else 0


def _true(words: dict[str, bool]) -> tuple[str, ...]:
    return tuple(word for word, holds in words.items() if holds)
