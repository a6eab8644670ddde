"""A Markdown message that can be written while it is read.

Each top-level block has a widget of its own; only the one that is still being written is touched, at most
every ``SHORTEST_PAUSE_S`` and never for more than a fifth of the time. When the text is complete,
neighbouring paragraphs become one document, so that they can be selected together; the result is the same
as that of ``set_text`` with the whole text. Work that takes long is done in slices.
Must not know: who wrote the message, where it stands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QWidget

from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets import markdown
from clover_gui.ui.widgets.block_splitter import BlockSplitter
from clover_gui.ui.widgets.blocks import Block, BlockJoiner, BlockKind, code_of, joined
from clover_gui.ui.widgets.code_block import CodeBlock
from clover_gui.ui.widgets.document_style import document_style
from clover_gui.ui.widgets.prose_view import ProseView

SHORTEST_PAUSE_S = 0.033
COST_FACTOR = 4.0
"""The pause after an update is at least this many times as long as the update was."""
SLICE_S = 0.010
FEED_SLICE = 4_000
"""Characters that are cut into blocks at a time."""


@dataclass(slots=True, eq=False)
class Part:
    """A block and what draws it; blank blocks are not drawn."""

    block: Block
    widget: ProseView | CodeBlock | None
    references: int = 0
    """How many link definitions were known when it was drawn."""


class MessageBody(QWidget):
    """The owner gives it its width by ``fit`` and is told by ``height_changed`` when it has grown."""

    height_changed = Signal()
    link_activated = Signal(str)
    settled = Signal()
    """The text is complete and drawn in its final form."""

    def __init__(self, theme: Theme, muted: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._muted = muted
        self._style = document_style(theme, muted)
        self._name = ""
        self._width = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._work)
        self._viewport_top = 0
        self._reset()

    def _reset(self) -> None:
        self._source: list[str] = []
        self._unfed = ""
        self._splitter = BlockSplitter()
        self._queue: deque[Block] = deque()
        self._parts: list[Part] = []
        self._open: Part | None = None
        self._joiner: BlockJoiner | None = None
        self._closed = False
        self._merges: deque[int] | None = None
        self._merge_at = 0
        self._changed_from = 0
        self._finished = False
        self._settled = True
        self._next_update = 0.0

    # What the owner does

    def text(self) -> str:
        """The source, exactly as it was given."""
        if len(self._source) > 1:
            self._source = ["".join(self._source)]
        return self._source[0] if self._source else ""

    def append(self, text: str) -> None:
        """More text has come."""
        if not text:
            return
        self._source.append(text)
        self._unfed += text
        self._settled = False
        self._schedule(self.next_update_in_s)

    def finish(self) -> None:
        """No more text comes. ``settled`` follows, at once or when the work is done."""
        if not self._finished:
            self._finished = True
            self._settled = False
            self._schedule(0)

    def set_text(self, text: str) -> None:
        """Show a complete text in place of what was there."""
        self._timer.stop()
        for part in [*self._parts, *([self._open] if self._open else [])]:
            self._discard(part)
        self._reset()
        self._joiner = BlockJoiner()
        self._source, self._unfed = [text], text
        self._finished, self._settled = True, False
        self._work()

    @property
    def is_settled(self) -> bool:
        """Whether everything that was given is drawn in its final form (or nothing was given)."""
        return self._settled

    @property
    def next_update_in_s(self) -> float:
        """How long newly come text waits at least until it is drawn."""
        return max(0.0, self._next_update - perf_counter())

    def parts(self) -> list[Part]:
        """Blocks and their widgets from top to bottom, the unfinished one last."""
        return [*self._parts, *([self._open] if self._open else [])]

    def fit(self, width: int) -> int:
        """Lay out for this width, take the height that is needed and return it, in pixels."""
        if width != self._width:
            self._width = width
            self._lay_out(0)
        return self.height()

    def follow_viewport(self, top: int) -> None:
        """What can be seen begins at ``top`` (own coordinates): headers of long code stay in sight."""
        self._viewport_top = top
        for part in self.parts():
            if isinstance(part.widget, CodeBlock):
                part.widget.follow_viewport(top - part.widget.y())

    def set_name(self, name: str) -> None:
        """What a screen reader calls the texts."""
        self._name = name
        for part in self.parts():
            if isinstance(part.widget, ProseView):
                part.widget.setAccessibleName(name)

    def restyle(self) -> None:
        """Take the theme's colours and sizes."""
        self._style = document_style(self._theme, self._muted)
        for part in self.parts():
            if isinstance(part.widget, CodeBlock):
                part.widget.restyle()
            elif part.widget is not None:
                part.widget.restyle(self._style)
        self._lay_out(0)

    def retranslate(self) -> None:
        for part in self.parts():
            if isinstance(part.widget, CodeBlock):
                part.widget.retranslate()

    # Work in slices

    def _schedule(self, pause_s: float) -> None:
        if not self._timer.isActive() or pause_s <= 0:
            self._timer.start(max(0, round(pause_s * 1000)))

    def _work(self) -> None:
        started = perf_counter()
        height = self.height()
        self._changed_from = len(self._parts)
        while not self._settled and perf_counter() - started < SLICE_S:
            if self._queue:
                self._freeze(self._queue.popleft())
            elif self._unfed:
                piece, self._unfed = self._unfed[:FEED_SLICE], self._unfed[FEED_SLICE:]
                self._take(self._splitter.feed(piece))
            elif not self._finished:
                break
            elif not self._closed:
                self._close()
            else:
                self._polish()
        behind = bool(self._queue or self._unfed)
        if not self._finished and not behind:
            self._draw_open()
        self._lay_out(self._changed_from)
        now = perf_counter()
        self._next_update = now + max(SHORTEST_PAUSE_S, COST_FACTOR * (now - started))
        if behind or (self._finished and not self._settled):
            self._schedule(0)
        if self.height() != height:
            self.height_changed.emit()
        if self._finished and self._settled:
            self.settled.emit()

    def _take(self, blocks: Sequence[Block]) -> None:
        if self._joiner is None:
            self._queue.extend(blocks)
            return
        for block in blocks:
            self._queue.extend(joined(group) for group in self._joiner.add(block))

    def _close(self) -> None:
        """All text has been taken in: hand out what was still open."""
        self._closed = True
        self._take(self._splitter.finish())
        if self._joiner:
            self._queue.extend(joined(group) for group in self._joiner.finish())

    # Parts

    def _freeze(self, block: Block) -> None:
        """A block is complete: draw it for the last time."""
        if block.is_blank:
            self._parts.append(Part(block, None))
            return
        part, self._open = self._reusable(block), None
        self._draw(part, block, finished=True)
        self._parts.append(part)

    def _draw_open(self) -> None:
        block = self._splitter.open_block()
        if block is None:
            self._drop_open()
            return
        part = self._reusable(block)
        self._draw(part, block, finished=False)
        self._open = part

    def _drop_open(self) -> None:
        if self._open:
            self._discard(self._open)
            self._open = None

    def _reusable(self, block: Block) -> Part:
        """The part being written if it can draw this block, else a new one in its place."""
        if self._open and self._open.block.kind is block.kind and self._open.block.level == block.level:
            return self._open
        self._drop_open()
        return self._create(block)

    def _create(self, block: Block) -> Part:
        widget: ProseView | CodeBlock
        if block.kind is BlockKind.CODE:
            widget = CodeBlock(self._theme, self)
        else:
            widget = ProseView(self._style, block.kind is BlockKind.TABLE, self)
            widget.setAccessibleName(self._name)
            widget.link_activated.connect(self.link_activated)
        if self._width:
            # Known before the text, so that it is laid out only once.
            widget.fit(self._width_for(block))
        return Part(block, widget)

    def _draw(self, part: Part, block: Block, finished: bool) -> None:
        part.block = block
        if isinstance(part.widget, CodeBlock):
            language, body = code_of(block, finished)
            part.widget.set_code(language, body, finished)
        elif part.widget is not None:
            part.references = len(self._splitter.references.get("references", {}))
            part.widget.show_html(markdown.render(block.markdown, self._splitter.references))

    def _discard(self, part: Part) -> None:
        if part.widget is not None:
            part.widget.hide()
            part.widget.deleteLater()

    # The final form

    def _polish(self) -> None:
        """One step: join paragraphs, then draw again what a later link definition has changed."""
        self._drop_open()
        if self._merges is None:
            self._merges = deque(() if self._joiner else _group_sizes(p.block for p in self._parts))
        if self._merges:
            count = self._merges.popleft()
            if count > 1:
                self._merge(self._merge_at, count)
                self._changed_from = min(self._changed_from, self._merge_at)
            self._merge_at += 1
            return
        known = len(self._splitter.references.get("references", {}))
        for index, part in enumerate(self._parts):
            stale = part.references != known and "[" in part.block.source
            if stale and isinstance(part.widget, ProseView):
                self._draw(part, part.block, finished=True)
                self._changed_from = min(self._changed_from, index)
        self._settled = True

    def _merge(self, start: int, count: int) -> None:
        old = self._parts[start : start + count]
        block = joined([part.block for part in old])
        if block.is_blank:
            self._parts[start : start + count] = [Part(block, None)]
            return
        new = self._create(block)
        self._draw(new, block, finished=True)
        if isinstance(new.widget, ProseView):
            _keep_selection([p.widget for p in old if isinstance(p.widget, ProseView)], new.widget)
        for part in old:
            self._discard(part)
        self._parts[start : start + count] = [new]

    # Layout

    def _width_for(self, block: Block) -> int:
        return max(1, self._width - block.level * self._style.list_indent)

    def _lay_out(self, first: int) -> None:
        """Place the parts from ``first`` on; those above keep their places."""
        if not self._width:
            return
        parts = self.parts()
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
        self.resize(self._width, y)


def _group_sizes(blocks: Iterable[Block]) -> list[int]:
    """How many blocks each final part is made of, from top to bottom."""
    joiner = BlockJoiner()
    groups = [group for block in blocks for group in joiner.add(block)]
    return [len(group) for group in (*groups, *joiner.finish())]


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
