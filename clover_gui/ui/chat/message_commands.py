"""What is done with messages that are there: copy, details, say one differently, show another version of one.

Knows the open chat and the page; asking the model is the answer presenter's matter.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.message import Message, Role
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.composer_presenter import ComposerPresenter
from clover_gui.ui.chat.moves import Moves
from clover_gui.ui.chat.open_chat import OpenChat
from clover_gui.ui.chat.path_history import history_of
from clover_gui.ui.chat.table_dialog import details_dialog
from clover_gui.ui.theme import Theme


class MessageCommands:
    """Places count from 0 along the shown path. While an answer runs (``answering``) nothing is changed."""

    def __init__(
        self,
        page: ChatPage,
        theme: Theme,
        store: AsyncChatStore,
        open_chat: OpenChat,
        field: ComposerPresenter,
        moves: Moves,
        answering: Callable[[], bool],
    ) -> None:
        self._page = page
        self._theme = theme
        self._store = store
        self._open = open_chat
        self._field = field
        self._moves = moves
        self._answering = answering

    def show_path(self) -> None:
        """The messages of the open chat, from their end."""
        messages = self._open.messages
        history = history_of(messages, self._open.versions, can_grow=self._open.can_grow)
        self._page.messages.set_history(history)
        self._page.show_welcome(not messages)

    def go_to(self, message_id: int, query: str = "") -> None:
        """Bring a message into sight. Where only its thoughts have what was searched for, they are opened."""
        place = next((i for i, m in enumerate(self._open.messages) if m.id == message_id), None)
        if place is None:
            return
        message, words = self._open.messages[place], query.casefold().split()
        thoughts = self._page.messages.view_at(place).thinking if words else None
        if thoughts is not None and not all(word in message.text.casefold() for word in words):
            thoughts.set_open(True)
        if words:
            self._page.messages.show_words(place, query.split())
        else:
            self._page.messages.scroll_to(place)

    def copy_answer(self) -> None:
        """Put the last answer into the clipboard."""
        if (answer := self._last(Role.ASSISTANT)) is not None:
            QGuiApplication.clipboard().setText(answer.text)

    def show_details(self) -> None:
        """What the last answer cost."""
        if (answer := self._last(Role.ASSISTANT)) is not None:
            details_dialog(answer, self._theme, self._page.window()).open()

    def mark_edited(self) -> None:
        """Show which message is being changed, if one is."""
        edited = self._field.edited_id
        ids = [message.id for message in self._open.messages]
        self._page.messages.mark(ids.index(edited) if edited in ids else None)

    def edit_last(self) -> None:
        """Change the last message of the person."""
        if (question := self._last(Role.USER)) is not None:
            self.edit(self._open.messages.index(question))

    def edit(self, place: int) -> None:
        """Change the message at this place; what followed it is kept too."""
        if self._answering() or not 0 <= place < len(self._open.messages):
            return
        message = self._open.messages[place]
        if message.role is Role.USER:
            self._field.edit(message)

    async def show_version(self, place: int, by: int) -> None:
        """Show the version of a message before or after the one that is shown, and what follows it."""
        if self._answering() or not 0 <= place < len(self._open.messages):
            return
        message = self._open.messages[place]
        family = self._open.versions.get(message.id, (message.id,))
        other = family.index(message.id) + by
        if 0 <= other < len(family):
            self._field.cancel_edit()
            async with self._moves.lock:
                if self._open.id != message.chat_id:
                    return
                await self._store.show_message(family[other])
                await self._open.load(message.chat_id)
                self.show_path()
                self._page.messages.scroll_to(place)

    def _last(self, role: Role) -> Message | None:
        return next((m for m in reversed(self._open.messages) if m.role is role), None)
