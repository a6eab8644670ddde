"""The chat that is on the page: what the store has of it, and its session with the engine.

A chat that has no message yet is not in the store; its settings wait here. Must not know: widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.branches import Versions
from clover_gui.chat.context import ContextCheck, check_of
from clover_gui.chat.history import prompt_messages
from clover_gui.chat.message import Attachment, Chat, Message, Role
from clover_gui.chat.options import ChatOptions
from clover_gui.chat.presets import Preset
from clover_gui.chat.session import ChatSession
from clover_gui.engine.engine import Engine

NEW_CHAT_ID = 0
"""Under this number the store keeps the draft of the chat that does not exist yet."""


class OpenChat:
    """``messages`` is the path that is shown; ``versions`` which of them have others beside them."""

    def __init__(
        self,
        engine: Engine,
        store: AsyncChatStore,
        *,
        thinking: bool,
        preset: Callable[[], Preset | None] = lambda: None,
    ) -> None:
        """``preset``: what new chats begin with, if the person chose one."""
        self._engine = engine
        self._preset = preset
        self._store = store
        self.chat: Chat | None = None
        self.session: ChatSession | None = None
        self.messages: list[Message] = []
        self.versions: Versions = {}
        self.thinking = thinking
        """For the next new chat."""
        self.options = ChatOptions()
        self.system_prompt = ""
        self._is_new = False

    @property
    def id(self) -> int:
        return self.chat.id if self.chat is not None else NEW_CHAT_ID

    def leave(self) -> None:
        """No chat is open; the next message begins a new one."""
        self.chat = self.session = None
        self.messages, self.versions = [], {}
        preset = self._preset() or Preset()
        self.options, self.system_prompt = preset.options, preset.instructions
        if preset.thinking is not None:
            self.thinking = preset.thinking

    async def load(self, chat_id: int, message_id: int = 0, query: str = "") -> int:
        """Open a chat of the store; ``message_id`` shall be on the path that is shown, or another message
        that has all words of ``query`` in its place. Returns the message that is on it, 0 for none.

        Raises:
            ChatStoreError: it is not there or cannot be read.
        """
        chat = await self._store.chat(chat_id)
        messages = await self._store.messages(chat_id)
        if message_id and all(message.id != message_id for message in messages):
            # What the person sees of the chat stays, if it has the words too.
            words = query.casefold().split()
            found = [m.id for m in messages if words and has_words(m, words)]
            if found:
                message_id = found[-1]
            else:
                chat = await self._store.show_message(message_id)
                messages = await self._store.messages(chat_id)
        self.versions = await self._store.versions(chat_id)
        self._take(chat)
        self.messages = messages
        return message_id

    async def reload_versions(self) -> None:
        """After a message has got another version."""
        if self.chat is not None:
            self.versions = await self._store.versions(self.chat.id)

    async def begin(self) -> ChatSession:
        """The session; a new chat is made in the store if none is open.

        Raises:
            ChatStoreError: it could not be saved.
        """
        if self.session is None:
            chat = await self._store.create_chat(thinking=self.thinking, system_prompt=self.system_prompt)
            if not self.options.is_default:
                chat = await self._store.set_options(chat.id, self.options)
            self._is_new = True
            self._take(chat)
        assert self.session is not None
        return self.session

    async def forget_new_draft(self) -> None:
        """The first message is in the store: it is no draft of a new chat any more."""
        if self._is_new:
            self._is_new = False
            await self._store.save_draft(NEW_CHAT_ID, "", ())

    async def set_thinking(self, on: bool) -> None:
        self.thinking = on
        if self.chat is not None:
            self._renew(await self._store.set_thinking(self.chat.id, on))

    async def set_options(self, system_prompt: str, options: ChatOptions) -> None:
        self.system_prompt, self.options = system_prompt, options
        if self.chat is not None:
            chat_id = self.chat.id
            await self._store.set_system_prompt(chat_id, system_prompt)
            self._renew(await self._store.set_options(chat_id, options))

    async def check(
        self,
        text: str | None,
        files: Sequence[Attachment],
        *,
        replacing: int | None,
        thinking: bool | None,
        go_on: bool = False,
    ) -> ContextCheck:
        """Whether the chat fits with this message; see ``ChatSession.check``."""
        if self.session is not None:
            return await self.session.check(
                text, attachments=files, replacing=replacing, go_on=go_on, thinking=thinking
            )
        message = Message(0, NEW_CHAT_ID, Role.USER, text or "", attachments=tuple(files))
        counted = await self._engine.count(prompt_messages([message], self.system_prompt), thinking=thinking)
        return check_of(counted, [(message,)])

    @property
    def context_used(self) -> int | None:
        """Tokens that the context held after the last answer; None if that is not known, for example because
        the answer was interrupted."""
        if not self.messages:
            return 0
        stats = self.messages[-1].stats
        return stats.context_used if stats is not None and stats.context_used else None

    @property
    def can_grow(self) -> bool:
        """Whether the loaded model was made for a larger context than it has now."""
        loaded = self._engine.loaded
        return loaded is not None and loaded.trained_context > loaded.context

    def _renew(self, chat: Chat) -> None:
        """The store's new state of a chat, unless another one was opened meanwhile."""
        if chat.id == self.id:
            self.chat = chat

    def _take(self, chat: Chat) -> None:
        self.chat = chat
        self.session = ChatSession(self._engine, self._store, chat)
        self.options, self.system_prompt = chat.options, chat.system_prompt


def has_words(message: Message, words: Sequence[str]) -> bool:
    """Whether the message with its thoughts, or one of its files, has all of these (in small letters)."""
    texts = [f"{message.text}\n{message.thinking}", *(f"{f.name}\n{f.text}" for f in message.attachments)]
    return any(all(word in text.casefold() for word in words) for text in texts)
