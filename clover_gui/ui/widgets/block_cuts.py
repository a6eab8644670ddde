"""Where a growing Markdown text is being cut: what is left of it, and what is known about the place.

Must not know: how Markdown is parsed (``parsed_blocks`` does), Qt.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clover_gui.ui.widgets.blocks import Block, BlockKind

BLOCK_LIMIT = 6_000
"""Characters after which a block is cut although it has not ended."""
TABLE_ROWS = 64
TABLE_CELLS = 400
"""Rows and cells of a table that become one document at most."""


@dataclass(slots=True)
class Cuts:
    """The text that is not handed out yet, and how it is to be read."""

    limit: int = BLOCK_LIMIT
    table_rows: int = TABLE_ROWS
    tail: str = ""
    indents: list[int] = field(default_factory=list)
    """Columns of the list items that the tail stands in, outermost first."""
    table_head: str = ""
    """The head of the table that goes on in the tail."""
    continues: bool = False
    open_kind: BlockKind = BlockKind.PROSE
    """What the unfinished part looks like now."""

    @property
    def indent(self) -> int:
        return self.indents[-1] if self.indents else 0

    def block(self, kind: BlockKind, source: str) -> Block:
        """A block as it would be handed out here."""
        prefix = self.table_head if kind is BlockKind.TABLE else ""
        return Block(kind, source, self.indent, len(self.indents), self.continues, prefix)

    def take(self, kind: BlockKind, length: int, continued: bool = False) -> Block:
        """Cut a block of so many characters off the tail; ``continued``: what follows goes on with it."""
        block = self.block(kind, self.tail[:length])
        self.tail = self.tail[length:]
        self.continues = continued
        self.open_kind = BlockKind.PROSE
        return block
