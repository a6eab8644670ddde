"""Finds the finished blocks in a piece of parsed Markdown.

A block is finished when another one begins after it. Code in list items becomes code of its own, long tables
come in parts, and what grows too long is cut by force. Must not know: Qt, HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clover_gui.ui.widgets.block_cuts import TABLE_CELLS, Cuts
from clover_gui.ui.widgets.blocks import Block, BlockKind, columns, dedent

if TYPE_CHECKING:
    from markdown_it.token import Token

_MARKER = re.compile(r"([ \t]*)([-+*]|\d{1,9}[.)])( {1,4}(?! )| |\t|$)")
_CONTAINERS = ("bullet_list_open", "ordered_list_open", "list_item_open")


class ParsedWindow:
    """One parsed window: hands out its finished blocks."""

    def __init__(
        self,
        cuts: Cuts,
        out: list[Block],
        lines: list[str],
        closed: bool,
        tokens: Sequence[Token],
        head_lines: int,
    ) -> None:
        """``closed``: nothing can be added to the last line; ``head_lines``: lines put before the text."""
        self._cuts = cuts
        self._out = out
        self._lines = lines
        self._closed = closed
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
                end = start_of(self._tokens[after]) - self._offset
            if not self._hand_out_one(index, after, end):
                break
        return len(self._out) > before

    def _hand_out_one(self, index: int, after: int | None, end: int | None) -> bool:
        """False: stop here, the rest is open or must be parsed again."""
        token = self._tokens[index]
        if token.type == "fence":
            begin = start_of(token) - self._offset
            before = self._lines[self._start : begin]
            if any(line.strip() for line in before) and not self._prose_up_to(begin):
                return False
            if after is None:
                return False
            self._emit(BlockKind.CODE, end_of(token) - self._offset)
            return True
        if token.type in ("bullet_list_open", "ordered_list_open"):
            return self._list(index, after, end)
        if token.type == "table_open":
            return self._table(token, end)
        return self._prose_up_to(end)

    def _emit(self, kind: BlockKind, end: int, continued: bool = False) -> None:
        length = sum(len(line) for line in self._lines[self._start : end])
        self._out.append(self._cuts.take(kind, length, continued))
        self._start = end

    def _prose_up_to(self, end: int | None, continued: bool = False) -> bool:
        """Hand out lines as prose; cut by force if they are too long. False: stop here."""
        self._cuts.open_kind = BlockKind.PROSE
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
            if total > self._cuts.limit:
                break
            line += 1
        return max(line, start + 1)

    def _list(self, index: int, after: int | None, end: int | None) -> bool:
        tokens = self._tokens[index:after]
        starts = [start_of(t) for t in tokens if t.type == "list_item_open" and t.level == 1]
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
        cuts = self._cuts
        base = cuts.indent
        for line in items:
            text = dedent(self._lines[line].rstrip("\r\n"), base)
            marker = _MARKER.match(text)
            own = len(marker[0].expandtabs(4)) + (0 if marker[3] else 1) if marker else columns(text)
            cuts.indents.append(base + own)
        here = self._lines[self._start]
        cuts.indents[-1] = max(1, min(cuts.indents[-1], columns(here)))

    def _table(self, token: Token, end: int | None) -> bool:
        cuts = self._cuts
        cuts.open_kind = BlockKind.TABLE
        first_row = start_of(token) + 2 - self._offset
        last_row = end_of(token) - self._offset
        head = cuts.table_head or "".join(
            dedent(line, cuts.indent) for line in self._lines[first_row - 2 : first_row]
        )
        columns_across = 1 + head.rstrip().rpartition("\n")[2].count("|")
        fitting = self._lines_within(first_row, last_row) - first_row
        rows = min(cuts.table_rows, max(1, TABLE_CELLS // columns_across), fitting)
        if last_row - first_row > rows:
            self._emit(BlockKind.TABLE, first_row + rows, continued=True)
            cuts.table_head = head
            return False
        if end is None:
            return False
        self._emit(BlockKind.TABLE, end)
        cuts.table_head = ""
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
            items = [start_of(t) for t in containers if t.type == "list_item_open"]
            found.append((start_of(token), items))
    return found


def start_of(token: Token) -> int:
    assert token.map
    return token.map[0]


def end_of(token: Token) -> int:
    assert token.map
    return token.map[1]
