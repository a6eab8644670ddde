"""A conversation: saves what the person says and lets the engine answer (``answering.py``).

Knows the engine only by its Protocol and nothing of windows and terminals. One answer at a time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from clover_gui.chat.answering import Answering, SessionState, Wishes
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.context import ContextCheck, check_of
from clover_gui.chat.continuing import begun_of, can_continue
from clover_gui.chat.events import ChatEvent, ContextDropped, UserSaved
from clover_gui.chat.history import prompt_messages, sent_part, turns_of
from clover_gui.chat.message import Attachment, Chat, Message, Role
from clover_gui.chat.saver import SAVE_INTERVAL_S
from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import Limits, Sampling

__all__ = ["ChatSession", "SessionState"]


class ChatSession:
    """Sends messages of one chat to an engine.

    ``send``, ``edit``, ``regenerate`` and ``go_on`` are async generators. Closing one (or cancelling its
    task) stops the answer and keeps what was written, as ``stop`` does. An EngineError is raised after
    everything is saved (and after AnswerEnded, when there was an answer); the person's message is in the
    store before the engine hears of it and stays there whatever happens.
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
        self._answering: Answering | None = None

    @property
    def state(self) -> SessionState:
        return self._answering.state if self._answering is not None else SessionState.IDLE

    async def check(
        self,
        text: str | None,
        *,
        attachments: Sequence[Attachment] = (),
        replacing: int | None = None,
        go_on: bool = False,
        thinking: bool | None = None,
        reserve_tokens: int = Limits().answer_reserve,
    ) -> ContextCheck:
        """Whether the chat with this message fits, counted by the engine as ``send`` would send it.

        ``text`` None: the chat as it stands, for ``regenerate`` or (``go_on``) the method of that name.
        ``replacing``: for ``edit`` of that message. Nothing is saved. Waits while the engine answers.

        Raises:
            EngineError: no model is loaded, or its template refuses the chat.
            ChatStoreError: the answer to go on with could not be saved yet.
        """
        if go_on:
            await self._store.save_now()
        path = await self._store.messages(self.chat.id)
        if replacing is not None:
            attachments = next((m.attachments for m in path if m.id == replacing), ())
            path = path[: next((i for i, m in enumerate(path) if m.id == replacing), len(path))]
        if text is not None:
            path.append(Message(0, self.chat.id, Role.USER, text, attachments=tuple(attachments)))
        sent = sent_part(_up_to_question(path))
        counted = await self._engine.count(
            prompt_messages(sent, await self._system_prompt()),
            thinking=thinking,
            reserve=reserve_tokens,
            begun=begun_of(path[-1]) if go_on and path else None,
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
            Wishes(thinking, sampling, max_tokens, limits),
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
            Wishes(thinking, sampling, max_tokens, limits),
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
        return self._converse(None, Wishes(thinking, sampling, max_tokens, limits), drop_oldest)

    def go_on(
        self,
        *,
        thinking: bool | None = None,
        sampling: Sampling | None = None,
        max_tokens: int = 0,
        limits: Limits | None = None,
        drop_oldest: int = 0,
    ) -> AsyncGenerator[ChatEvent, None]:
        """Go on with the last answer where it was cut, in the same message: the model gets the chat with the
        beginning of its answer, and what it writes is put behind that.

        Raises:
            ValueError: the chat does not end in an answer that can be gone on with.
            ChatStoreError: that answer could not be saved yet.
            EngineError: as in ``send``; the answer is then as it was.
        """
        wishes = Wishes(thinking, sampling, max_tokens, limits)
        return self._converse(None, wishes, drop_oldest, go_on=True)

    async def stop(self, *, closing: bool = False) -> None:
        """Stop the running answer; its events end with AnswerEnded (STOPPED, or CLOSED where it is the
        program that ends). Nothing runs: no effect."""
        if self._answering is not None:
            await self._answering.stop(closing=closing)

    async def _converse(
        self,
        save_question: Callable[[], Awaitable[Message]] | None,
        wishes: Wishes,
        drop_oldest: int,
        *,
        go_on: bool = False,
    ) -> AsyncGenerator[ChatEvent, None]:
        """Save the question, if there is a new one, leave out what shall be dropped, and answer."""
        answering = self._begin()
        try:
            if save_question is not None:
                yield UserSaved(await save_question())
            if go_on:
                await self._store.save_now()
            shown = await self._store.messages(self.chat.id)
            path = _up_to_question(shown)
            if not path:
                raise ValueError("there is no message to answer")
            begun = shown[-1] if go_on else None
            if begun is not None and not (can_continue(begun) and begun.parent_id == path[-1].id):
                raise ValueError("there is no answer to go on with")
            if drop_oldest > 0:
                dropped = await self._drop(path, drop_oldest)
                if dropped is not None:
                    yield dropped
                    path = _up_to_question(await self._store.messages(self.chat.id))
            events = answering.events(path, await self._system_prompt(), wishes, begun)
            async with contextlib.aclosing(events) as answer:
                async for event in answer:
                    yield event
        finally:
            self._answering = None

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

    def _begin(self) -> Answering:
        if self._answering is not None:
            raise RuntimeError("an answer of this chat is still running")
        self._answering = Answering(
            self._engine,
            self._store,
            self.chat.id,
            clock=self._clock,
            save_interval_s=self._save_interval_s,
        )
        return self._answering


def _up_to_question(path: Sequence[Message]) -> list[Message]:
    """The path without what follows the last message of the person."""
    questions = [place for place, message in enumerate(path) if message.role is Role.USER]
    return list(path[: questions[-1] + 1]) if questions else []
