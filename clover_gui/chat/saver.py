"""Keeps a growing answer in the store at short intervals, beside the stream and without slowing it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

from clover_gui.chat.answer import AnswerRecord
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.message import Message, MessageState
from clover_gui.errors import ChatStoreError

SAVE_INTERVAL_S = 0.4  # with the time of writing itself, text is at most half a second old in the store


class AnswerSaver:
    """Saves ``record`` into the row of ``message`` whenever ``changed`` was called."""

    def __init__(
        self,
        store: AsyncChatStore,
        message: Message,
        record: AnswerRecord,
        *,
        interval_s: float = SAVE_INTERVAL_S,
    ) -> None:
        self._store = store
        self._message = message
        self._record = record
        self._interval_s = interval_s
        self._dirty = asyncio.Event()
        self._trouble: ChatStoreError | None = None
        self._trouble_told = False
        self._task = asyncio.get_running_loop().create_task(self._save_at_intervals())

    def changed(self) -> None:
        """There is text that the store does not have yet."""
        self._dirty.set()

    def new_trouble(self) -> ChatStoreError | None:
        """The first failure to save, once."""
        if self._trouble is None or self._trouble_told:
            return None
        self._trouble_told = True
        return self._trouble

    async def finish(self, state: MessageState) -> Message:
        """Save everything with its final state at once. A failure is left for ``new_trouble``."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        text, thinking, stats = self._record.text, self._record.thinking, self._record.stats
        try:
            return await self._store.finish_answer(self._message.id, text, thinking, state, stats)
        except ChatStoreError as error:
            self._trouble = self._trouble or error
            return dataclasses.replace(self._message, text=text, thinking=thinking, state=state, stats=stats)

    async def _save_at_intervals(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            try:
                await self._store.update_answer(self._message.id, self._record.text, self._record.thinking)
            except ChatStoreError as error:
                self._trouble = self._trouble or error
            await asyncio.sleep(self._interval_s)
