"""Splits streaming text into thoughts and answer. Knows nothing of engines, stores or windows.

Models write their thoughts between an opening and a closing tag, but not reliably: the opening one often
stands in the prompt already, either may be missing or written twice, and models talk about such tags in
their answers. The rules here are chosen so that no character is ever lost:

* a tag counts only where it can be one. The opening tag: with nothing but white space before it, at the
  start or right after a closing tag. The closing tag: inside a thinking block and not in quotes, or (written
  twice, or without a block) with nothing but white space before it. Everything else is plain text;
* the texts of all pieces together are the input, character by character. Recognised tags, and the white
  space that belongs to them, come as pieces of their own kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

OPENING_TAG = "<think>"
CLOSING_TAG = "</think>"

_QUOTES = "`'\""


class PieceKind(StrEnum):
    """What a piece is. MARKUP (a tag with its white space) is not shown to anybody."""

    THINKING = "thinking"
    ANSWER = "answer"
    MARKUP = "markup"


@dataclass(frozen=True, slots=True)
class Piece:
    kind: PieceKind
    text: str


class _Place(StrEnum):
    START = "start"
    THINKING_START = "thinking-start"
    THINKING = "thinking"
    AFTER_THINKING = "after-thinking"
    ANSWER = "answer"


class ThinkingSplitter:
    """Takes an answer in pieces of any size and tells thoughts and answer apart.

    ``in_thinking`` says that the prompt ended inside an open block. The split does not depend on where
    the pieces were cut; text that may still become a tag is held back until that is decided.
    """

    def __init__(
        self,
        in_thinking: bool,
        *,
        in_answer: bool = False,
        opening_tag: str = OPENING_TAG,
        closing_tag: str = CLOSING_TAG,
    ) -> None:
        """``in_answer``: the answer has begun before, so that no tag counts any more."""
        self._opening = opening_tag
        self._closing = closing_tag
        self._place = _Place.THINKING_START if in_thinking else _Place.START
        if in_answer:
            self._place = _Place.ANSWER
        self._held = ""
        self._previous = ""  # the last character given out inside the thinking block

    @property
    def in_thinking(self) -> bool:
        """Whether the text that comes next belongs to the thoughts, as far as is known now."""
        return self._place in (_Place.THINKING_START, _Place.THINKING)

    @property
    def held(self) -> str:
        """What came and was not given out, since it may become a tag."""
        return self._held

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are certain now. May be empty while a tag is undecided."""
        if self._place is _Place.ANSWER:
            return [Piece(PieceKind.ANSWER, text)] if text else []
        self._held += text
        return self._advance(final=False)

    def finish(self) -> list[Piece]:
        """The rest, when nothing more will come. An undecided tag turns out to be plain text."""
        return self._advance(final=True)

    def _advance(self, *, final: bool) -> list[Piece]:
        pieces: list[Piece] = []
        while self._held:
            before = (self._place, len(self._held))
            if self._place is _Place.ANSWER:
                self._give(pieces, PieceKind.ANSWER, len(self._held))
            elif self._place is _Place.THINKING:
                self._inside_block(pieces, final=final)
            else:
                self._before_text(pieces, final=final)
            if before == (self._place, len(self._held)):
                break
        return pieces

    def _give(self, pieces: list[Piece], kind: PieceKind, length: int) -> None:
        """Move the first ``length`` held characters to the pieces, joined to the last one of its kind."""
        text, self._held = self._held[:length], self._held[length:]
        if not text:
            return
        if kind is PieceKind.THINKING:
            self._previous = text[-1]
        if pieces and pieces[-1].kind is kind:
            text = pieces.pop().text + text
        pieces.append(Piece(kind, text))

    def _before_text(self, pieces: list[Piece], *, final: bool) -> None:
        """Only white space so far in this part: a tag may follow, or the text begins."""
        start = len(self._held) - len(self._held.lstrip())
        rest = self._held[start:]
        for tag, next_place in (
            (self._opening, _Place.THINKING_START),
            (self._closing, _Place.AFTER_THINKING),
        ):
            if rest.startswith(tag):
                self._give(pieces, PieceKind.MARKUP, start + len(tag))
                self._place, self._previous = next_place, ""
                return
            if tag.startswith(rest) and not final:  # also when nothing but white space came yet
                return
        if self._place is _Place.THINKING_START:
            self._place = _Place.THINKING
            return
        if self._place is _Place.AFTER_THINKING:
            self._give(pieces, PieceKind.MARKUP, _line_ends(self._held, at_most=2))
        self._place = _Place.ANSWER

    def _inside_block(self, pieces: list[Piece], *, final: bool) -> None:
        """Give out thoughts up to the closing tag, or up to what may become one."""
        at = self._held.find(self._closing)
        if at < 0:
            keep = 0 if final else _overlap(self._held, self._closing)
            self._give(pieces, PieceKind.THINKING, len(self._held) - keep)
            return
        end = at + len(self._closing)
        before = self._held[at - 1] if at else self._previous
        if before and before in _QUOTES:
            if end == len(self._held) and not final:
                self._give(pieces, PieceKind.THINKING, at)  # the next character decides
                return
            if self._held[end : end + 1] == before:
                self._give(pieces, PieceKind.THINKING, end)
                return
        self._give(pieces, PieceKind.THINKING, at)
        self._give(pieces, PieceKind.MARKUP, len(self._closing))
        self._place, self._previous = _Place.AFTER_THINKING, ""


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of ``text`` may be the beginning of ``tag``."""
    for length in range(min(len(text), len(tag) - 1), 0, -1):
        if text.endswith(tag[:length]):
            return length
    return 0


def _line_ends(text: str, *, at_most: int) -> int:
    """The length of the line ends at the start of ``text``, "\\r\\n" counting as one."""
    length = 0
    for _round in range(at_most):
        if text.startswith("\r\n", length):
            length += 2
        elif text.startswith("\n", length):
            length += 1
    return length
