"""Cuts a growing Markdown text into top-level blocks that never change again.

A block is handed out as soon as no further text can change it, so a view draws it once and leaves it
alone. Where the cuts lie depends on the text only, never on the pieces in which it arrived: a streamed
message and a stored one become the same blocks, and the sources of all blocks together are the text,
character by character.

Code inside list items is handed out as code too (with its indentation), long tables in parts of
``TABLE_ROWS`` rows, and anything else that grows beyond ``BLOCK_LIMIT`` characters in pieces, so that the
part still being written stays cheap to draw.
Must not know: Qt, HTML, colours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clover_gui.ui.widgets.block_cuts import BLOCK_LIMIT, TABLE_ROWS, Cuts
from clover_gui.ui.widgets.blocks import FENCE, Block, BlockKind, Fence, columns, dedent
from clover_gui.ui.widgets.markdown import References, block_tokens
from clover_gui.ui.widgets.parsed_blocks import ParsedWindow, end_of

WINDOW = 2_000
"""Characters that are parsed at first; more only if they hold no finished block."""

_MAYBE_FENCE = re.compile(r" {0,3}(?:`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*)$")
_PARAGRAPH = re.compile(r"(?:\*\*|__|`)?[^\W\d_]")


@dataclass(frozen=True, slots=True)
class _Window:
    """The complete lines at the beginning of the tail; ``closed``: nothing can be added to the last one."""

    lines: list[str]
    closed: bool
    next_is_long: bool = False
    next_is_outside: bool = False
    more: bool = False
    """There are complete lines after it."""


class BlockSplitter:
    """Feed it text; it returns the blocks that are finished."""

    def __init__(self, limit: int = BLOCK_LIMIT, table_rows: int = TABLE_ROWS) -> None:
        """``limit``: characters after which a block is cut by force; ``table_rows``: of one part."""
        self.references: References = {}
        self._cuts = Cuts(limit, table_rows)
        self._fence: Fence | None = None

    def feed(self, text: str) -> list[Block]:
        """Add text; returns the blocks that it has finished, in order."""
        self._cuts.tail += text
        return self._advance(final=False)

    def finish(self) -> list[Block]:
        """No more text comes; returns the remaining blocks."""
        return self._advance(final=True)

    def open_block(self) -> Block | None:
        """The unfinished rest as it should be drawn now, or None if nothing of it can be shown yet."""
        if self._fence:
            return self._cuts.block(BlockKind.CODE, self._cuts.tail)
        shown = self._cuts.tail
        last = shown[shown.rfind("\n") + 1 :]
        # A line that may become a code fence would flash up as text first.
        if _MAYBE_FENCE.match(dedent(last, self._cuts.indent)):
            shown = shown[: len(shown) - len(last)]
        return self._cuts.block(self._cuts.open_kind, shown) if shown.strip() else None

    def _advance(self, final: bool) -> list[Block]:
        out: list[Block] = []
        while self._cuts.tail and self._step(out, final):
            pass
        if final and self._cuts.tail:
            out.append(self._cuts.take(BlockKind.PROSE, len(self._cuts.tail)))
        return out

    def _step(self, out: list[Block], final: bool) -> bool:
        """Hand out what can be, or change the state; False when nothing more can be done."""
        if self._fence:
            return self._step_fence(out, self._fence, final)
        size = WINDOW
        while True:
            window = self._window(final, size)
            if self._step_window(out, window):
                return True
            if not window.more:
                return False
            size *= 2

    def _step_window(self, out: list[Block], window: _Window) -> bool:
        first = next((i for i, line in enumerate(window.lines) if line.strip()), None)
        if first is None:
            return self._step_blank(out, window)
        fence = FENCE.match(dedent(window.lines[first].rstrip("\r\n"), self._cuts.indent))
        if fence:
            mark = fence[1] or fence[2]
            scanned = sum(len(line) for line in window.lines[: first + 1])
            self._fence, self._cuts.table_head = Fence(mark[0], len(mark), scanned), ""
            return True
        return self._step_parsed(out, window)

    def _window(self, final: bool, size: int) -> _Window:
        lines: list[str] = []
        position, tail, indent = 0, self._cuts.tail, self._cuts.indent
        while position < len(tail):
            end = tail.find("\n", position) + 1
            complete = bool(end) or final
            line = tail[position : end or len(tail)]
            if len(line) > self._cuts.limit:
                return _Window(lines, closed=True, next_is_long=True)
            if indent and line.strip() and columns(line) < indent:
                return _Window(lines, closed=True, next_is_outside=True)
            if not complete and not self._begins_paragraph(lines, line):
                return _Window(lines, closed=False)
            if position > size:
                return _Window(lines, closed=False, more=True)
            lines.append(line)
            position += len(line)
        return _Window(lines, closed=final)

    def _begins_paragraph(self, lines: list[str], line: str) -> bool:
        """Whether an incomplete line surely begins a paragraph: what came before it is then complete."""
        after_blank = bool(lines) and not lines[-1].strip()
        return after_blank and _PARAGRAPH.match(dedent(line, self._cuts.indent)) is not None

    def _step_blank(self, out: list[Block], window: _Window) -> bool:
        if window.next_is_outside:
            self._cuts.indents.pop()
            self._cuts.table_head = ""
            return True
        if window.next_is_long:
            blank = sum(len(line) for line in window.lines)
            limit = blank + self._cuts.limit
            space = self._cuts.tail.rfind(" ", limit - self._cuts.limit // 2, limit)
            self._cuts.table_head = ""
            out.append(self._cuts.take(BlockKind.PROSE, space + 1 if space > 0 else limit))
            return True
        return False

    def _step_fence(self, out: list[Block], fence: Fence, final: bool) -> bool:
        indent, tail = self._cuts.indent, self._cuts.tail
        while fence.scanned < len(tail):
            end = tail.find("\n", fence.scanned) + 1
            if not end and not final:
                return False
            line = tail[fence.scanned : end or len(tail)]
            if indent and line.strip() and columns(line) < indent:
                return self._close_fence(out, fence.scanned)
            fence.scanned += len(line)
            if fence.closes(dedent(line, indent)):
                return self._close_fence(out, fence.scanned)
        return self._close_fence(out, len(tail)) if final else False

    def _close_fence(self, out: list[Block], length: int) -> bool:
        self._fence = None
        out.append(self._cuts.take(BlockKind.CODE, length))
        return True

    def _step_parsed(self, out: list[Block], window: _Window) -> bool:
        lines = window.lines
        head_lines = 2 if self._cuts.table_head else 0
        source = self._cuts.table_head + "".join(dedent(line, self._cuts.indent) for line in lines)
        # A lone carriage return would count as a line for the parser only.
        tokens = block_tokens(source.replace("\r\n", "\n").replace("\r", " "), self.references)
        tops = [i for i, t in enumerate(tokens) if t.level == 0 and t.map and t.nesting >= 0]
        if head_lines and not (tops and end_of(tokens[tops[0]]) > head_lines):
            self._cuts.table_head = ""
            return True
        if not tops:
            if window.closed:
                out.append(self._cuts.take(BlockKind.PROSE, sum(map(len, lines))))
                return True
            self._cuts.open_kind = BlockKind.PROSE
            return False
        return ParsedWindow(self._cuts, out, lines, window.closed, tokens, head_lines).hand_out(tops)
