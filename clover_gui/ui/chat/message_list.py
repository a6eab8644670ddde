"""The conversation: all messages below each other, as many as there are, and searching in them.

Must not know: the engine, the store; it gets strings.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from clover_gui.chat.message import Attachment
from clover_gui.i18n import _
from clover_gui.ui.chat.history import Entry, HistoryMessage
from clover_gui.ui.chat.message_column import MessageColumn
from clover_gui.ui.chat.message_search import MessageSearch
from clover_gui.ui.chat.message_view import MessageView, Role
from clover_gui.ui.chat.reading_area import TEXT_WIDTH_EM, ReadingArea
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.found_text import places_in

__all__ = ["TEXT_WIDTH_EM", "HistoryMessage", "MessageList"]


class MessageList(ReadingArea):
    """Holds the messages of one conversation. Messages are counted from 0 here."""

    link_activated = Signal(str)
    regenerate_requested = Signal()
    """Another answer in place of the last one."""
    continue_requested = Signal()
    """More of the last answer."""
    edit_requested = Signal(int)
    """The person wants to write this message of theirs anew."""
    quote_requested = Signal(str)
    """What is selected in a message, or all of it."""
    previous_version_requested = Signal(int)
    next_version_requested = Signal(int)
    action_triggered = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._search = MessageSearch()
        self._reveal_found = False
        """The place found is not drawn yet."""
        self._relay(self._column)
        self.retranslate()

    def _relay(self, column: MessageColumn) -> None:
        column.link_activated.connect(self.link_activated)
        column.regenerate_requested.connect(self.regenerate_requested)
        column.continue_requested.connect(self.continue_requested)
        column.edit_requested.connect(self.edit_requested)
        column.quote_requested.connect(self.quote_requested)
        column.previous_version_requested.connect(self.previous_version_requested)
        column.next_version_requested.connect(self.next_version_requested)
        column.action_triggered.connect(self.action_triggered)

    # Messages

    def clear(self) -> None:
        """Take all messages away."""
        self.remove_from(0)
        self._set_following(True)

    def set_history(self, messages: Sequence[HistoryMessage]) -> None:
        """Show a stored conversation from its end."""
        self.clear_find()
        self._column.show_history(messages)
        self._set_following(True)
        self._lay_out()

    def add_user(self, text: str, files: Sequence[Attachment] = ()) -> MessageView:
        """The person has sent a message: show it, and go to the end."""
        view = self._column.add(Role.USER)
        view.set_user_text(text, files)
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
        if self._search.place and self._search.place[0] >= index:
            self.clear_find()
        self._lay_out()

    def remove_last_answer(self) -> None:
        """Take away the answer at the end, if there is one there."""
        entries = self._column.entries
        if entries and not entries[-1].message.is_user:
            self.remove_from(len(entries) - 1)

    def view_at(self, index: int) -> MessageView:
        """The widget of a message; built now if it was not there. Stored messages may lose theirs again."""
        return self._column.build(index)

    def mark(self, index: int | None) -> None:
        """Show that this message of the person is being changed; None: none is."""
        self._column.mark(index)

    # Searching

    def find_text(self, text: str, forward: bool = True) -> tuple[int, int]:
        """Go to the next place of a text (or the one before) in any message, and mark all of them.

        Returns which place it is, from 1, and how many there are; (0, 0) if there is none.
        """
        if not text:
            self.clear_find()
            return 0, 0
        texts = (entry.text for entry in self._column.entries)
        found = self._search.find(texts, text, forward, self.visible_range()[0])
        self._column.seek(text, self._search.place)
        self._show_found()
        return found

    def show_words(self, index: int, words: Sequence[str]) -> None:
        """Go to the first place of these words in a message, and mark them in all messages."""
        text = self._column.entries[index].text
        sought = [" ".join(words)]
        if not places_in(text, sought[0]):  # one by one, first those of which the message itself has places
            sought = sorted(words, key=lambda word: not places_in(text, word))
        places = places_in(text, sought[0])
        self.scroll_to(index)
        self._search.text, self._search.place = sought[0], (index, places[0]) if places else None
        self._column.seek(sought[0], self._search.place, tuple(sought[1:]))
        self.view_at(index).seek_in_thoughts(sought[0], tuple(sought[1:]))
        self._show_found()

    def clear_find(self) -> bool:
        """Take the marks away; the view stays where it is. Whether there were any."""
        self._reveal_found = False
        had = bool(self._search.text)
        if had:
            self._search.clear()
            self._column.seek("", None)
        return had

    def _show_found(self) -> None:
        """Bring the place found into sight, if it is not; a long message may have to be drawn first."""
        if self._search.place is None:
            return
        index = self._search.place[0]
        self._set_following(False)
        self._column.make_ready(index, index + 1)
        self._place()
        rect = self.view_at(index).found_rect()
        self._reveal_found = rect is None
        if rect is None:
            self._lay_out(anchor=(index, -self._theme.space(0.8)))
            return
        top, height, margin = (
            self.verticalScrollBar().value(),
            self.viewport().height(),
            self._theme.space(0.5),
        )
        y = self._column.entries[index].top + rect.y()
        in_sight = top + margin <= y <= top + height - margin - rect.height()
        self._lay_out(anchor=None if in_sight else (index, rect.y() - height // 3))

    def retranslate(self) -> None:
        """Take the texts of the language in force."""
        self.setAccessibleName(_("Conversation"))
        self._jump_button.retranslate()
        self._column.retranslate()
        self._place_button()

    def _on_height(self, entry: Entry) -> None:
        super()._on_height(entry)
        if self._reveal_found:
            self._show_found()
