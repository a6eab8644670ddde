"""The part of the window in which a conversation is read: scrolling, following, building what comes near.

It follows the newest text only while the reader is at the end, and never moves what is being read. Must not
know: what messages say, what their buttons lead to.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from clover_gui.ui.chat.history import Entry
from clover_gui.ui.chat.jump_button import JumpButton
from clover_gui.ui.chat.message_column import MessageColumn
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.text_selection import chain_tab_stops

TEXT_WIDTH_EM = 46
"""Longer lines are hard to read."""
SETTLE_MS = 120
"""Pause after a change of width before messages out of sight are laid out again."""


class ReadingArea(QScrollArea):
    """Shows a column of messages, of which only those near the part looked at have widgets."""

    following_changed = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._following = True
        self._moving = False
        """The scroll bar moves because of us, not because of the reader."""
        self._unseen = False
        self._laying_out = False
        self._column = column = MessageColumn(theme)
        column.height_changed.connect(self._on_height)
        column.thinking_toggled.connect(self._on_thinking)
        self.setWidget(column)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for area in (self, self.viewport()):
            area.setAutoFillBackground(True)
            area.setBackgroundRole(QPalette.ColorRole.Base)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._jump_button = JumpButton(theme, self)
        self._jump_button.clicked.connect(self.scroll_to_end)
        self._settle_timer = QTimer(self)
        self._settle_timer.setSingleShot(True)
        self._settle_timer.timeout.connect(self._settle)
        theme.changed.connect(self._on_theme)
        self._on_theme()

    def __len__(self) -> int:
        return len(self._column.entries)

    @property
    def is_following(self) -> bool:
        """Whether new text is scrolled into view."""
        return self._following

    def scroll_to_end(self) -> None:
        """Go to the newest text and follow it."""
        self._set_following(True)
        self._lay_out()

    def scroll_to(self, index: int) -> None:
        """Bring the beginning of a message to the top."""
        self._set_following(False)
        self._column.make_ready(index, index + 1)
        self._lay_out(anchor=(index, -self._theme.space(0.8)))

    def visible_range(self) -> tuple[int, int]:
        """The first message that can be seen, and the one after the last."""
        top = self.verticalScrollBar().value()
        return self._column.between(top, top + self.viewport().height())

    # Layout

    def _lay_out(self, anchor: tuple[int, int] | None = None) -> None:
        """Place everything and build what comes into sight, without moving what is read.

        ``anchor``: the message, and the offset in it, that shall be at the upper edge.
        """
        if self._laying_out:
            return
        self._laying_out = self._moving = True
        try:
            anchor = anchor or self._anchor()
            # Each round may show that an estimate was wrong, which brings others into sight.
            for _round in range(8):
                self._place()
                self._restore(anchor)
                if not self._column.make_ready(*self.visible_range()):
                    break
        finally:
            self._laying_out = self._moving = False
        self._column.note_steady()
        self._follow_viewports()
        self._place_button()
        self._settle_timer.start(SETTLE_MS)

    def _place(self) -> None:
        # Room for the scroll bar is kept whether it is there or not, so that nothing moves when it comes.
        room = self.width() - self.verticalScrollBar().sizeHint().width()
        margin = self._theme.space(1.4)
        width = max(self._theme.space(8), min(room - 2 * margin, self._theme.space(TEXT_WIDTH_EM)))
        self._column.set_text_width(width)
        self._column.place(max(0, (room - width) // 2), self.viewport().width())

    def _anchor(self) -> tuple[int, int]:
        top = self.verticalScrollBar().value()
        return self._column.anchor(top, top + self.viewport().height())

    def _restore(self, anchor: tuple[int, int]) -> None:
        bar = self.verticalScrollBar()
        if self._following:
            bar.setValue(bar.maximum())
        elif len(self):
            index, offset = anchor
            bar.setValue(self._column.entries[index].top + offset)

    def _near_range(self) -> tuple[int, int]:
        height = self.viewport().height()
        top = self.verticalScrollBar().value()
        return self._column.between(top - height, top + 2 * height)

    def _settle(self) -> None:
        """In a pause: make one message ready that is near what is read, so that it is there when it comes."""
        first, last = self._near_range()
        for index in range(last - 1, first - 1, -1):
            if not self._column.is_ready(index):
                self._column.make_ready(index, index + 1)
                self._lay_out()
                self._settle_timer.start(0)
                return
        self._column.drop_far_views(first, last)
        if any(entry.view and not entry.is_settled for entry in self._column.entries):
            # A long answer has hundreds of parts until it is complete.
            self._settle_timer.start(SETTLE_MS)
        else:
            chain_tab_stops(self, [entry.view for entry in self._column.entries if entry.view])

    def _follow_viewports(self) -> None:
        top = self.verticalScrollBar().value()
        first, last = self.visible_range()
        for entry in self._column.entries[first:last]:
            if entry.view:
                entry.view.follow_viewport(top - entry.top)

    # Following

    def _set_following(self, following: bool) -> None:
        if following:
            self._unseen = False
        if following != self._following:
            self._following = following
            self.following_changed.emit(following)
        self._place_button()

    def _on_scrolled(self, value: int) -> None:
        if self._moving:
            return
        bar = self.verticalScrollBar()
        self._set_following(value >= bar.maximum())
        first, last = self.visible_range()
        if all(self._column.is_ready(index) for index in range(first, last)):
            self._follow_viewports()
            self._settle_timer.start(SETTLE_MS)
        else:
            self._lay_out()

    def _on_height(self, entry: Entry) -> None:
        if entry.view is None:
            return
        if not self._following and entry.view.height() > entry.height:
            bottom = self.verticalScrollBar().value() + self.viewport().height()
            self._unseen = self._unseen or entry.top + entry.view.height() > bottom
        entry.height = entry.view.height()
        self._lay_out()

    def _on_thinking(self, entry: Entry, opened: bool) -> None:
        entry.thinking_open = opened
        thinking = entry.view.thinking if entry.view else None
        if opened and thinking and not thinking.is_live:
            # What is opened is to be read from its beginning, not from its end.
            self._set_following(False)

    def _place_button(self) -> None:
        self._jump_button.place(self._unseen and not self._following)

    def _on_theme(self) -> None:
        self._jump_button.restyle()
        self._column.restyle()
        self._lay_out()

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        anchor = self._anchor()
        super().resizeEvent(event)
        self._lay_out(anchor)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._lay_out()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # The base class moves the bar when the column changes its size.
        moving, self._moving = self._moving, True
        try:
            return super().eventFilter(watched, event)
        finally:
            self._moving = moving

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_Home:
            bar.setValue(bar.minimum())
        elif event.key() == Qt.Key.Key_End:
            self.scroll_to_end()
        else:
            super().keyPressEvent(event)
