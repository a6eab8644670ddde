"""A Markdown message that can be written while it is read.

Each top-level block has a widget of its own; only the one that is still being written is touched, at most
every ``SHORTEST_PAUSE_S`` and never for more than a fifth of the time. When the text is complete,
neighbouring paragraphs become one document, so that they can be selected together; the result is the same
as that of ``set_text`` with the whole text. Work that takes long is done in slices.
Must not know: who wrote the message, where it stands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from time import perf_counter

from PySide6.QtCore import QRect, QTimer, Signal
from PySide6.QtWidgets import QWidget

from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.block_splitter import BlockSplitter
from clover_gui.ui.widgets.blocks import Block, BlockJoiner, joined
from clover_gui.ui.widgets.body_parts import BodyParts, Part, group_sizes

SHORTEST_PAUSE_S = 0.033
COST_FACTOR = 4.0
"""The pause after an update is at least this many times as long as the update was."""
SLICE_S = 0.010
FEED_SLICE = 4_000
"""Characters that are cut into blocks at a time."""
FORMULA_PAUSE_S = 0.5
"""A part with formulas is drawn again when all of them are there, or after such a pause for some of them."""


class MessageBody(QWidget):
    """The owner gives it its width by ``fit`` and is told by ``height_changed`` when it has grown."""

    height_changed = Signal()
    link_activated = Signal(str)
    settled = Signal()
    """The text is complete and drawn in its final form."""

    def __init__(self, theme: Theme, muted: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts = BodyParts(self, theme, muted, self.link_activated.emit)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._work)
        theme.formulas.drawn.connect(self._on_drawn)
        self._reset()

    def _reset(self) -> None:
        self._source: list[str] = []
        self._unfed = ""
        self._splitter = BlockSplitter()
        self._parts.references = self._splitter.references
        self._queue: deque[Block] = deque()
        self._joiner: BlockJoiner | None = None
        self._closed = False
        self._merges: deque[int] | None = None
        self._merge_at = 0
        self._redraws: list[Part] = []
        self._changed_from = 0
        self._finished = False
        self._settled = True
        self._next_update = 0.0
        self._next_formulas = 0.0

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
        self._parts.clear()
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
        return self._parts.all()

    def fit(self, width: int) -> int:
        """Lay out for this width, take the height that is needed and return it, in pixels."""
        if width != self._parts.width:
            self._parts.width = width
            self._lay_out(0)
        return self.height()

    def follow_viewport(self, top: int) -> None:
        """What can be seen begins at ``top`` (own coordinates): headers of long code stay in sight."""
        self._parts.follow_viewport(top)

    def seek(self, text: str, current: int | None = None, also: tuple[str, ...] = ()) -> None:
        """Mark a text ("" for none), and ``also`` others; ``current``: where in the source the place looked
        at begins."""
        self._parts.seek(text, current, also)

    def found_rect(self) -> QRect | None:
        """Where the place looked at is drawn; None if it is not (yet)."""
        return self._parts.found_rect()

    def set_name(self, name: str) -> None:
        """What a screen reader calls the texts."""
        self._parts.set_name(name)

    def restyle(self) -> None:
        """Take the theme's colours and sizes."""
        self._parts.restyle()
        self._lay_out(0)

    def retranslate(self) -> None:
        self._parts.retranslate()

    # Work in slices

    def _schedule(self, pause_s: float) -> None:
        if not self._timer.isActive() or pause_s <= 0:
            self._timer.start(max(0, round(pause_s * 1000)))

    def _work(self) -> None:
        started = perf_counter()
        height = self.height()
        self._changed_from = len(self._parts.frozen)
        while not self._settled and perf_counter() - started < SLICE_S:
            if not self._step():
                break
        behind = bool(self._queue or self._unfed or self._redraws)
        if not self._finished and not behind:
            self._parts.draw_open(self._splitter.open_block())
        self._lay_out(self._changed_from)
        self._parts.mark_from(self._changed_from)
        now = perf_counter()
        self._next_update = now + max(SHORTEST_PAUSE_S, COST_FACTOR * (now - started))
        if behind or (self._finished and not self._settled and not self._is_waiting()):
            self._schedule(0)
        if self.height() != height:
            self.height_changed.emit()
        if self._finished and self._settled:
            self.settled.emit()

    def _step(self) -> bool:
        """Do the next piece of work; False if there is none."""
        if self._redraws:
            self._redraw(self._redraws.pop())
        elif self._queue:
            self._parts.freeze(self._queue.popleft())
        elif self._unfed:
            piece, self._unfed = self._unfed[:FEED_SLICE], self._unfed[FEED_SLICE:]
            self._take(self._splitter.feed(piece))
        elif not self._finished:
            return False
        elif not self._closed:
            self._close()
        elif self._merges is None or self._merges:
            self._merge_next()
        elif outdated := self._parts.outdated():
            self._redraw(self._parts.frozen[outdated[0]])
        elif self._is_waiting():
            return False
        else:
            self._settled = True
        return True

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

    def _merge_next(self) -> None:
        """Join paragraphs that belong together, one group at a time."""
        self._parts.drop_open()
        if self._merges is None:
            frozen = self._parts.frozen
            self._merges = deque(() if self._joiner else group_sizes(p.block for p in frozen))
        if self._merges:
            count = self._merges.popleft()
            if count > 1:
                self._parts.merge(self._merge_at, count)
                self._changed_from = min(self._changed_from, self._merge_at)
            self._merge_at += 1

    # Formulas

    def _is_waiting(self) -> bool:
        return bool(self._redraws) or any(part.waiting for part in self._parts.frozen)

    def _on_drawn(self, sources: frozenset[str]) -> None:
        now = perf_counter()
        for part in self._parts.all():
            if not part.waiting & sources:
                continue
            part.waiting -= sources
            if not part.waiting or now > self._next_formulas:
                if part is not self._parts.open:
                    self._redraws.append(part)
                self._schedule(0 if not part.waiting else self.next_update_in_s)

    def _redraw(self, part: Part) -> None:
        if part in self._parts.frozen:
            started = perf_counter()
            self._parts.draw_again(part)
            now = perf_counter()
            self._next_formulas = now + max(FORMULA_PAUSE_S, 10 * (now - started))
            self._changed_from = min(self._changed_from, self._parts.frozen.index(part))

    def _lay_out(self, first: int) -> None:
        if self._parts.width:
            self.resize(self._parts.width, self._parts.lay_out(first))
