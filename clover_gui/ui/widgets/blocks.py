"""The blocks of a Markdown message: what they hold, and how prose is joined again when all is written.

Must not know: Qt, HTML, where a block ends (``block_splitter`` finds out).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

JOIN_LIMIT = 12_000
"""Characters of prose that become one document at most, so that drawing it stays short."""
FORMULA_WEIGHT = 80
BRACKET_WEIGHT = 8
"""A formula and a bracket, which may begin a link, cost as much as so many characters."""

FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
"""The line that begins a block of code (without its line break)."""


class BlockKind(Enum):
    """What draws it."""

    PROSE = "prose"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a message. ``source`` is its exact text in the message."""

    kind: BlockKind
    source: str
    indent: int = 0
    """Columns that belong to the list item it stands in."""
    level: int = 0
    """How many list items it stands in."""
    continues: bool = False
    """It goes on with the list or table of the block before."""
    prefix: str = ""
    """The head of the table that this part goes on with."""

    @property
    def markdown(self) -> str:
        """What to parse: the source without the indentation of its list item."""
        if not self.indent:
            return self.prefix + self.source
        lines = self.source.split("\n")
        return self.prefix + "\n".join(dedent(line, self.indent) for line in lines)

    @property
    def columns(self) -> int:
        """How many columns it has, if it is a table."""
        return self.markdown.lstrip().partition("\n")[0].count("|")

    @property
    def is_blank(self) -> bool:
        return not self.source.strip()


@dataclass(slots=True)
class Fence:
    """Code that has begun: where its first line starts in the tail, and how far it has been searched."""

    mark: str
    length: int
    scanned: int

    def closes(self, line: str) -> bool:
        bare = line.strip(" \t\r\n")
        return columns(line) <= 3 and len(bare) >= self.length and bare == self.mark * len(bare)


class BlockJoiner:
    """Groups neighbouring prose: feed it the blocks in order; it returns the groups that are full."""

    def __init__(self) -> None:
        self._group: list[Block] = []
        self._length = 0

    def add(self, block: Block) -> list[list[Block]]:
        """The groups that this block has completed, in order."""
        if self._accepts(block):
            self._group.append(block)
            self._length += _weight(block)
            return []
        done = self.finish()
        if block.kind is not BlockKind.PROSE:
            return [*done, [block]]
        self._group, self._length = [block], _weight(block)
        return done

    def finish(self) -> list[list[Block]]:
        """The group that is left, if any."""
        group, self._group, self._length = self._group, [], 0
        return [group] if group else []

    def _accepts(self, block: Block) -> bool:
        if not self._group or block.kind is not BlockKind.PROSE:
            return False
        first = self._group[0]
        alike = block.is_blank or (block.indent, block.level) == (first.indent, first.level)
        return alike and self._length + _weight(block) <= JOIN_LIMIT


def _weight(block: Block) -> int:
    source = block.source
    formulas = source.count("$") // 2 + source.count("\\(") + source.count("\\[")
    return len(source) + FORMULA_WEIGHT * formulas + BRACKET_WEIGHT * source.count("[")


def joined(group: Sequence[Block]) -> Block:
    """The blocks of a group as one."""
    first = group[0]
    if len(group) == 1:
        return first
    source = "".join(block.source for block in group)
    return Block(first.kind, source, first.indent, first.level, first.continues)


def columns(line: str) -> int:
    """The width of the white space at the beginning; a tab goes to the next multiple of four."""
    width = 0
    for character in line:
        if character == " ":
            width += 1
        elif character == "\t":
            width += 4 - width % 4
        else:
            break
    return width


def dedent(line: str, width: int) -> str:
    """The line without its first ``width`` columns of white space (as far as it has them)."""
    column = 0
    for index, character in enumerate(line):
        if column >= width or character not in " \t":
            return " " * (column - width) + line[index:]
        column += 1 if character == " " else 4 - column % 4
    return ""


def code_of(block: Block, finished: bool = True) -> tuple[str, str]:
    """The language word and the exact text of a code block.

    While it is being written (not ``finished``) a line that may become its end is left out.
    """
    lines = [dedent(line, block.indent) for line in block.source.split("\n")]
    first = next(i for i, line in enumerate(lines) if line.strip())
    head = lines[first].rstrip("\r")
    opening = FENCE.match(head)
    assert opening is not None
    mark = opening[1] or opening[2]
    fence = Fence(mark[0], len(mark), 0)
    body = lines[first + 1 :]
    if (body and fence.closes(body[-1])) or (body and not finished and set(body[-1].strip()) == {mark[0]}):
        body = body[:-1]
    elif len(body) > 1 and not body[-1] and fence.closes(body[-2]):
        body = body[:-2]
    elif body and not body[-1]:
        body = body[:-1]
    info = head.strip().lstrip(mark[0]).split()
    return info[0] if info else "", "\n".join(dedent(line, columns(head)) for line in body)
