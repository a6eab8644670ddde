"""Sending and answering: the question whether it fits, the message, its answer, and what goes wrong.

Knows the page and the chat that is open; knows nothing of other chats.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from clover_gui.chat.context import WARN_SHARE, ContextCheck
from clover_gui.chat.events import (
    AnswerBegun,
    AnswerEnded,
    ChatEvent,
    ContextDropped,
    NotSaved,
    UserSaved,
)
from clover_gui.chat.message import Attachment, Message, Role
from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import Limits, Sampling
from clover_gui.errors import CloverError, EngineDied, EngineUnresponsive
from clover_gui.explain import explain
from clover_gui.explain.answers import overflow_text, tight_text
from clover_gui.i18n import _
from clover_gui.ui.chat.answer_display import AnswerDisplay
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.engine_recovery import EngineRecovery
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.open_chat import OpenChat
from clover_gui.ui.chat.overflow_bar import OverflowChoice
from clover_gui.ui.chat.path_history import history_of, version_of
from clover_gui.ui.chat.words import REGENERATE, shown_text
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.widgets.notice_bar import NoticeKind

log = logging.getLogger(__name__)

Values = Callable[[bool | None], Sampling]
NEW_CHAT = "new-chat"


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be answered: a new message, another version of one (``replacing``), or (``text`` None) the
    last message again."""

    text: str | None
    files: tuple[Attachment, ...] = ()
    replacing: int | None = None


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
        *,
        recover: Callable[[], Awaitable[None]],
        sampling: Values,
        precise: Callable[[], Sampling | None],
    ) -> None:
        super().__init__(page)
        self._page = page
        self._engine = engine
        self._tasks = tasks
        self._open = open_chat
        self.recovery = EngineRecovery(page.notice, engine, tasks, recover, lambda: self.answering)
        self._usual = sampling
        self._precise = precise
        self._display = AnswerDisplay(page, engine)
        self._task: asyncio.Task[None] | None = None
        self._choice: asyncio.Future[OverflowChoice] | None = None
        self._checking = False
        self._warned_chat: int | None = None
        self.view: MessageView | None = None
        page.overflow.chosen.connect(self._chosen)

    @property
    def answering(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def ready(self) -> bool:
        """Whether a message can be sent, if need be after the engine was brought back."""
        return self._engine.loaded is not None or self.recovery.possible

    def usual_values(self) -> Sampling:
        """What the model's makers say for the mode that is switched on."""
        return self._usual(self._page.composer.thinking)

    def ask(self, question: Question) -> None:
        """Send it and show the answer; ``not_sent`` where that is not possible now."""
        if self.answering or not self.ready:
            self.not_sent.emit(question)
            return
        self._task = self._tasks.start(self._ask(question), "answer")
        self._page.composer.set_state(ready=True, answering=True)

    def stop(self) -> None:
        """Stop the running answer; what was written stays. Before anything was sent: do not send."""
        if not self.answering:
            return
        if self._choice is not None:
            self._page.overflow.choose(OverflowChoice.CANCEL)
        elif self._checking and self._task is not None:
            self._task.cancel()
        elif self._open.session is not None:
            self._tasks.start(self._open.session.stop(), "stop")

    async def stop_and_wait(self) -> None:
        """Stop the running answer and wait until it is saved."""
        task = self._task
        if task is not None and not task.done() and task is not asyncio.current_task():
            self.stop()
            await asyncio.gather(task, return_exceptions=True)
        self.view = None

    async def end(self) -> None:
        await self.stop_and_wait()
        await self.recovery.end()

    # ------------------------------------------------------------ sending

    async def _ask(self, question: Question) -> None:
        self.view = None
        try:
            drop = await self._fitting_after_recovery(question)
            if drop is None:
                return
            session = await self._open.begin()
            self.chat_begun.emit()
        except asyncio.CancelledError:
            self.not_sent.emit(question)
            raise
        except CloverError as error:
            self.not_sent.emit(question)
            self._failed(error)
            return
        finally:
            self._checking = False
            self._show_idle()
        self._page.composer.set_state(ready=True, answering=True)
        thinking = self._page.composer.thinking
        sampling, limits = self._values(thinking)
        self._show_question(question)
        if question.text is None:
            events = session.regenerate(thinking=thinking, sampling=sampling, limits=limits, drop_oldest=drop)
        elif question.replacing is not None:
            events = session.edit(
                question.replacing,
                question.text,
                thinking=thinking,
                sampling=sampling,
                limits=limits,
                drop_oldest=drop,
            )
        else:
            events = session.send(
                question.text,
                attachments=question.files,
                thinking=thinking,
                sampling=sampling,
                limits=limits,
                drop_oldest=drop,
            )
        await self._run(events)

    def _values(self, thinking: bool | None) -> tuple[Sampling, Limits]:
        options = self._open.options
        usual = (self._precise() if options.precise and thinking else None) or self._usual(thinking)
        return options.sampling(usual), options.limits()

    async def _fitting_after_recovery(self, question: Question) -> int | None:
        """As ``_fitting``, with an engine that lives. One that dies meanwhile is brought back once."""
        self._checking = True
        if not await self.recovery.finished():
            self.not_sent.emit(question)
            return None
        try:
            return await self._fitting(question)
        except (EngineDied, EngineUnresponsive) as error:
            log.info("the engine died before the message was sent: %s", error)
        if not await self.recovery.finished():
            self.not_sent.emit(question)
            return None
        return await self._fitting(question)

    async def _fitting(self, question: Question) -> int | None:
        """How many of the oldest turns the person agrees to leave out, or None: do not send."""
        self._checking = True
        check = await self._open.check(
            question.text,
            question.files,
            replacing=question.replacing,
            thinking=self._page.composer.thinking,
        )
        self._checking = False
        if check.fits:
            return 0
        choice = await self._ask_person(check)
        if choice is OverflowChoice.DROP:
            return len(check.droppable)
        if choice is OverflowChoice.NEW_CHAT:
            self.new_chat_wanted.emit(question)
        else:
            self.not_sent.emit(question)
        return None

    async def _ask_person(self, check: ContextCheck) -> OverflowChoice:
        self._choice = asyncio.get_running_loop().create_future()
        self._page.overflow.ask(
            overflow_text(check), len(check.droppable), has_history=bool(self._open.messages)
        )
        try:
            return await self._choice
        finally:
            self._choice = None
            self._page.overflow.hide()

    def _chosen(self, choice: OverflowChoice) -> None:
        if self._choice is not None and not self._choice.done():
            self._choice.set_result(choice)

    def _show_question(self, question: Question) -> None:
        page, messages = self._page, self._open.messages
        page.show_welcome(False)
        if messages and messages[-1].role is Role.ASSISTANT and len(page.messages) == len(messages):
            # What could be done about the former answer is over.
            notice = history_of(messages[-1:], self._open.versions)[0].notice
            if notice:
                page.messages.view_at(len(messages) - 1).set_notice(notice)
        if question.text is None:
            page.messages.remove_last_answer()
            if messages and messages[-1].role is Role.ASSISTANT:
                messages.pop()
            return
        files = question.files
        if question.replacing is not None:
            place = next(i for i, m in enumerate(messages) if m.id == question.replacing)
            files = messages[place].attachments
            del messages[place:]
            page.messages.remove_from(place)
        shown = Message(0, self._open.id, Role.USER, question.text, attachments=files)
        page.messages.add_user(shown_text(shown))

    # ------------------------------------------------------------ answering

    async def _run(self, events: AsyncIterator[ChatEvent]) -> None:
        self.view = self._page.messages.add_answer()
        try:
            async for event in events:
                self._show_event(event)
            await self._show_versions()
        except CloverError as error:
            self.view.finish()
            self._failed(error)
        except BaseException:
            self.view.finish()
            raise
        finally:
            self._show_idle()

    def _show_event(self, event: ChatEvent) -> None:
        assert self.view is not None
        match event:
            case UserSaved():
                self._open.messages.append(event.message)
                self._tasks.start(self._open.forget_new_draft(), "draft of a new chat")
                self.saved.emit()
            case AnswerBegun():
                self._open.messages.append(event.message)
            case ContextDropped():
                self._show_dropped(event)
            case NotSaved():
                self._show_error(event.error)
            case AnswerEnded():
                self._open.messages[-1] = event.message
                self._display.show(event, self.view)
                self._warn_if_tight(event)
                self.saved.emit()
                self.finished.emit(event)
            case _:
                self._display.show(event, self.view)

    async def _show_versions(self) -> None:
        """Arrows at the question and the answer where there are others beside them."""
        await self._open.reload_versions()
        messages, shown = self._open.messages, self._page.messages
        for place in range(max(0, len(messages) - 2), min(len(messages), len(shown))):
            shown.view_at(place).set_versions(*version_of(messages[place], self._open.versions))

    def _show_dropped(self, event: ContextDropped) -> None:
        """Show the chat again with the mark where the model's memory begins now."""
        messages = self._open.messages
        place = next(i for i, m in enumerate(messages) if m.id == event.first_kept.id)
        messages[place] = event.first_kept
        self._page.messages.set_history(history_of(messages, self._open.versions))
        self.view = self._page.messages.add_answer()

    def _warn_if_tight(self, event: AnswerEnded) -> None:
        loaded, stats = self._engine.loaded, event.message.stats
        if loaded is None or stats is None or stats.context_used < WARN_SHARE * loaded.context:
            return
        if self._warned_chat != self._open.id:
            self._warned_chat = self._open.id
            check = ContextCheck(True, stats.context_used, loaded.context, 0)
            text = tight_text(check) + " " + _("Soon the oldest turns would have to be left out.")
            self._page.notice.show_notice(text, NoticeKind.WARNING, (NEW_CHAT, _("New chat")))

    def _show_idle(self) -> None:
        self._page.composer.set_state(ready=self.ready, answering=False)

    # ------------------------------------------------------------ failures

    def _failed(self, error: CloverError) -> None:
        explanation = explain(error)
        text = f"{explanation.sentence} {explanation.next_step}".strip()
        if self.view is not None:
            self.view.set_details("")
            self.view.set_notice(text, (REGENERATE, _("Try again")))
        else:
            self._show_error(error)
        if isinstance(error, EngineDied | EngineUnresponsive):
            self.recovery.begin()
        self.finished.emit(error)

    def _show_error(self, error: CloverError) -> None:
        words = explain(error)
        self._page.notice.show_notice(f"{words.sentence} {words.next_step}", NoticeKind.ERROR)
