"""Formulas in Markdown: ``$..$``, ``$$..$$``, ``\\(..\\)`` and ``\\[..\\]``, as rules for the parser.

Only closed ones count. Where a block of mathematics ends depends on complete lines only and never on what
comes after the next blank line, so that a text may be parsed while it is written. Amounts of money stay
text. All rules take time in proportion to the text. Must not know: how a formula is drawn.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from clover_gui.ui.widgets.blocks import FENCE

INLINE = "formula"
BLOCK = "formula_block"
"""Types of the tokens. ``content`` is the source with its delimiters; ``info`` of a block what follows it."""

LONGEST = 2_000
"""Characters of one formula; a longer one stays text."""

# "\\[1\\]" in a sentence is a bracket that shall not become a link.
_SURELY = re.compile(r"[\\^_=<>{}+*/]")
_CLOSING = {"$$": "$$", "\\[": "\\]", "\\(": "\\)", "$": "$"}
_AFTER = re.compile(r"[ \t]*([.,;:]?)[ \t]*$")
_MONEY = re.compile(r"\d[\d.,]*(?:[kKmM]|bn)?(?:\s+[^\W\d_]{2,}|[;!?])")


def use_formulas(parser: MarkdownIt) -> None:
    """Teach a parser both rules."""
    interrupts = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", BLOCK, _block_rule, {"alt": interrupts})
    parser.inline.ruler.before("escape", INLINE, _inline_rule)


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _block_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines from one that begins with ``$$`` or ``\\[`` up to the closing one.

    What never closes, or goes on after it has closed, becomes a paragraph up to the next blank line.
    """
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    closing = _CLOSING[first[:2]] if first[:2] in ("$$", "\\[") else None
    if closing is None or (closing in first[2:] and not _closes(first[2:], closing)):
        return False
    if silent:
        return True
    last, after = _last_line(state, start, end, closing)
    lines = [_line(state, number) for number in range(start, last)]
    if after is None:
        _push_paragraph(state, start, last, "\n".join(lines))
    else:
        source = "\n".join(lines).rstrip()
        token = state.push(BLOCK, "", 0)
        token.content = source[: source.rindex(closing) + len(closing)]
        token.info = after
        token.block = True
        token.map = [start, last]
    state.line = last
    return True


def _closes(text: str, closing: str) -> re.Match[str] | None:
    """Whether the first end mark in a line is also the end of the line, but for a full stop or the like."""
    at = text.find(closing)
    return _AFTER.match(text, at + len(closing)) if at >= 0 else None


def _last_line(state: StateBlock, start: int, end: int, closing: str) -> tuple[int, str | None]:
    """The line after the last one, and the punctuation after the formula; None if it has not ended well."""
    failed = False
    for number in range(start, end):
        text = _line(state, number)
        outside = state.sCount[number] < state.blkIndent
        if number > start and (not text.strip() or outside or FENCE.match(text)):
            return number, None
        if number == start:
            text = text[2:]
        if not failed and closing in text:
            match = _closes(text, closing)
            if match:
                return number + 1, match[1]
            failed = True
    return end, None


def _push_paragraph(state: StateBlock, start: int, end: int, content: str) -> None:
    opening = state.push("paragraph_open", "p", 1)
    opening.map = [start, end]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = content.strip(), [start, end], []
    state.push("paragraph_close", "p", -1)


def _inline_rule(state: StateInline, silent: bool) -> bool:
    source, at = state.src, state.pos
    if source[at] == "$":
        opening = "$$" if source.startswith("$$", at) else "$"
    elif source[at] == "\\" and source[at + 1 : at + 2] in ("(", "["):
        opening = source[at : at + 2]
    else:
        return False
    closing = _CLOSING[opening]
    begin = at + len(opening)
    end = _find_end(source, begin, closing)
    if end < 0 or not _is_formula(source, at, begin, end, closing):
        return False
    if not silent:
        token = state.push(INLINE, "", 0)
        token.content = source[at : end + len(closing)]
    state.pos = end + len(closing)
    return True


def _find_end(source: str, begin: int, closing: str) -> int:
    """Where the end mark stands, or -1. A backslash hides the mark ``$`` behind it."""
    limit = min(len(source), begin + LONGEST)
    end = source.find(closing, begin, limit)
    while end > 0 and closing[0] == "$" and source[end - 1] == "\\":
        end = source.find(closing, end + 1, limit)
    return end


def _is_formula(source: str, at: int, begin: int, end: int, closing: str) -> bool:
    inner = source[begin:end]
    if not inner.strip() or "\n\n" in inner:
        return False
    if closing == "\\]":
        return _SURELY.search(inner) is not None
    if closing != "$":
        return True
    before, after = source[at - 1 : at], source[end + 1 : end + 2]
    if before.isalnum() or after.isalnum() or inner != inner.strip():
        return False
    return not _MONEY.match(inner)
