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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clover_gui.ui.widgets.blocks import FENCE, Block, BlockKind, Fence, columns, dedent
from clover_gui.ui.widgets.markdown import References, block_tokens

if TYPE_CHECKING:
    from markdown_it.token import Token

BLOCK_LIMIT = 6_000
"""Characters after which a block is cut although it has not ended."""
TABLE_ROWS = 64
WINDOW = 2_000
"""Characters that are parsed at first; more only if they hold no finished block."""

_MAYBE_FENCE = re.compile(r" {0,3}(?:`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*)$")
_PARAGRAPH = re.compile(r"(?:\*\*|__|`)?[^\W\d_]")
_MARKER = re.compile(r"([ \t]*)([-+*]|\d{1,9}[.)])( {1,4}(?! )| |\t|$)")
_CONTAINERS = ("bullet_list_open", "ordered_list_open", "list_item_open")


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

    def __init__(self) -> None:
        self.references: References = {}
        self._tail = ""
        self._indents: list[int] = []
        self._fence: Fence | None = None
        self._table_head = ""
        self._continues = False
        self._open_kind = BlockKind.PROSE

    def feed(self, text: str) -> list[Block]:
        """Add text; returns the blocks that it has finished, in order."""
        self._tail += text
        return self._advance(final=False)

    def finish(self) -> list[Block]:
        """No more text comes; returns the remaining blocks."""
        return self._advance(final=True)

    def open_block(self) -> Block | None:
        """The unfinished rest as it should be drawn now, or None if nothing of it can be shown yet."""
        if self._fence:
            return self._block(BlockKind.CODE, self._tail)
        shown = self._tail
        last = shown[shown.rfind("\n") + 1 :]
        # A line that may become a code fence would flash up as text first.
        if _MAYBE_FENCE.match(dedent(last, self._indent)):
            shown = shown[: len(shown) - len(last)]
        return self._block(self._open_kind, shown) if shown.strip() else None

    @property
    def _indent(self) -> int:
        return self._indents[-1] if self._indents else 0

    def _block(self, kind: BlockKind, source: str) -> Block:
        prefix = self._table_head if kind is BlockKind.TABLE else ""
        return Block(kind, source, self._indent, len(self._indents), self._continues, prefix)

    def _advance(self, final: bool) -> list[Block]:
        out: list[Block] = []
        while self._tail and self._step(out, final):
            pass
        if final and self._tail:
            self._emit(out, BlockKind.PROSE, len(self._tail))
        return out

    def _emit(self, out: list[Block], kind: BlockKind, length: int, continued: bool = False) -> None:
        out.append(self._block(kind, self._tail[:length]))
        self._tail = self._tail[length:]
        self._continues = continued
        self._open_kind = BlockKind.PROSE

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
        fence = FENCE.match(dedent(window.lines[first].rstrip("\r\n"), self._indent))
        if fence:
            mark = fence[1] or fence[2]
            scanned = sum(len(line) for line in window.lines[: first + 1])
            self._fence, self._table_head = Fence(mark[0], len(mark), scanned), ""
            return True
        return self._step_parsed(out, window)

    def _window(self, final: bool, size: int) -> _Window:
        lines: list[str] = []
        position, tail, indent = 0, self._tail, self._indent
        while position < len(tail):
            end = tail.find("\n", position) + 1
            complete = bool(end) or final
            line = tail[position : end or len(tail)]
            if len(line) > BLOCK_LIMIT:
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
        return after_blank and _PARAGRAPH.match(dedent(line, self._indent)) is not None

    def _step_blank(self, out: list[Block], window: _Window) -> bool:
        if window.next_is_outside:
            self._indents.pop()
            self._table_head = ""
            return True
        if window.next_is_long:
            blank = sum(len(line) for line in window.lines)
            limit = blank + BLOCK_LIMIT
            space = self._tail.rfind(" ", limit - BLOCK_LIMIT // 2, limit)
            self._table_head = ""
            self._emit(out, BlockKind.PROSE, space + 1 if space > 0 else limit)
            return True
        return False

    def _step_fence(self, out: list[Block], fence: Fence, final: bool) -> bool:
        indent, tail = self._indent, self._tail
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
        self._emit(out, BlockKind.CODE, length)
        return True

    def _step_parsed(self, out: list[Block], window: _Window) -> bool:
        lines = window.lines
        head_lines = 2 if self._table_head else 0
        source = self._table_head + "".join(dedent(line, self._indent) for line in lines)
        # A lone carriage return would count as a line for the parser only.
        tokens = block_tokens(source.replace("\r\n", "\n").replace("\r", " "), self.references)
        tops = [i for i, t in enumerate(tokens) if t.level == 0 and t.map and t.nesting >= 0]
        if head_lines and not (tops and _end_of(tokens[tops[0]]) > head_lines):
            self._table_head = ""
            return True
        if not tops:
            if window.closed:
                self._emit(out, BlockKind.PROSE, sum(map(len, lines)))
                return True
            self._open_kind = BlockKind.PROSE
            return False
        return _Parsed(self, out, window, tokens, head_lines).hand_out(tops)


class _Parsed:
    """One parsed window: hands out its finished blocks to the splitter's list."""

    def __init__(
        self,
        splitter: BlockSplitter,
        out: list[Block],
        window: _Window,
        tokens: Sequence[Token],
        head_lines: int,
    ) -> None:
        self._splitter = splitter
        self._out = out
        self._lines = window.lines
        self._closed = window.closed
        self._tokens = tokens
        self._offset = head_lines
        self._start = 0
        """The first line that has not been handed out."""

    def hand_out(self, tops: list[int]) -> bool:
        """Hand out all finished blocks; True if something changed and the rest must be looked at again."""
        before = len(self._out)
        for position, index in enumerate(tops):
            after = tops[position + 1] if position + 1 < len(tops) else None
            end: int | None = len(self._lines) if self._closed else None
            if after is not None:
                end = _start_of(self._tokens[after]) - self._offset
            if not self._hand_out_one(index, after, end):
                break
        return len(self._out) > before

    def _hand_out_one(self, index: int, after: int | None, end: int | None) -> bool:
        """False: stop here, the rest is open or must be parsed again."""
        token = self._tokens[index]
        if token.type == "fence":
            begin = _start_of(token) - self._offset
            before = self._lines[self._start : begin]
            if any(line.strip() for line in before) and not self._prose_up_to(begin):
                return False
            if after is None:
                return False
            self._emit(BlockKind.CODE, _end_of(token) - self._offset)
            return True
        if token.type in ("bullet_list_open", "ordered_list_open"):
            return self._list(index, after, end)
        if token.type == "table_open":
            return self._table(token, end)
        return self._prose_up_to(end)

    def _emit(self, kind: BlockKind, end: int, continued: bool = False) -> None:
        length = sum(len(line) for line in self._lines[self._start : end])
        self._splitter._emit(self._out, kind, length, continued)
        self._start = end

    def _prose_up_to(self, end: int | None, continued: bool = False) -> bool:
        """Hand out lines as prose; cut by force if they are too long. False: stop here."""
        self._splitter._open_kind = BlockKind.PROSE
        stop = len(self._lines) if end is None else end
        fits = self._lines_within(self._start, stop)
        if fits < stop - 1:
            self._emit(BlockKind.PROSE, fits, continued=False)
            return False
        if end is None:
            return False
        if end > self._start:
            self._emit(BlockKind.PROSE, end, continued)
        return True

    def _lines_within(self, start: int, stop: int) -> int:
        """The end of the lines from ``start`` that stay within the limit together, at least one."""
        total, line = 0, start
        while line < stop:
            total += len(self._lines[line])
            if total > BLOCK_LIMIT:
                break
            line += 1
        return max(line, start + 1)

    def _list(self, index: int, after: int | None, end: int | None) -> bool:
        tokens = self._tokens[index:after]
        starts = [_start_of(t) for t in tokens if t.type == "list_item_open" and t.level == 1]
        ends: list[int | None] = [*starts[1:], end]
        fences = _nested_code(tokens)
        for item_start, item_end in zip(starts, ends, strict=True):
            stop = len(self._lines) if item_end is None else item_end
            while fences and fences[0][0] < stop:
                line, items = fences.pop(0)
                if line > self._start and line not in items:
                    if self._prose_up_to(line):
                        self._enter(items)
                    return False
            if not self._prose_up_to(item_end, continued=item_start != starts[-1]):
                return False
        return True

    def _enter(self, items: list[int]) -> None:
        """The rest of the text stands in these list items (given by their first lines)."""
        splitter = self._splitter
        base = splitter._indent
        for line in items:
            text = dedent(self._lines[line].rstrip("\r\n"), base)
            marker = _MARKER.match(text)
            own = len(marker[0].expandtabs(4)) + (0 if marker[3] else 1) if marker else columns(text)
            splitter._indents.append(base + own)
        here = self._lines[self._start]
        splitter._indents[-1] = max(1, min(splitter._indents[-1], columns(here)))

    def _table(self, token: Token, end: int | None) -> bool:
        splitter = self._splitter
        splitter._open_kind = BlockKind.TABLE
        first_row = _start_of(token) + 2 - self._offset
        last_row = _end_of(token) - self._offset
        rows = min(TABLE_ROWS, self._lines_within(first_row, last_row) - first_row)
        if last_row - first_row > rows:
            head = splitter._table_head or "".join(
                dedent(line, splitter._indent) for line in self._lines[first_row - 2 : first_row]
            )
            self._emit(BlockKind.TABLE, first_row + rows, continued=True)
            splitter._table_head = head
            return False
        if end is None:
            return False
        self._emit(BlockKind.TABLE, end)
        splitter._table_head = ""
        return True


def _nested_code(tokens: Sequence[Token]) -> list[tuple[int, list[int]]]:
    """The code fences that stand in list items only: the line of each, and the first lines of its items."""
    found: list[tuple[int, list[int]]] = []
    containers: list[Token] = []
    for token in tokens:
        if token.nesting == 1:
            containers.append(token)
        elif token.nesting == -1:
            containers.pop()
        elif token.type == "fence" and all(t.type in _CONTAINERS for t in containers):
            items = [_start_of(t) for t in containers if t.type == "list_item_open"]
            found.append((_start_of(token), items))
    return found


def _start_of(token: Token) -> int:
    assert token.map
    return token.map[0]


def _end_of(token: Token) -> int:
    assert token.map
    return token.map[1]
