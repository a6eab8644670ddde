"""The parts of a Markdown message: a widget for each block, one below the other.

Must not know: when something is drawn (``message_body`` decides), where the text comes from.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QRect
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QWidget

from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets import markdown
from clover_gui.ui.widgets.blocks import Block, BlockJoiner, BlockKind, code_of, joined
from clover_gui.ui.widgets.code_block import CodeBlock
from clover_gui.ui.widgets.document_style import document_style
from clover_gui.ui.widgets.formula import Drawing
from clover_gui.ui.widgets.found_text import places_in
from clover_gui.ui.widgets.markdown import References
from clover_gui.ui.widgets.prose_view import ProseView

MOST_COLUMNS = 100
"""Tables with more are shown as they were written."""
MOST_FORMULAS = 200
"""Formulas drawn in one document; it would take too long to lay out with more, which stay text."""


@dataclass(slots=True, eq=False)
class Part:
    """A block and what draws it; blank blocks are not drawn."""

    block: Block
    widget: ProseView | CodeBlock | None
    references: int = 0
    """How many link definitions were known when it was drawn."""
    waiting: set[str] = field(default_factory=set)
    """Formulas in it that are being drawn."""


class BodyParts:
    """Owns the widgets; ``frozen`` are finished, ``open`` is the one being written."""

    def __init__(
        self, owner: QWidget, theme: Theme, muted: bool, on_link: Callable[[str], None], name: str = ""
    ) -> None:
        self._owner = owner
        self._theme = theme
        self._muted = muted
        self._on_link = on_link
        self._style = document_style(theme, muted)
        self._name = name
        self._viewport_top = 0
        self.references: References = {}
        """Link definitions known so far; whoever reads the text keeps them."""
        self.width = 0
        self.frozen: list[Part] = []
        self.open: Part | None = None
        self._sought: tuple[str, int | None] = ("", None)
        self._also: tuple[str, ...] = ()

    def all(self) -> list[Part]:
        """From top to bottom, the unfinished one last."""
        return [*self.frozen, *([self.open] if self.open else [])]

    # Drawing

    def freeze(self, block: Block) -> None:
        """A block is complete: draw it for the last time."""
        if block.is_blank:
            self.frozen.append(Part(block, None))
            return
        part, self.open = self._reusable(block), None
        self.draw(part, block, finished=True)
        self.frozen.append(part)

    def draw_open(self, block: Block | None) -> None:
        """Draw what is there of the unfinished block; None takes it away."""
        if block is None:
            self.drop_open()
            return
        part = self._reusable(block)
        self.draw(part, block, finished=False)
        self.open = part

    def drop_open(self) -> None:
        if self.open:
            _discard(self.open)
            self.open = None

    def clear(self) -> None:
        """Take everything away."""
        for part in self.all():
            _discard(part)
        self.frozen, self.open = [], None

    def draw(self, part: Part, block: Block, finished: bool) -> None:
        """Draw a block, in a part that is there already."""
        part.block = block
        if isinstance(part.widget, CodeBlock):
            language, body = code_of(block, finished)
            part.widget.set_code(language, body, finished)
        elif part.widget is not None:
            store = self._style.formulas
            waiting: set[str] = set()

            asked = 0

            def find(source: str) -> Drawing | None:
                nonlocal asked
                asked += 1
                if asked > MOST_FORMULAS:
                    return None
                drawing = store.find(source)
                if drawing is None and store.is_pending(source):
                    waiting.add(source)
                return drawing

            part.references, part.waiting = self._known(), waiting
            if block.kind is BlockKind.TABLE and block.columns > MOST_COLUMNS:
                part.widget.show_html(f"<pre>{html.escape(block.source)}</pre>")
            else:
                part.widget.show_html(markdown.render(block.markdown, self.references, find))

    def draw_again(self, part: Part) -> None:
        """Draw a finished part with what has become known since."""
        self.draw(part, part.block, finished=True)

    def outdated(self) -> list[int]:
        """Finished parts that a link definition further down has changed."""
        known = self._known()
        return [
            index
            for index, part in enumerate(self.frozen)
            if part.references != known and "[" in part.block.source and isinstance(part.widget, ProseView)
        ]

    def merge(self, start: int, count: int) -> None:
        """Draw neighbouring finished parts as one document."""
        old = self.frozen[start : start + count]
        block = joined([part.block for part in old])
        if block.is_blank:
            self.frozen[start : start + count] = [Part(block, None)]
            return
        new = self._create(block)
        self.draw(new, block, finished=True)
        if isinstance(new.widget, ProseView):
            _keep_selection([p.widget for p in old if isinstance(p.widget, ProseView)], new.widget)
        for part in old:
            _discard(part)
        self.frozen[start : start + count] = [new]

    def _known(self) -> int:
        return len(self.references.get("references", {}))

    def _reusable(self, block: Block) -> Part:
        """The part being written if it can draw this block, else a new one in its place."""
        if self.open and self.open.block.kind is block.kind and self.open.block.level == block.level:
            return self.open
        self.drop_open()
        return self._create(block)

    def _create(self, block: Block) -> Part:
        widget: ProseView | CodeBlock
        if block.kind is BlockKind.CODE:
            widget = CodeBlock(self._theme, self._owner)
        else:
            widget = ProseView(self._style, block.kind is BlockKind.TABLE, self._owner)
            widget.setAccessibleName(self._name)
            widget.link_activated.connect(self._on_link)
        if self.width:
            # Known before the text, so that it is laid out only once.
            widget.fit(self._width_for(block))
        return Part(block, widget)

    # Looks

    def set_name(self, name: str) -> None:
        self._name = name
        for part in self.all():
            if isinstance(part.widget, ProseView):
                part.widget.setAccessibleName(name)

    def restyle(self) -> None:
        self._style = document_style(self._theme, self._muted)
        for part in self.all():
            if isinstance(part.widget, CodeBlock):
                part.widget.restyle()
            elif part.widget is not None:
                part.widget.restyle(self._style)

    def retranslate(self) -> None:
        for part in self.all():
            if isinstance(part.widget, CodeBlock):
                part.widget.retranslate()

    # Searching

    def seek(self, text: str, current: int | None, also: tuple[str, ...] = ()) -> None:
        """Mark a text, and ``also`` others; ``current``: where the place looked at begins in the source of
        the message."""
        self._sought, self._also = (text, current), also
        self._mark(0)

    def mark_from(self, first: int) -> None:
        """Mark what is searched for in the parts from ``first`` on, which have changed."""
        if self._sought[0]:
            self._mark(first)

    def _mark(self, first: int) -> None:
        text, current = self._sought
        start = sum(len(part.block.source) for part in self.frozen[:first])
        for part in self.all()[first:]:
            source = part.block.source
            number = None
            if current is not None and start <= current < start + len(source):
                number = _number_of(part, places_in(source, text), current - start)
            if part.widget is not None:
                part.widget.seek(text, number, self._also)
            start += len(source)

    def found_rect(self) -> QRect | None:
        """Where the place looked at is drawn, in the owner's coordinates; None if it is not drawn (yet)."""
        _text, current = self._sought
        start = 0
        for part in self.all():
            end = start + len(part.block.source)
            if current is not None and start <= current < end and part.widget is not None:
                rect = part.widget.found_rect() or part.widget.rect()
                return rect.translated(part.widget.pos())
            start = end
        return None

    # Layout

    def follow_viewport(self, top: int) -> None:
        self._viewport_top = top
        for part in self.all():
            if isinstance(part.widget, CodeBlock):
                part.widget.follow_viewport(top - part.widget.y())

    def _width_for(self, block: Block) -> int:
        return max(1, self.width - block.level * self._style.list_indent)

    def lay_out(self, first: int) -> int:
        """Place the parts from ``first`` on, those above keep their places; returns the height of all."""
        parts = self.all()
        y, above = 0, False
        for part in reversed(parts[:first]):
            if part.widget is not None:
                y, above = part.widget.y() + part.widget.height(), True
                break
        for part in parts[first:]:
            widget = part.widget
            if widget is None:
                continue
            height = widget.fit(self._width_for(part.block))
            if above:
                y += self._style.item_gap if part.block.continues else widget.gap_above
            widget.move(part.block.level * self._style.list_indent, y)
            if isinstance(widget, CodeBlock):
                widget.follow_viewport(self._viewport_top - y)
            if widget.isHidden():
                widget.show()
            y, above = y + height, True
        return y


def group_sizes(blocks: Iterable[Block]) -> list[int]:
    """How many blocks each final part is made of, from top to bottom."""
    joiner = BlockJoiner()
    groups = [group for block in blocks for group in joiner.add(block)]
    return [len(group) for group in (*groups, *joiner.finish())]


def _discard(part: Part) -> None:
    if part.widget is not None:
        part.widget.hide()
        part.widget.deleteLater()


def _number_of(part: Part, places: Sequence[int], offset: int) -> int:
    """Which of the places in the source of a part begins at ``offset``, without those in a fence's line."""
    source = part.block.source
    begin = source.find("\n", len(source) - len(source.lstrip())) if part.block.kind is BlockKind.CODE else 0
    return max(0, sum(begin <= place < offset for place in places))


def _keep_selection(old: list[ProseView], new: ProseView) -> None:
    """If something was selected in one of the old documents, select it in the new one."""
    offset = 0
    for view in old:
        cursor = view.textCursor()
        if cursor.hasSelection():
            selected = QTextCursor(new.document())
            selected.setPosition(offset + cursor.anchor())
            selected.setPosition(offset + cursor.position(), QTextCursor.MoveMode.KeepAnchor)
            if selected.selectedText() == cursor.selectedText():
                new.setTextCursor(selected)
                if view.hasFocus():
                    new.setFocus()
            return
        offset += view.document().characterCount()
