"""Which chat the page shows: an empty one, one from the store, or another one in its place.

Knows nothing of asking and answering; what runs is ended by whoever made the ``Moves``.
"""

from __future__ import annotations

from collections.abc import Callable

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.errors import ChatStoreError, CloverError
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.composer_presenter import ComposerPresenter
from clover_gui.ui.chat.list_presenter import ChatListPresenter
from clover_gui.ui.chat.message_commands import MessageCommands
from clover_gui.ui.chat.moves import Moves
from clover_gui.ui.chat.open_chat import NEW_CHAT_ID, OpenChat


class ChatSwitch:
    """``shown`` is called when another chat stands on the page, ``failed`` where one cannot be read."""

    def __init__(
        self,
        page: ChatPage,
        open_chat: OpenChat,
        moves: Moves,
        field: ComposerPresenter,
        messages: MessageCommands,
        chats: ChatListPresenter,
        *,
        shown: Callable[[], None],
        failed: Callable[[CloverError], None],
    ) -> None:
        self._page = page
        self._open = open_chat
        self._moves = moves
        self._field = field
        self._messages = messages
        self._chats = chats
        self._shown = shown
        self._failed = failed

    async def open_newest(self, store: AsyncChatStore) -> None:
        """What is shown at the start; without a chat an empty one."""
        chats = await store.list_chats()
        if chats:
            await self.open_chat(max(chats, key=lambda chat: chat.updated).id)
        else:
            await self.new_chat()

    async def new_chat(self) -> bool:
        """An empty page; the chat itself is made with its first message. False: see ``Moves.go``."""
        self._chats.current_id = None
        return await self._moves.go(self._show_new_chat)

    async def open_chat(self, chat_id: int, message_id: int = 0) -> None:
        """Show a chat from the store, from its end or from the message."""
        self._chats.current_id = chat_id  # the next step goes on from here, even before it is shown
        await self._moves.go(lambda: self._show_chat(chat_id, message_id))

    async def show_in_list(self) -> None:
        """Mark the open chat in the list, unless another one is on its way."""
        if self._moves.are_over:
            self._chats.current_id = self._shown_id
        await self._chats.refresh()

    async def leave_deleted(self, chat_id: int) -> None:
        """This chat is no longer there: show an empty one, if it was the open one."""
        if self._shown_id == chat_id:
            await self.new_chat()

    @property
    def _shown_id(self) -> int | None:
        return self._open.chat.id if self._open.chat is not None else None

    async def _show_new_chat(self) -> None:
        draft = await self._field.draft(NEW_CHAT_ID)
        self._open.leave()
        self._page.notice.leave_chat()
        self._page.messages.clear()
        self._page.show_welcome(True)
        self._field.show_draft(draft)
        self._shown()
        await self.show_in_list()
        self._page.composer.setFocus()

    async def _show_chat(self, chat_id: int, message_id: int) -> None:
        try:
            draft = await self._field.draft(chat_id)
            former, query = self._shown_id, self._page.conversations.query
            message_id = await self._open.load(chat_id, message_id, query)
        except ChatStoreError as error:
            self._failed(error)
            await self.show_in_list()
            return
        if chat_id != former:
            self._page.notice.leave_chat()
        self._messages.show_path()
        self._field.show_draft(draft)
        self._shown()
        await self.show_in_list()
        self._messages.go_to(message_id, query)
