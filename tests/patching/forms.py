"""The forms of model files that the tests of this folder go through, and what an engine knows."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from tests.kit.diffuspace import CLOVER, Form
from tests.kit.gguf_parts import HYBRID

# What the pinned engine says, one that came later, and one that is too old for the whole family.
KNOWS_QWEN = {HYBRID: True, CLOVER: False, "llama": True}
KNOWS_BOTH = {HYBRID: True, CLOVER: True, "llama": True}
KNOWS_NEITHER = {HYBRID: False, CLOVER: False, "llama": True}

# No padding, nothing to give up, and a key to be added: only a block at the front or a copy helps.
CRAMPED = Form(
    CLOVER, shared_count=False, raw_decay=True, raw_norms=True, sections="missing", descriptive=False, slack=0
)
# What is to be dropped lies in the middle of the data: only a copy helps.
SURPLUS_INSIDE = Form(
    CLOVER, shared_count=False, raw_decay=True, raw_norms=True, surplus="middle", trailing=17
)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def every_combination() -> Iterator[Form]:
    """Every combination of findings; slack and descriptive keys take turns over them."""
    room = itertools.cycle([(0, False), (31, True), (5, False), (0, True), (17, False), (31, False)])
    for names, values, sections, surplus, next_n in itertools.product(
        ((CLOVER, False), (CLOVER, True), (HYBRID, True)),
        ((False, False), (True, True), (True, False), (False, True)),
        ("right", "missing", "three"),
        ("none", "tail", "middle"),
        ("none", "declared", "undeclared", "counted"),
    ):
        slack, descriptive = next(room)
        yield Form(*names, *values, sections, surplus, next_n, descriptive, slack)


def room_combinations() -> Iterator[Form]:
    """The official form with all kinds of room for the header."""
    for slack, descriptive, sections, vocabulary in itertools.product(
        (0, 1, 13, 31), (False, True), ("right", "missing"), (None, 6000)
    ):
        if vocabulary and slack in (1, 13):
            continue
        yield Form(CLOVER, False, True, True, sections, "none", "none", descriptive, slack, vocabulary)
