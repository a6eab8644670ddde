"""A conversation: saves what the person says, lets the engine answer, saves the answer as it grows.

Knows the engine only by its Protocol and nothing of windows and terminals. One answer at a time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum

from clover_gui.chat.answer import AnswerRecord
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.events import AnswerBegun, AnswerEnded, ChatEvent, NotSaved, UserSaved
from clover_gui.chat.history import prompt_messages
from clover_gui.chat.message import Chat, Message, MessageState, Role
from clover_gui.chat.saver import SAVE_INTERVAL_S, AnswerSaver
from clover_gui.engine.engine import Engine, GenerationEvent
from clover_gui.engine.protocol import Sampling
from clover_gui.errors import EngineDied, EngineError, EngineUnresponsive
from clover_gui.i18n import capped


class SessionState(StrEnum):
    IDLE = "idle"
    READING = "reading"
    THINKING = "thinking"
    ANSWERING = "answering"


@dataclass(frozen=True, slots=True)
class _Question:
    """What the engine is asked: the path up to and with the person's message, and how to answer."""

    path: tuple[Message, ...]
    thinking: bool | None
    sampling: Sampling | None
    max_tokens: int


class ChatSession:
    """Sends messages of one chat to an engine.

    ``send`` and ``regenerate`` are async generators. Closing one (or cancelling its task) stops the answer
    and keeps what was written, as ``stop`` does. An EngineError is raised after everything is saved (and
    after AnswerEnded, when there was an answer); the person's message is in the store before the engine
    hears of it and stays there whatever happens.
    """

    def __init__(
        self,
        engine: Engine,
        store: AsyncChatStore,
        chat: Chat,
        *,
        clock: Callable[[], float] = time.monotonic,
        save_interval_s: float = SAVE_INTERVAL_S,
    ) -> None:
        self.chat = chat
        self._engine = engine
        self._store = store
        self._clock = clock
        self._save_interval_s = save_interval_s
        self._state = SessionState.IDLE
        self._stop_asked = False

    @property
    def state(self) -> SessionState:
        return self._state

    async def send(
        self,
        text: str,
        *,
        thinking: bool | None = None,
        sampling: Sampling | None = None,
        max_tokens: int = 0,
    ) -> AsyncGenerator[ChatEvent, None]:
        """Save a message of the person and answer it. ``thinking`` None: as the template likes.

        Raises:
            ChatStoreError: the message could not be saved; nothing was sent.
            EngineError: no answer, or only a part of it, was possible. With ContextFull and other refusals
                at the start the chat ends in the person's message, and ``regenerate`` tries again.
        """
        self._begin()
        try:
            message = await self._store.add_user_message(self.chat.id, text)
            yield UserSaved(message)
            path = tuple(await self._store.messages(self.chat.id))
            question = _Question(path, thinking, sampling, max_tokens)
            async with contextlib.aclosing(self._answer(question)) as answer:
                async for event in answer:
                    yield event
        finally:
            self._state = SessionState.IDLE

    async def regenerate(
        self, *, thinking: bool | None = None, sampling: Sampling | None = None, max_tokens: int = 0
    ) -> AsyncGenerator[ChatEvent, None]:
        """Answer the last message of the person anew. A former answer stays in the store as another version.

        Raises:
            ValueError: the person has said nothing in this chat.
            EngineError: as in ``send``.
        """
        self._begin()
        try:
            path = await self._store.messages(self.chat.id)
            while path and path[-1].role is not Role.USER:
                path.pop()
            if not path:
                raise ValueError("there is no message to answer")
            question = _Question(tuple(path), thinking, sampling, max_tokens)
            async with contextlib.aclosing(self._answer(question)) as answer:
                async for event in answer:
                    yield event
        finally:
            self._state = SessionState.IDLE

    async def stop(self) -> None:
        """Stop the running answer; its events end with AnswerEnded (STOPPED). Nothing runs: no effect."""
        if self._state is SessionState.IDLE:
            return
        self._stop_asked = True
        await self._engine.cancel()

    def _begin(self) -> None:
        if self._state is not SessionState.IDLE:
            raise RuntimeError("an answer of this chat is still running")
        self._state = SessionState.READING
        self._stop_asked = False

    async def _answer(self, question: _Question) -> AsyncGenerator[ChatEvent, None]:
        loaded = self._engine.loaded
        record = AnswerRecord(model=capped(loaded.description) if loaded else "", clock=self._clock)
        saver: AnswerSaver | None = None
        ended: Message | None = None
        failure: EngineError | None = None
        state = MessageState.STOPPED  # what it is when the iterator is closed from outside
        events = self._engine.generate(
            prompt_messages(question.path),
            thinking=question.thinking,
            sampling=question.sampling,
            max_tokens=question.max_tokens,
        )
        try:
            async for event in events:
                if saver is None:
                    message = await self._store.begin_answer(self.chat.id, question.path[-1].id)
                    saver = AnswerSaver(self._store, message, record, interval_s=self._save_interval_s)
                    yield AnswerBegun(message)
                    if self._stop_asked:  # asked for before the engine had anything to stop
                        await self._engine.cancel()
                for chat_event in self._take(record, event, saver):
                    yield chat_event
            state = record.state
        except EngineError as error:
            failure = error
            state = self._state_after(error)
        finally:
            await _close(events)
            record.close()
            if saver is not None:
                ended = await saver.finish(state)
        if saver is not None and (trouble := saver.new_trouble()):
            yield NotSaved(trouble)
        if ended is not None:
            yield AnswerEnded(
                ended,
                record.stop_reason,
                empty=not ended.text.strip(),
                unasked_thinking=question.thinking is False and bool(ended.thinking.strip()),
            )
        if failure is not None:
            raise failure

    def _take(self, record: AnswerRecord, event: GenerationEvent, saver: AnswerSaver) -> list[ChatEvent]:
        events = record.take(event)
        if record.writing:
            self._state = SessionState.THINKING if record.in_thinking else SessionState.ANSWERING
            saver.changed()
        if trouble := saver.new_trouble():
            events.append(NotSaved(trouble))
        return events

    def _state_after(self, error: EngineError) -> MessageState:
        if not isinstance(error, EngineDied | EngineUnresponsive):
            return MessageState.FAILED
        return MessageState.STOPPED if self._stop_asked else MessageState.INTERRUPTED


async def _close(iterator: AsyncIterator[object]) -> None:
    """Close an async generator; other iterators have nothing to close."""
    if (aclose := getattr(iterator, "aclose", None)) is not None:
        await aclose()
