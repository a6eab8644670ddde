"""Does it speak? The question that is asked after a repair and a load, and the judgement of the answer.

Pure: asking it is done by whoever has an engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from clover_gui.i18n import capped

QUESTION = "What is the capital of Australia? Answer in one short sentence."
EXPECTED = ("canberra",)
# Asked greedily and with thinking off; a right answer needs about ten tokens.
MAX_TOKENS = 96
_SHOWN = 120
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
# A unit of up to 24 characters, eight times or more in a row.
_REPEATED = re.compile(r"(.{1,24}?)\1{7,}", re.DOTALL)
_REPEATED_SHARE = 0.5


class Speech(Enum):
    PASSES = "passes"
    FAILS = "fails"
    DEGENERATE = "degenerate"


@dataclass(frozen=True, slots=True)
class SpeechCheck:
    """The verdict and the beginning of the answer (capped, for display)."""

    verdict: Speech
    answer: str

    @property
    def passes(self) -> bool:
        return self.verdict is Speech.PASSES


def judge(answer: str, *, ended: bool, token_count: int = 0) -> SpeechCheck:
    """Judge the whole answer. ``ended``: the model ended it by itself, before MAX_TOKENS.

    Degenerate: one piece of text repeated, or nothing readable although tokens were written. An answer
    with the right name passes even where it would have gone on.
    """
    shown = capped(answer, _SHOWN)
    text = _THOUGHT.sub("", answer).strip()
    if _is_repetition(text) or (not text and token_count > 0 and not ended):
        return SpeechCheck(Speech.DEGENERATE, shown)
    if any(word in text.casefold() for word in EXPECTED):
        return SpeechCheck(Speech.PASSES, shown)
    if "�" in text and not any(c.isalnum() for c in text):
        return SpeechCheck(Speech.DEGENERATE, shown)
    return SpeechCheck(Speech.FAILS, shown)


def _is_repetition(text: str) -> bool:
    repeated = sum(len(found[0]) for found in _REPEATED.finditer(text))
    return repeated > _REPEATED_SHARE * len(text) if text else False
