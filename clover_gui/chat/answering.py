"""One answer of a chat: asked of the engine, saved as it grows, and told as events of the chat.

Knows the engine only by its Protocol; knows nothing of how the question got into the store.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from clover_gui.chat.answer import AnswerRecord
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.continuing import begun_of
from clover_gui.chat.events import (
    AnswerBegun,
    AnswerEnded,
    AnswerResumed,
    ChatEvent,
    NotSaved,
)
from clover_gui.chat.history import prompt_messages, sent_part
from clover_gui.chat.message import Message, MessageState
from clover_gui.chat.options import settings_text
from clover_gui.chat.saver import AnswerSaver
from clover_gui.engine.engine import Engine, GenerationEvent
from clover_gui.engine.protocol import Limits, Sampling
from clover_gui.errors import EngineDied, EngineError, EngineUnresponsive
from clover_gui.i18n import capped


class SessionState(StrEnum):
    IDLE = "idle"
    READING = "reading"
    THINKING = "thinking"
    ANSWERING = "answering"


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to answer; see ``ChatSession.send``."""

    thinking: bool | None
    sampling: Sampling | None
    max_tokens: int
    limits: Limits | None


class Answering:
    """Used for one answer. ``state`` says what is going on."""

    def __init__(
        self,
        engine: Engine,
        store: AsyncChatStore,
        chat_id: int,
        *,
        clock: Callable[[], float],
        save_interval_s: float,
    ) -> None:
        self.state = SessionState.READING
        self._engine = engine
        self._store = store
        self._chat_id = chat_id
        self._clock = clock
        self._save_interval_s = save_interval_s
        self._stop_asked = False
        self._stopped = MessageState.STOPPED
        """How the answer ends that ``stop`` has ended."""

    async def stop(self, *, closing: bool) -> None:
        """End it: STOPPED, or CLOSED where it is the program that ends."""
        self._stop_asked = True
        self._stopped = MessageState.CLOSED if closing else MessageState.STOPPED
        await self._engine.cancel()

    async def events(
        self, path: Sequence[Message], system_prompt: str, wishes: Wishes, begun: Message | None
    ) -> AsyncGenerator[ChatEvent, None]:
        """Answer the last message of ``path``, or go on with ``begun``. Closing the generator stops the
        answer and keeps what was written.

        Raises:
            EngineError: after everything is saved.
        """
        record = self._record(wishes, begun)
        saver: AnswerSaver | None = None
        ended: Message | None = None
        failure: EngineError | None = None
        state = MessageState.STOPPED  # what it is when the iterator is closed from outside
        events = self._engine.generate(
            prompt_messages(sent_part(path), system_prompt),
            thinking=wishes.thinking,
            sampling=wishes.sampling,
            max_tokens=wishes.max_tokens,
            limits=wishes.limits,
            begun=begun_of(begun) if begun is not None else None,
        )
        try:
            async for event in events:
                if saver is None:
                    started = await self._start_answer(path[-1].id, begun)
                    saver = AnswerSaver(
                        self._store, started.message, record, interval_s=self._save_interval_s
                    )
                    yield started
                    if self._stop_asked:  # asked for before the engine had anything to stop
                        await self._engine.cancel()
                for chat_event in self._take(record, event, saver):
                    yield chat_event
            state = self._stopped if record.state is MessageState.STOPPED else record.state
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
                unasked_thinking=wishes.thinking is False
                and bool(ended.thinking.strip())
                and not (begun is not None and begun.thinking.strip()),
            )
        if failure is not None:
            raise failure

    def _record(self, wishes: Wishes, begun: Message | None) -> AnswerRecord:
        loaded = self._engine.loaded
        settings = self._engine.last_settings
        return AnswerRecord(
            model=capped(loaded.description) if loaded else "",
            model_file=capped(PurePath(settings.path).name, 200) if settings else "",
            settings=settings_text(wishes.sampling, wishes.limits),
            begun=begun,
            clock=self._clock,
        )

    async def _start_answer(self, question_id: int, begun: Message | None) -> AnswerBegun | AnswerResumed:
        if begun is not None:
            return AnswerResumed(await self._store.resume_answer(begun.id))
        return AnswerBegun(await self._store.begin_answer(self._chat_id, question_id))

    def _take(self, record: AnswerRecord, event: GenerationEvent, saver: AnswerSaver) -> list[ChatEvent]:
        events = record.take(event)
        if record.writing:
            self.state = SessionState.THINKING if record.in_thinking else SessionState.ANSWERING
            saver.changed()
        if trouble := saver.new_trouble():
            events.append(NotSaved(trouble))
        return events

    def _state_after(self, error: EngineError) -> MessageState:
        if not isinstance(error, EngineDied | EngineUnresponsive):
            return MessageState.FAILED
        return self._stopped if self._stop_asked else MessageState.INTERRUPTED


async def _close(iterator: AsyncIterator[object]) -> None:
    """Close an async generator; other iterators have nothing to close."""
    if (aclose := getattr(iterator, "aclose", None)) is not None:
        await aclose()
