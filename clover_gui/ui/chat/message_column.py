"""The messages themselves, one below the other: which have widgets, and where each stands.

Must not know: what part of it is looked at, or why (``message_list`` does).
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication, QWidget

from clover_gui.ui.chat.history import Entry, HistoryMessage
from clover_gui.ui.chat.message_search import Place
from clover_gui.ui.chat.message_view import MessageView, Role
from clover_gui.ui.theme import Theme

KEPT_VIEWS = 40
"""Stored messages that keep their widgets after they have gone out of sight."""


class MessageColumn(QWidget):
    """Messages are counted from 0. All heights are in pixels from the top of the column."""

    height_changed = Signal(object)
    """An entry whose message has grown or shrunk by itself."""
    thinking_toggled = Signal(object, bool)
    link_activated = Signal(str)
    regenerate_requested = Signal()
    continue_requested = Signal()
    edit_requested = Signal(int)
    quote_requested = Signal(str)
    previous_version_requested = Signal(int)
    next_version_requested = Signal(int)
    action_triggered = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text_width = 0
        self._sought: tuple[str, Place | None] = ("", None)
        self._also: tuple[str, ...] = ()
        self._marked: int | None = None
        self.entries: list[Entry] = []

    # Content

    def show_history(self, messages: Sequence[HistoryMessage]) -> None:
        """Stored messages in place of what was there; none of them has a widget yet."""
        self.remove_from(0)
        self.entries = [Entry(message) for message in messages]

    def add(self, role: Role) -> MessageView:
        """A new message at the end, written in this window; it keeps its widget."""
        if self.entries and (before := self.entries[-1].view):
            before.set_can_regenerate(False)
            before.set_can_continue(False)
        self.entries.append(Entry(HistoryMessage(role is Role.USER, ""), kept=True))
        return self.build(len(self.entries) - 1)

    def remove_from(self, index: int) -> None:
        """Take away the message ``index`` and all that follow."""
        for entry in self.entries[index:]:
            self._drop_view(entry)
        del self.entries[index:]

    # Widgets

    def build(self, index: int) -> MessageView:
        """The widget of a message, made now if there is none."""
        entry = self.entries[index]
        if entry.view:
            return entry.view
        view = MessageView(entry.message.role, index + 1, self._theme, self)
        entry.view = view
        view.fit(self._text_width)
        if not entry.kept:
            entry.fill(view)
        is_last = index == len(self.entries) - 1
        view.set_can_regenerate(is_last)
        view.set_can_continue(is_last and entry.message.can_continue)
        view.set_marked(index == self._marked)
        self._seek_in(index)
        entry.fitted_width, entry.height = self._text_width, view.height()
        self._connect(view, entry, index)
        return view

    def _connect(self, view: MessageView, entry: Entry, index: int) -> None:
        view.height_changed.connect(lambda: self.height_changed.emit(entry))
        view.thinking_toggled.connect(lambda opened: self.thinking_toggled.emit(entry, opened))
        view.link_activated.connect(self.link_activated)
        view.regenerate_requested.connect(self.regenerate_requested)
        view.continue_requested.connect(self.continue_requested)
        view.edit_requested.connect(self.edit_requested)
        view.quote_requested.connect(self.quote_requested)
        view.previous_version_requested.connect(lambda: self.previous_version_requested.emit(index))
        view.next_version_requested.connect(lambda: self.next_version_requested.emit(index))
        view.action_triggered.connect(self.action_triggered)

    def is_ready(self, index: int) -> bool:
        """Whether a message has its widget, laid out for the width in force and in the colours in force."""
        entry = self.entries[index]
        return entry.view is not None and not entry.old_look and entry.fitted_width == self._text_width

    def make_ready(self, first: int, last: int) -> bool:
        """Build, restyle and lay out these messages; whether they must be placed again."""
        changed = False
        for index in range(first, last):
            entry = self.entries[index]
            before = entry.height
            view = self.build(index)
            if not self.is_ready(index):
                if entry.old_look:
                    view.restyle()
                entry.old_look = False
                entry.fitted_width, entry.height = self._text_width, view.fit(self._text_width)
            changed = changed or view.isHidden() or entry.height != before
        return changed

    def drop_far_views(self, first: int, last: int) -> None:
        """Stored messages outside of these give their widgets back, but for the last few and the focus."""
        far = [
            entry
            for index, entry in enumerate(self.entries)
            if entry.view and not entry.kept and not first <= index < last
        ]
        focused = QApplication.focusWidget()
        for entry in far[: max(0, len(far) - KEPT_VIEWS)]:
            if entry.view and not (focused and entry.view.isAncestorOf(focused)):
                self._drop_view(entry)

    def restyle(self) -> None:
        """The theme has changed: everything is drawn anew when it is made ready the next time."""
        for entry in self.entries:
            entry.old_look, entry.estimated_width = True, -1

    def retranslate(self) -> None:
        for entry in self.entries:
            if entry.view:
                entry.view.retranslate()

    def mark(self, index: int | None) -> None:
        """The message that is being changed, None for none."""
        self._marked = index
        for place, entry in enumerate(self.entries):
            if entry.view:
                entry.view.set_marked(place == index)

    # Searching

    def seek(self, text: str, place: Place | None, also: tuple[str, ...] = ()) -> None:
        """Mark a text in all messages ("" for none), and ``also`` others; ``place``: the one looked at."""
        self._sought, self._also = (text, place), also
        for index in range(len(self.entries)):
            self._seek_in(index)

    def _seek_in(self, index: int) -> None:
        text, place = self._sought
        if view := self.entries[index].view:
            view.seek(text, place[1] if place and place[0] == index else None, self._also)

    def _drop_view(self, entry: Entry) -> None:
        if entry.view:
            entry.view.hide()
            entry.view.deleteLater()
            entry.view = None

    # Places

    def set_text_width(self, width: int) -> None:
        """The width that messages have from now on; they take it when they are made ready."""
        self._text_width = width

    def place(self, left: int, width: int) -> None:
        """Give every message its place, and the column its size; ``width`` is that of the column."""
        y = self._theme.space(1.5)
        gap = self._theme.space(1.1)
        for entry in self.entries:
            view = entry.view
            if view is None and entry.estimated_width != self._text_width:
                entry.estimate(self._theme, self._text_width)
            entry.top = y
            if view is not None:
                if view.x() != left or view.y() != y:
                    view.move(left, y)
                if view.isHidden():
                    view.show()
            y += entry.height + gap
        self.resize(width, y)

    def between(self, top: int, bottom: int) -> tuple[int, int]:
        """The messages between two heights: the first, and the one after the last."""
        entries = self.entries
        first = next((i for i, e in enumerate(entries) if e.top + e.height > top), len(entries))
        last = first
        while last < len(entries) and entries[last].top < bottom:
            last += 1
        return first, last

    def anchor(self, top: int, bottom: int) -> tuple[int, int]:
        """What shall stay where it is: a message, and how far its top is above the upper edge.

        It is the message at the upper edge, unless some in sight are still being built: then what is below
        these stays, or if nothing is, the beginning of the last of them.
        """
        first, last = self.between(top, bottom)
        if first == last:
            return max(0, len(self.entries) - 1), 0
        growing = [index for index in range(first, last) if not self.entries[index].steady]
        kept = min(growing[-1] + 1, last - 1) if growing else first
        return kept, top - self.entries[kept].top

    def note_steady(self) -> None:
        """Everything is placed: remember which heights are final."""
        for entry in self.entries:
            entry.steady = entry.is_settled
