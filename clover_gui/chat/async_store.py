"""The chat store for an event loop: every call runs in one worker thread, in the order of the calls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from clover_gui.chat.branches import Versions
from clover_gui.chat.message import AnswerStats, Attachment, Chat, Message, MessageState
from clover_gui.chat.opening import OpenedStore, open_store
from clover_gui.chat.options import ChatOptions
from clover_gui.chat.record import ChatRecord
from clover_gui.chat.search import SearchHit
from clover_gui.chat.store import ChatStore
from clover_gui.errors import ChatStoreError

SAVE_AGAIN_S = 4.0
"""Between two tries to write what could not be written."""

P = ParamSpec("P")
T = TypeVar("T")


class AsyncChatStore:
    """Same operations and errors as ``ChatStore``, awaitable. Close it to end its thread."""

    def __init__(self, opened: OpenedStore, thread: ThreadPoolExecutor) -> None:
        self.opened = opened
        self.save_failed: Callable[[ChatStoreError], None] = _ignore
        """Told when something could not be written, and not again before everything is written."""
        self.saved_again: Callable[[], None] = _nothing
        self.put_back: Callable[[Path], None] = _ignore
        """Told with its path when the file was removed by somebody and was written anew."""
        self.kept_apart: Callable[[Path], None] = _ignore
        """Told where the chats go on, since another file has taken the place of theirs."""
        self._store = opened.store
        self._thread = thread
        self._times_put_back = 0
        self._told_apart: Path | None = None
        self._unsaved: dict[tuple[str, int], Callable[[ChatStore], object]] = {}
        self._again: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: Path) -> AsyncChatStore:
        """Open the database at ``path`` or the best possible instead; ``opened`` says what happened."""
        thread = _one_thread()
        opened = await asyncio.get_running_loop().run_in_executor(thread, open_store, path)
        return cls(opened, thread)

    @classmethod
    def in_memory(cls) -> AsyncChatStore:
        """A store that is gone when the program ends."""
        return cls(OpenedStore(ChatStore()), _one_thread())

    async def close(self) -> None:
        """Finish what was asked so far, try once more what failed, and end the thread."""
        if self._again is not None:
            self._again.cancel()
            await asyncio.gather(self._again, return_exceptions=True)
        await self._save_unsaved()
        await self._run(ChatStore.close)
        self._thread.shutdown(wait=False)

    async def create_chat(self, *, title: str = "", thinking: bool = True, system_prompt: str = "") -> Chat:
        return await self._run(
            ChatStore.create_chat, title=title, thinking=thinking, system_prompt=system_prompt
        )

    async def list_chats(self) -> list[Chat]:
        return await self._run(ChatStore.list_chats)

    async def chat(self, chat_id: int) -> Chat:
        return await self._run(ChatStore.chat, chat_id)

    async def rename_chat(self, chat_id: int, title: str) -> Chat:
        return await self._run(ChatStore.rename_chat, chat_id, title)

    async def set_thinking(self, chat_id: int, thinking: bool) -> Chat:
        return await self._run(ChatStore.set_thinking, chat_id, thinking)

    async def set_system_prompt(self, chat_id: int, text: str) -> Chat:
        return await self._run(ChatStore.set_system_prompt, chat_id, text)

    async def set_pinned(self, chat_id: int, pinned: bool) -> Chat:
        return await self._run(ChatStore.set_pinned, chat_id, pinned)

    async def set_options(self, chat_id: int, options: ChatOptions) -> Chat:
        return await self._run(ChatStore.set_options, chat_id, options)

    async def delete_chat(self, chat_id: int) -> None:
        await self._run(ChatStore.delete_chat, chat_id)

    async def undo_delete(self, chat_id: int) -> Chat:
        return await self._run(ChatStore.undo_delete, chat_id)

    async def purge_deleted(self, older_than_s: float = 0.0) -> int:
        return await self._run(ChatStore.purge_deleted, older_than_s)

    async def messages(self, chat_id: int) -> list[Message]:
        return await self._run(ChatStore.messages, chat_id)

    async def add_user_message(
        self, chat_id: int, text: str, attachments: Sequence[Attachment] = ()
    ) -> Message:
        return await self._run(ChatStore.add_user_message, chat_id, text, attachments)

    async def revise_user_message(self, message_id: int, text: str) -> Message:
        return await self._run(ChatStore.revise_user_message, message_id, text)

    async def versions(self, chat_id: int) -> Versions:
        return await self._run(ChatStore.versions, chat_id)

    async def show_message(self, message_id: int) -> Chat:
        return await self._run(ChatStore.show_message, message_id)

    async def search(self, query: str) -> list[SearchHit]:
        return await self._run(ChatStore.search, query)

    async def record(self, chat_id: int) -> ChatRecord:
        return await self._run(ChatStore.record, chat_id)

    async def import_record(self, record: ChatRecord) -> Chat:
        return await self._run(ChatStore.import_record, record)

    async def begin_context(self, message_id: int, begins: bool = True) -> Message:
        return await self._run(ChatStore.begin_context, message_id, begins)

    async def begin_answer(self, chat_id: int, parent_id: int) -> Message:
        return await self._run(ChatStore.begin_answer, chat_id, parent_id)

    async def resume_answer(self, message_id: int) -> Message:
        return await self._run(ChatStore.resume_answer, message_id)

    async def update_answer(self, message_id: int, text: str, thinking: str) -> None:
        await self._save(("answer", message_id), ChatStore.update_answer, message_id, text, thinking)

    async def finish_answer(
        self, message_id: int, text: str, thinking: str, state: MessageState, stats: AnswerStats | None
    ) -> Message:
        return await self._save(
            ("answer", message_id), ChatStore.finish_answer, message_id, text, thinking, state, stats
        )

    async def draft(self, chat_id: int) -> str:
        return await self._run(ChatStore.draft, chat_id)

    async def draft_attachments(self, chat_id: int) -> tuple[Attachment, ...]:
        return await self._run(ChatStore.draft_attachments, chat_id)

    async def save_draft(
        self, chat_id: int, text: str, attachments: Sequence[Attachment] | None = None
    ) -> None:
        await self._save(("draft", chat_id), ChatStore.save_draft, chat_id, text, attachments)

    async def _save(
        self,
        key: tuple[str, int],
        operation: Callable[Concatenate[ChatStore, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As ``_run``; what fails is kept (the newest of its key) and tried again until it is written."""
        try:
            result = await self._run(operation, *args, **kwargs)
        except ChatStoreError as error:
            first = not self._unsaved
            self._unsaved[key] = lambda store: operation(store, *args, **kwargs)
            if self._again is None or self._again.done():
                self._again = asyncio.get_running_loop().create_task(self._save_later(), name="save again")
            if first:
                self.save_failed(error)
            raise
        self._unsaved.pop(key, None)
        return result

    async def save_now(self) -> None:
        """Try at once what failed before; what is read from now on is the newest.

        Raises:
            ChatStoreError: it still cannot be written. It is tried again by itself.
        """
        for key, call in list(self._unsaved.items()):
            await self._run(call)
            if self._unsaved.get(key) is call:
                del self._unsaved[key]

    async def _save_later(self) -> None:
        while self._unsaved:
            await asyncio.sleep(SAVE_AGAIN_S)
            await self._save_unsaved()
        self.saved_again()

    async def _save_unsaved(self) -> None:
        for key, call in list(self._unsaved.items()):
            with contextlib.suppress(ChatStoreError):
                await self._run(call)
                if self._unsaved.get(key) is call:
                    del self._unsaved[key]

    async def _run(
        self, operation: Callable[Concatenate[ChatStore, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(self._thread, lambda: operation(self._store, *args, **kwargs))
        if self._store.times_put_back != self._times_put_back:
            self._times_put_back = self._store.times_put_back
            self.put_back(self._store.path)
        if (apart := self._store.kept_apart) is not None and apart != self._told_apart:
            self._told_apart = apart
            self.kept_apart(apart)
        return result


def _ignore(_what: object) -> None:
    """Nobody listens."""


def _nothing() -> None:
    """Nobody listens."""


def _one_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="chat-store")
