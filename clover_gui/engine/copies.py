"""Copies of the engine's state within a budget of bytes: checkpoints of the present conversation, and the
whole states of others that it was left for.

Knows what a copy is worth and which one goes first; does not know the engine.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Buffer = ctypes.Array[Any]
# So many checkpoints of the present conversation are kept whatever the budget says.
_LEAST_CHECKPOINTS = 2


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The recurrent state after ``length`` tokens of a conversation.

    ``rolling``: only there for a stop while a long prompt is read; replaced by the next one.
    """

    length: int
    state: Buffer
    rolling: bool = False


@dataclass(slots=True, eq=False)
class Parked:
    """The whole state of a conversation that is not the present one, with checkpoints before its end."""

    tokens: array[int]
    state: Buffer
    checkpoints: list[Checkpoint] = field(default_factory=list)


class Copies:
    """All copies of one context. The oldest parked state stands first, checkpoints by length."""

    def __init__(self, budget_bytes: int) -> None:
        self.checkpoints: list[Checkpoint] = []
        self.parked: list[Parked] = []
        self._budget_bytes = budget_bytes
        self._spare: Buffer | None = None

    @property
    def size_bytes(self) -> int:
        """What all copies take."""
        points = {id(point): len(point.state) for point in self._all_checkpoints()}
        return sum(points.values()) + sum(len(parked.state) for parked in self.parked)

    def take_spare(self) -> Buffer | None:
        """A buffer of a dropped checkpoint: filling it again is quicker than making a new one."""
        spare, self._spare = self._spare, None
        return spare

    def add(self, point: Checkpoint) -> None:
        """A new checkpoint at the end of the present conversation; older copies make room for it."""
        self.drop([old for old in self.checkpoints if old.rolling or old.length >= point.length])
        self.checkpoints.append(point)
        self._make_room(0)

    def drop(self, points: Iterable[Checkpoint]) -> None:
        """Remove checkpoints of the present conversation."""
        for point in list(points):
            self.checkpoints.remove(point)
            self._recycle(point)

    def has_room(self, size_bytes: int) -> bool:
        """Whether a copy of this size fits without another one going."""
        return self.size_bytes + size_bytes <= self._budget_bytes

    def room_for(self, size_bytes: int) -> bool:
        """Drop what is worth less than a state of this size; False if it would not fit all the same."""
        if size_bytes > self._budget_bytes:
            return False
        self._make_room(size_bytes)
        return self.size_bytes + size_bytes <= self._budget_bytes

    def park(self, parked: Parked) -> None:
        """Keep a state. States that are only a beginning of it go."""
        for old in list(self.parked):
            if parked.tokens[: len(old.tokens)] == old.tokens:
                self.unpark(old)
        self.parked.append(parked)
        self._make_room(0)

    def unpark(self, parked: Parked) -> None:
        """Take a state out of the collection."""
        self.parked.remove(parked)

    def clear(self) -> None:
        self.drop(self.checkpoints)
        self.parked.clear()

    def _make_room(self, size_bytes: int) -> None:
        """The copies that are missed least go first."""
        while self.size_bytes + size_bytes > self._budget_bytes:
            older = next((parked for parked in self.parked if parked.checkpoints), None)
            if older is not None:
                self._recycle(older.checkpoints.pop(0))
            elif len(self.checkpoints) > _LEAST_CHECKPOINTS:
                # The first one may be shared with other conversations, the last ones with the next turn.
                self.drop([self.checkpoints[min(1, len(self.checkpoints) - _LEAST_CHECKPOINTS - 1)]])
            elif self.parked:
                self.parked.pop(0)
            else:
                return

    def _all_checkpoints(self) -> list[Checkpoint]:
        return [*self.checkpoints, *(point for parked in self.parked for point in parked.checkpoints)]

    def _recycle(self, point: Checkpoint) -> None:
        if not any(point is other for other in self._all_checkpoints()):
            self._spare = point.state


def shared_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many items both begin with. Compares whole slices: long chats have a hundred thousand items."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
