"""A conversation: saves what the person says, lets the engine answer, saves the answer as it grows.

Knows the engine only by its Protocol and nothing of windows and terminals. One answer at a time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from clover_gui.chat.answer import AnswerRecord
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.context import ContextCheck, check_of
from clover_gui.chat.events import (
    AnswerBegun,
    AnswerEnded,
    ChatEvent,
    ContextDropped,
    NotSaved,
    UserSaved,
)
from clover_gui.chat.history import prompt_messages, sent_part, turns_of
from clover_gui.chat.message import Attachment, Chat, Message, MessageState, Role
from clover_gui.chat.options import settings_text
from clover_gui.chat.saver import SAVE_INTERVAL_S, AnswerSaver
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
class _Wishes:
    """How to answer; see ``ChatSession.send``."""

    thinking: bool | None
    sampling: Sampling | None
    max_tokens: int
    limits: Limits | None


class ChatSession:
    """Sends messages of one chat to an engine.

    ``send``, ``edit`` and ``regenerate`` are async generators. Closing one (or cancelling its task) stops
    the answer and keeps what was written, as ``stop`` does. An EngineError is raised after everything is
    saved (and after AnswerEnded, when there was an answer); the person's message is in the store before the
    engine hears of it and stays there whatever happens.
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

    async def check(
        self,
        text: str | None,
        *,
        attachments: Sequence[Attachment] = (),
        replacing: int | None = None,
        thinking: bool | None = None,
        reserve_tokens: int = Limits().answer_reserve,
    ) -> ContextCheck:
        """Whether the chat with this message fits, counted by the engine as ``send`` would send it.

        ``text`` None: the chat as it stands, for ``regenerate``. ``replacing``: for ``edit`` of that message.
        Nothing is saved. Waits while the engine answers.

        Raises:
            EngineError: no model is loaded, or its template refuses the chat.
        """
        path = await self._store.messages(self.chat.id)
        if replacing is not None:
            attachments = next((m.attachments for m in path if m.id == replacing), ())
            path = path[: next((i for i, m in enumerate(path) if m.id == replacing), len(path))]
        if text is not None:
            path.append(Message(0, self.chat.id, Role.USER, text, attachments=tuple(attachments)))
        sent = sent_part(_up_to_question(path))
        counted = await self._engine.count(
            prompt_messages(sent, await self._system_prompt()), thinking=thinking, reserve=reserve_tokens
        )
        return check_of(counted, turns_of(sent))

    def send(
        self,
        text: str,
        *,
        attachments: Sequence[Attachment] = (),
        thinking: bool | None = None,
        sampling: Sampling | None = None,
        max_tokens: int = 0,
        limits: Limits | None = None,
        drop_oldest: int = 0,
    ) -> AsyncGenerator[ChatEvent, None]:
        """Save a message of the person and answer it. ``thinking`` None: as the template likes.

        ``drop_oldest`` turns (see ``check``) are not sent to the model any more, now and later; that is
        marked in the store. The newest message is always sent.

        Raises:
            ChatStoreError: the message could not be saved; nothing was sent.
            EngineError: no answer, or only a part of it, was possible. With ContextFull and other refusals
                at the start the chat ends in the person's message, and ``regenerate`` tries again.
        """
        return self._converse(
            lambda: self._store.add_user_message(self.chat.id, text, attachments),
            _Wishes(thinking, sampling, max_tokens, limits),
            drop_oldest,
        )

    def edit(
        self,
        message_id: int,
        text: str,
        *,
        thinking: bool | None = None,
        sampling: Sampling | None = None,
        max_tokens: int = 0,
        limits: Limits | None = None,
        drop_oldest: int = 0,
    ) -> AsyncGenerator[ChatEvent, None]:
        """Say a message of the person differently and answer that. The former one, with what followed,
        stays in the store as another version. Otherwise as ``send``."""
        return self._converse(
            lambda: self._store.revise_user_message(message_id, text),
            _Wishes(thinking, sampling, max_tokens, limits),
            drop_oldest,
        )

    def regenerate(
        self,
        *,
        thinking: bool | None = None,
        sampling: Sampling | None = None,
        max_tokens: int = 0,
        limits: Limits | None = None,
        drop_oldest: int = 0,
    ) -> AsyncGenerator[ChatEvent, None]:
        """Answer the last message of the person anew. A former answer stays in the store as another version.

        Raises:
            ValueError: the person has said nothing in this chat.
            EngineError: as in ``send``.
        """
        return self._converse(None, _Wishes(thinking, sampling, max_tokens, limits), drop_oldest)

    async def stop(self) -> None:
        """Stop the running answer; its events end with AnswerEnded (STOPPED). Nothing runs: no effect."""
        if self._state is SessionState.IDLE:
            return
        self._stop_asked = True
        await self._engine.cancel()

    async def _converse(
        self, save_question: Callable[[], Awaitable[Message]] | None, wishes: _Wishes, drop_oldest: int
    ) -> AsyncGenerator[ChatEvent, None]:
        """Save the question, if there is a new one, leave out what shall be dropped, and answer."""
        self._begin()
        try:
            if save_question is not None:
                yield UserSaved(await save_question())
            path = _up_to_question(await self._store.messages(self.chat.id))
            if not path:
                raise ValueError("there is no message to answer")
            if drop_oldest > 0:
                dropped = await self._drop(path, drop_oldest)
                if dropped is not None:
                    yield dropped
                    path = _up_to_question(await self._store.messages(self.chat.id))
            async with contextlib.aclosing(self._answer(path, wishes)) as answer:
                async for event in answer:
                    yield event
        finally:
            self._state = SessionState.IDLE

    async def _drop(self, path: Sequence[Message], turns: int) -> ContextDropped | None:
        sent = turns_of(sent_part(path))
        turns = min(turns, len(sent) - 1)
        if turns <= 0:
            return None
        first_kept = await self._store.begin_context(sent[turns][0].id)
        return ContextDropped(first_kept, turns)

    async def _system_prompt(self) -> str:
        self.chat = await self._store.chat(self.chat.id)
        return self.chat.system_prompt

    def _begin(self) -> None:
        if self._state is not SessionState.IDLE:
            raise RuntimeError("an answer of this chat is still running")
        self._state = SessionState.READING
        self._stop_asked = False

    async def _answer(self, path: Sequence[Message], wishes: _Wishes) -> AsyncGenerator[ChatEvent, None]:
        system_prompt = await self._system_prompt()
        loaded = self._engine.loaded
        settings = self._engine.last_settings
        record = AnswerRecord(
            model=capped(loaded.description) if loaded else "",
            model_file=capped(PurePath(settings.path).name, 200) if settings else "",
            settings=settings_text(wishes.sampling, wishes.limits),
            clock=self._clock,
        )
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
        )
        try:
            async for event in events:
                if saver is None:
                    message = await self._store.begin_answer(self.chat.id, path[-1].id)
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
                unasked_thinking=wishes.thinking is False and bool(ended.thinking.strip()),
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


def _up_to_question(path: Sequence[Message]) -> list[Message]:
    """The path without what follows the last message of the person."""
    questions = [place for place, message in enumerate(path) if message.role is Role.USER]
    return list(path[: questions[-1] + 1]) if questions else []


async def _close(iterator: AsyncIterator[object]) -> None:
    """Close an async generator; other iterators have nothing to close."""
    if (aclose := getattr(iterator, "aclose", None)) is not None:
        await aclose()
