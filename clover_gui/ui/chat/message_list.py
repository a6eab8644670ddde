"""The conversation: all messages below each other, as many as there are.

Only messages near the part that is looked at have widgets; the others are an estimated height until they
come near. It follows the newest text only while the reader is at the end, and never moves what is being
read. Must not know: the engine, the store; it gets strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QWidget

from clover_gui.i18n import _
from clover_gui.ui.chat.history import Entry, HistoryMessage
from clover_gui.ui.chat.message_column import MessageColumn
from clover_gui.ui.chat.message_view import MessageView, Role
from clover_gui.ui.theme import Theme

__all__ = ["HistoryMessage", "MessageList"]

TEXT_WIDTH_EM = 46
"""Longer lines are hard to read."""
SETTLE_MS = 120
"""Pause after a change of width before messages out of sight are laid out again."""


class MessageList(QScrollArea):
    """Holds the messages of one conversation. Messages are counted from 0 here."""

    link_activated = Signal(str)
    regenerate_requested = Signal()
    """Another answer in place of the last one."""
    action_triggered = Signal(str)
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
        column.link_activated.connect(self.link_activated)
        column.regenerate_requested.connect(self.regenerate_requested)
        column.action_triggered.connect(self.action_triggered)
        self.setWidget(column)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for area in (self, self.viewport()):
            area.setAutoFillBackground(True)
            area.setBackgroundRole(QPalette.ColorRole.Base)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._jump_button = QPushButton(self)
        self._jump_button.setProperty("kind", "pill")
        self._jump_button.clicked.connect(self.scroll_to_end)
        self._jump_button.hide()
        self._settle_timer = QTimer(self)
        self._settle_timer.setSingleShot(True)
        self._settle_timer.timeout.connect(self._settle)
        theme.changed.connect(self._on_theme)
        self._on_theme()
        self.retranslate()

    # Messages

    def __len__(self) -> int:
        return len(self._column.entries)

    def clear(self) -> None:
        """Take all messages away."""
        self.remove_from(0)
        self._set_following(True)

    def set_history(self, messages: Sequence[HistoryMessage]) -> None:
        """Show a stored conversation from its end."""
        self._column.show_history(messages)
        self._set_following(True)
        self._lay_out()

    def add_user(self, text: str) -> MessageView:
        """The person has sent a message: show it, and go to the end."""
        view = self._column.add(Role.USER)
        view.set_user_text(text)
        self.scroll_to_end()
        return view

    def add_answer(self) -> MessageView:
        """An answer begins; the caller writes into what is returned. It stays until it is removed."""
        view = self._column.add(Role.ANSWER)
        self._lay_out()
        return view

    def remove_from(self, index: int) -> None:
        """Take away the message ``index`` and all that follow."""
        self._column.remove_from(index)
        self._lay_out()

    def remove_last_answer(self) -> None:
        """Take away the answer at the end, if there is one there."""
        entries = self._column.entries
        if entries and not entries[-1].message.is_user:
            self.remove_from(len(entries) - 1)

    def view_at(self, index: int) -> MessageView:
        """The widget of a message; built now if it was not there. Stored messages may lose theirs again."""
        return self._column.build(index)

    # Reading

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

    def retranslate(self) -> None:
        """Take the texts of the language in force."""
        self.setAccessibleName(_("Conversation"))
        self._jump_button.setText(_("New text below"))
        self._jump_button.setAccessibleName(_("Go to the new text below"))
        self._column.retranslate()
        self._place_button()

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
            self._chain_tab_stops()

    def _chain_tab_stops(self) -> None:
        """Tab goes through the messages as they are read, whenever each of them was built."""
        stops: list[QWidget] = [self]
        for entry in self._column.entries:
            if entry.view:
                stops.extend(entry.view.tab_stops())
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

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
        button = self._jump_button
        button.setVisible(self._unseen and not self._following)
        if button.isHidden():
            return
        button.adjustSize()
        left = (self.viewport().width() - button.width()) // 2
        button.move(left, self.viewport().height() - button.height() - self._theme.space(0.8))
        button.raise_()

    def _on_theme(self) -> None:
        self._jump_button.setIcon(self._theme.icon("arrow-down"))
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
