"""Sending: the question whether it fits, the message, and what goes wrong. The answer is shown by
``answer_run.py``.

Knows the page and the chat that is open; knows nothing of other chats.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from PySide6.QtCore import QObject, Signal

from clover_gui.chat.continuing import can_continue
from clover_gui.chat.events import ChatEvent
from clover_gui.chat.message import Message, Role
from clover_gui.chat.session import ChatSession, SessionState
from clover_gui.engine.engine import Engine
from clover_gui.errors import (
    ChatStoreError,
    CloverError,
    EngineDied,
    EngineUnresponsive,
    TemplateFailed,
)
from clover_gui.explain import explain
from clover_gui.i18n import _
from clover_gui.ui.chat.answer_run import AnswerRun
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.engine_recovery import EngineRecovery
from clover_gui.ui.chat.fit_question import FitQuestion
from clover_gui.ui.chat.makers_values import MakersValues
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.open_chat import OpenChat
from clover_gui.ui.chat.overflow_bar import OverflowChoice
from clover_gui.ui.chat.path_history import history_of
from clover_gui.ui.chat.question import Question
from clover_gui.ui.chat.words import REGENERATE, SAVING, answer_action
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.widgets.notice_bar import NoticeKind


class AnswerPresenter(QObject):
    """``finished`` carries AnswerEnded or the CloverError; ``new_chat_wanted`` a question that was moved."""

    finished = Signal(object)
    saved = Signal()
    """Something new is in the store: the list of chats may look different."""
    not_sent = Signal(object)
    """The Question comes back: nothing was sent."""
    new_chat_wanted = Signal(object)
    chat_begun = Signal()
    """The open chat is in the store now, if it was a new one."""

    def __init__(
        self,
        page: ChatPage,
        engine: Engine,
        tasks: TaskSet,
        open_chat: OpenChat,
        makers: MakersValues,
        *,
        recover: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(page)
        self._page = page
        self._engine = engine
        self._tasks = tasks
        self._open = open_chat
        self.recovery = EngineRecovery(page.notice, engine, tasks, recover, lambda: self.answering)
        self._makers = makers
        self._answer = AnswerRun(page, engine, tasks, open_chat)
        self._answer.saved.connect(self.saved)
        self._answer.ended.connect(self.finished)
        self._task: asyncio.Task[None] | None = None
        self._fit = FitQuestion(page, open_chat, self.recovery)
        self._stopped_early = False
        """Stopped while nothing could be: the task has just begun, or the chat is being made."""

    @property
    def view(self) -> MessageView | None:
        """The answer that runs or ended last in this chat, as long as the chat is open."""
        return self._answer.view

    @property
    def answering(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def ready(self) -> bool:
        """Whether a message can be sent, if need be after the engine was brought back."""
        return self._engine.loaded is not None or self.recovery.possible

    def ask(self, question: Question) -> None:
        """Send it and show the answer; ``not_sent`` where that is not possible now."""
        if self.answering or not self.ready:
            self.not_sent.emit(question)
            return
        self._stopped_early = False
        self._task = self._tasks.start(self._ask(question), "answer")
        self._page.composer.set_state(ready=True, answering=True)

    def stop(self, *, closing: bool = False) -> None:
        """Stop the running answer; what was written stays. Before anything was sent: do not send.

        ``closing``: it is not the person who stops the answer, but the program that ends.
        """
        if not self.answering:
            return
        if self._fit.is_asking:
            self._fit.cancel()
        elif self._fit.is_checking and self._task is not None:
            self._task.cancel()
        elif self._open.session is not None and self._open.session.state is not SessionState.IDLE:
            self._tasks.start(self._open.session.stop(closing=closing), "stop")
        else:
            self._stopped_early = True

    async def stop_and_wait(self, *, closing: bool = False) -> None:
        """Stop the running answer and wait until it is saved."""
        task = self._task
        if task is not None and not task.done() and task is not asyncio.current_task():
            self.stop(closing=closing)
            await asyncio.gather(task, return_exceptions=True)
        self._answer.view = None

    async def end(self) -> None:
        await self.stop_and_wait(closing=True)
        await self.recovery.end()

    # ------------------------------------------------------------ sending

    async def _ask(self, question: Question) -> None:
        self._answer.view = None
        try:
            if self._stopped_early:
                self.not_sent.emit(question)
                return
            asked, drop = await self._agreed(question)
            if isinstance(drop, OverflowChoice):
                elsewhere = drop is OverflowChoice.NEW_CHAT and not question.go_on
                (self.new_chat_wanted if elsewhere else self.not_sent).emit(question)
                if drop is OverflowChoice.LARGER:
                    self._page.model_requested.emit()
                return
            session = await self._open.begin()
            self.chat_begun.emit()
            if self._stopped_early:
                self.not_sent.emit(question)
                return
        except asyncio.CancelledError:
            self.not_sent.emit(question)
            raise
        except CloverError as error:
            self.not_sent.emit(question)
            self._failed(error)
            return
        finally:
            self._show_idle()
        self._page.composer.set_state(ready=True, answering=True)
        begun = self._open.messages[-1] if asked.go_on else None
        self._show_question(asked)
        await self._run(self._events(session, asked, drop), begun)

    async def _agreed(self, question: Question) -> tuple[Question, int | OverflowChoice]:
        """The question as it will be asked, and what the person wants to leave out for it."""
        try:
            return question, await self._fit.turns_to_drop(question)
        except TemplateFailed:
            if not question.go_on:
                raise
        # What is in the answer's own turn cannot be rendered: the model is asked in a new one.
        instead = Question(_("Go on exactly where you stopped, without repeating anything."))
        drop = await self._fit.turns_to_drop(instead)
        if isinstance(drop, int):
            text = _("This model's template cannot go on inside an answer, so the model was asked to go on.")
            self._page.notice.show_notice(text, of_chat=True)
        return instead, drop

    def _events(self, session: ChatSession, question: Question, drop: int) -> AsyncIterator[ChatEvent]:
        thinking = self._page.composer.thinking
        options = self._open.options
        precise = self._makers.precise() if options.precise and thinking else None
        usual = precise or self._makers.usual(thinking)
        sampling, limits = options.sampling(usual), options.limits()
        if question.text is None:
            ask = session.go_on if question.go_on else session.regenerate
            return ask(thinking=thinking, sampling=sampling, limits=limits, drop_oldest=drop)
        if question.replacing is not None:
            return session.edit(
                question.replacing,
                question.text,
                thinking=thinking,
                sampling=sampling,
                limits=limits,
                drop_oldest=drop,
            )
        return session.send(
            question.text,
            attachments=question.files,
            thinking=thinking,
            sampling=sampling,
            limits=limits,
            drop_oldest=drop,
        )

    def _show_question(self, question: Question) -> None:
        page, messages = self._page, self._open.messages
        page.show_welcome(False)
        if messages and messages[-1].role is Role.ASSISTANT and len(page.messages) == len(messages):
            # What could be done about the former answer is over.
            notice = history_of(messages[-1:], self._open.versions, can_grow=self._open.can_grow)[0].notice
            if notice:
                page.messages.view_at(len(messages) - 1).set_notice(notice)
        if question.text is None:
            page.messages.remove_last_answer()
            if not question.go_on and messages and messages[-1].role is Role.ASSISTANT:
                messages.pop()
            return
        files = question.files
        if question.replacing is not None:
            place = next(i for i, m in enumerate(messages) if m.id == question.replacing)
            files = messages[place].attachments
            del messages[place:]
            page.messages.remove_from(place)
        page.messages.add_user(question.text, files)

    # ------------------------------------------------------------ answering

    async def _run(self, events: AsyncIterator[ChatEvent], begun: Message | None) -> None:
        try:
            await self._answer.show(events, begun)
        except CloverError as error:
            self._failed(error)
        finally:
            self._show_idle()

    def _show_idle(self) -> None:
        self._page.composer.set_state(ready=self.ready, answering=False)
        self.recovery.released()

    # ------------------------------------------------------------ failures

    def _failed(self, error: CloverError) -> None:
        text = explain(error).text
        if self.view is not None:
            last = self._open.messages[-1] if self._open.messages else None
            self.view.set_details("")
            action = answer_action(last) if last is not None and can_continue(last) else None
            self.view.set_notice(text, action or (REGENERATE, _("Try again")))
        else:
            about = SAVING if isinstance(error, ChatStoreError) else ""
            self._page.notice.show_notice(text, NoticeKind.ERROR, about=about, of_chat=True)
        if isinstance(error, EngineDied | EngineUnresponsive):
            self.recovery.begin()
        self.finished.emit(error)
