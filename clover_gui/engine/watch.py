"""Follows one answer while it is written: thoughts or answer, how many tokens of each, loops, pressure.

Decides, and leaves acting to answer.py. Knows tokens as numbers with their texts, and nothing of the engine.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto

from clover_gui.engine.budget import Budget
from clover_gui.engine.loops import LoopDetector
from clover_gui.engine.protocol import (
    CAUSE_FILE,
    CAUSE_LONG_CONTEXT,
    CAUSE_REPETITION,
    CLOSED_LOOP,
    Limits,
)
from clover_gui.engine.thinking import PieceKind, ThinkingSplitter

# A context this full is suspected before the file is.
_FAR_INTO_CONTEXT = 32_768
# Tokens of a cycle that can be gibberish; a sentence or a list is longer.
_SHORT_CYCLE = 8
# Tokens of the blank lines between thoughts that were closed from outside and the answer, at most.
_FORCED = 2


class Verdict(Enum):
    """What shall happen after a token."""

    GO_ON = auto()
    CLOSE_THINKING = auto()
    STOP = auto()  # the answer is in a loop


class AnswerWatch:
    """``take`` every token that was written, also those that were forced."""

    def __init__(self, limits: Limits, budget: Budget, *, in_thinking: bool) -> None:
        self._budget = budget
        self._limits = limits
        self._splitter = ThinkingSplitter(in_thinking)
        self._loops = LoopDetector(limits.loop_tokens)
        self._newest: deque[str] = deque(maxlen=_SHORT_CYCLE)
        self.thinking_tokens = 0
        self.answer_tokens = 0
        # Of both, what an earlier part of the answer has: the limits are those of the whole.
        self._thinking_before = self._answer_before = 0
        # CLOSED_*, once the thoughts were or are being closed from outside.
        self.closed = ""
        self._closing = False
        self._gibberish_thoughts = False

    @property
    def in_thinking(self) -> bool:
        return self._splitter.in_thinking

    @property
    def has_answer(self) -> bool:
        """Whether anything but tags and the white space around them came behind the thoughts."""
        return self._answer_before + self.answer_tokens > 0

    @property
    def pressure(self) -> float:
        """To be added to what ends the present part."""
        if self.in_thinking:
            return self._budget.thinking_pressure(self._thinking_before + self.thinking_tokens)
        return self._budget.answer_pressure(self._answer_before + self.answer_tokens)

    def resume(self, text: str) -> None:
        """A token of an earlier part of the answer, with the characters that it completed."""
        thought = self._splitter.in_thinking
        pieces = self._splitter.feed(text)
        if thought or self._splitter.in_thinking:
            self._thinking_before += 1
        elif any(piece.kind is PieceKind.ANSWER for piece in pieces):
            self._answer_before += 1

    def take(self, token: int, text: str) -> Verdict:
        """Count a token with the characters that it completed, and judge."""
        thought = self._splitter.in_thinking
        self._splitter.feed(text)
        self._newest.append(text)
        if thought or self._splitter.in_thinking:
            self.thinking_tokens += 1
        else:
            self.answer_tokens += 1
        if thought and not self._splitter.in_thinking:
            self._loops.reset()
            self._closing = False
            thoughts = self._thinking_before + self.thinking_tokens
            if not self.closed and self._budget.thinking_pressure(thoughts) > 0:
                self.closed = self._budget.closes_because
            return Verdict.GO_ON
        if self._closing:
            return Verdict.GO_ON
        if self._loops.add(token):
            return self._close(CLOSED_LOOP) if self._splitter.in_thinking else Verdict.STOP
        most = self._budget.thinking_most
        if self._splitter.in_thinking and most and self._thinking_before + self.thinking_tokens >= most:
            return self._close(self._budget.closes_because)
        return Verdict.GO_ON

    def cause_of_loop(self, context_used: int, trained_context: int) -> str:
        """What probably is behind the loop that the last token ended."""
        if trained_context and context_used > trained_context:
            return CAUSE_LONG_CONTEXT
        return CAUSE_FILE if self._is_gibberish_from_the_start() else CAUSE_REPETITION

    def _is_gibberish_from_the_start(self) -> bool:
        """One token, or a few without letters or words, were all that was ever written.

        Sound models repeat sentences and lists too, also right from the first one on.
        """
        cycle = self._loops.cycle
        only_part = not self.closed and not (self.thinking_tokens and self.answer_tokens)
        if not (only_part or self._gibberish_thoughts) or not 0 < cycle <= _SHORT_CYCLE:
            return False
        if self._loops.tokens_before > (_FORCED if self._gibberish_thoughts else 0):
            return False
        text = "".join(list(self._newest)[-cycle:])
        return cycle == 1 or not any(map(str.isalpha, text)) or not any(map(str.isspace, text.strip()))

    def _close(self, reason: str) -> Verdict:
        # An answer that goes on like such thoughts is no accident either.
        self._gibberish_thoughts = reason == CLOSED_LOOP and self._is_gibberish_from_the_start()
        self.closed = self.closed or reason
        self._closing = True
        return Verdict.CLOSE_THINKING


def cause_of_broken_numbers(context_used: int, trained_context: int) -> str:
    """What probably is behind values that are no numbers."""
    most = min(_FAR_INTO_CONTEXT, trained_context or _FAR_INTO_CONTEXT)
    return CAUSE_LONG_CONTEXT if context_used > most else CAUSE_FILE
