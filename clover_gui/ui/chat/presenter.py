"""The chat page's conductor: chats from the store, questions to the engine, answers to the widgets.

Knows the widgets of the page and the chat core; knows nothing of planning, set-up or the window.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import assert_never

from PySide6.QtCore import QObject, QTimer, Signal

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.events import (
    AnswerBegun,
    AnswerEnded,
    AnswerText,
    ChatEvent,
    ContextDropped,
    NotSaved,
    RateSample,
    ReadingPrompt,
    ThinkingEnded,
    ThinkingText,
    UserSaved,
)
from clover_gui.chat.message import Chat, Message, Role
from clover_gui.chat.session import ChatSession
from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import Sampling
from clover_gui.errors import ChatStoreError, CloverError, EngineDied, EngineUnresponsive
from clover_gui.explain import explain
from clover_gui.i18n import _, capped, number
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.history import HistoryMessage
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.words import details_text, notice_text
from clover_gui.ui.gauges.readings import ContextReading, SpeedReading
from clover_gui.ui.links import ask_to_open
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.widgets.notice_bar import NoticeKind

log = logging.getLogger(__name__)

DRAFT_DELAY_MS = 400
REGENERATE = "regenerate"
UNDO_DELETE = "undo-delete"


class ChatPresenter(QObject):
    """One chat is shown at a time; an answer may run in it.

    ``recover`` loads the last model again after the engine died. ``sampling`` gives the values for an
    answer with or without thinking. ``answer_finished`` carries AnswerEnded or the CloverError.
    """

    answer_finished = Signal(object)

    def __init__(
        self,
        page: ChatPage,
        engine: Engine,
        store: AsyncChatStore,
        tasks: TaskSet,
        *,
        recover: Callable[[], Awaitable[None]],
        sampling: Callable[[bool | None], Sampling],
        default_thinking: bool = True,
    ) -> None:
        super().__init__(page)
        self._page = page
        self._engine = engine
        self._store = store
        self._tasks = tasks
        self._recover = recover
        self._sampling = sampling
        self._chat: Chat | None = None
        self._session: ChatSession | None = None
        self._answer_task: asyncio.Task[None] | None = None
        self._recovery: asyncio.Task[None] | None = None
        self._view: MessageView | None = None
        self._deleted_id: int | None = None
        self._reading_speed: float | None = None
        self._default_thinking = default_thinking
        self._draft_timer = QTimer(self)
        self._draft_timer.setSingleShot(True)
        self._draft_timer.setInterval(DRAFT_DELAY_MS)
        self._draft_timer.timeout.connect(lambda: self._start(self._save_draft(), "save draft"))
        self._connect()

    def _connect(self) -> None:
        page, start = self._page, self._start
        page.composer.send_requested.connect(self.send)
        page.composer.stop_requested.connect(self.stop)
        page.composer.thinking_changed.connect(lambda on: start(self._set_thinking(on), "thinking switch"))
        page.composer.text_changed.connect(self._draft_timer.start)
        page.conversations.new_requested.connect(lambda: start(self.new_chat(), "new chat"))
        page.conversations.chosen.connect(lambda chat_id: start(self.open_chat(chat_id), "open chat"))
        page.conversations.rename_requested.connect(
            lambda chat_id, title: start(self._rename(chat_id, title), "rename chat")
        )
        page.conversations.delete_requested.connect(
            lambda chat_id: start(self._delete(chat_id), "delete chat")
        )
        page.notice.action_triggered.connect(self._notice_action)
        page.messages.regenerate_requested.connect(self.regenerate)
        page.messages.action_triggered.connect(self._message_action)
        page.messages.link_activated.connect(lambda url: ask_to_open(url, page))

    # ------------------------------------------------------------ state

    @property
    def answering(self) -> bool:
        return self._answer_task is not None and not self._answer_task.done()

    @property
    def chat(self) -> Chat | None:
        return self._chat

    def model_changed(self) -> None:
        """Show what the engine holds now: the composer's state, the thinking switch, the context."""
        loaded = self._engine.loaded
        self._page.composer.set_state(ready=loaded is not None, answering=self.answering)
        self._show_thinking()
        self._page.gauges.show_context(ContextReading(0, loaded.context if loaded else 0))
        self._page.gauges.reset_speed()

    async def start(self) -> None:
        """Fill the list and open the newest chat."""
        chats = await self._store.list_chats()
        if chats:
            await self.open_chat(chats[0].id)
        else:
            await self.new_chat()

    def retranslate(self) -> None:
        """Show the present chat again in the language in force; a running answer keeps its words."""
        self._show_thinking()
        if self._chat is not None and not self.answering:
            self._start(self.open_chat(self._chat.id), "show again")

    async def end(self) -> None:
        """Stop what runs, keep what was written and the draft; then the window may close."""
        self._draft_timer.stop()
        await self.stop_and_wait()
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.gather(self._recovery, return_exceptions=True)
        await self._save_draft()

    # ------------------------------------------------------------ chats

    async def new_chat(self) -> None:
        """An empty page; the chat itself is made with its first message."""
        await self._leave_chat()
        self._chat = self._session = None
        self._page.messages.clear()
        self._page.show_welcome(True)
        self._page.composer.set_text("")
        self._show_thinking()
        await self._show_list()
        self._page.composer.setFocus()

    async def open_chat(self, chat_id: int) -> None:
        """Show a chat from the store."""
        await self._leave_chat()
        try:
            chat = await self._store.chat(chat_id)
            messages = await self._store.messages(chat_id)
            draft = await self._store.draft(chat_id)
        except ChatStoreError as error:
            self._show_error(error)
            return
        self._chat = chat
        self._session = ChatSession(self._engine, self._store, chat)
        self._page.messages.set_history([_history_message(message) for message in messages])
        self._page.show_welcome(not messages)
        self._page.composer.set_text(draft)
        self._show_thinking()
        await self._show_list()

    async def _leave_chat(self) -> None:
        await self.stop_and_wait()
        await self._save_draft()
        self._view = None

    async def _show_list(self) -> None:
        chats = await self._store.list_chats()
        self._page.conversations.show_chats(chats, self._chat.id if self._chat else None)

    async def _rename(self, chat_id: int, title: str) -> None:
        if title.strip():
            await self._store.rename_chat(chat_id, capped(title, 200))
        await self._show_list()

    async def _delete(self, chat_id: int) -> None:
        if self._chat is not None and self._chat.id == chat_id:
            await self.new_chat()
        await self._store.delete_chat(chat_id)
        self._deleted_id = chat_id
        await self._show_list()
        self._page.notice.show_notice(_("The chat was deleted."), action=(UNDO_DELETE, _("Undo")))

    async def _undo_delete(self) -> None:
        if self._deleted_id is not None:
            chat_id, self._deleted_id = self._deleted_id, None
            await self._store.undo_delete(chat_id)
            self._page.notice.dismiss()
            await self.open_chat(chat_id)

    async def _save_draft(self) -> None:
        if self._chat is not None:
            try:
                await self._store.save_draft(self._chat.id, self._page.composer.text())
            except ChatStoreError as error:
                log.warning("draft not saved: %s", error)

    # ------------------------------------------------------------ thinking

    async def _set_thinking(self, on: bool) -> None:
        self._default_thinking = on
        if self._chat is not None:
            self._chat = await self._store.set_thinking(self._chat.id, on)

    def _show_thinking(self) -> None:
        loaded = self._engine.loaded
        wanted = self._chat.thinking if self._chat is not None else self._default_thinking
        reason = ""
        if loaded is not None and not loaded.can_switch_thinking:
            reason = (
                _("This file has no chat template, so thinking cannot be switched.")
                if loaded.template == "plain"
                else _("This model does not think before it answers: its template has no such switch.")
            )
        self._page.composer.set_thinking(wanted, reason)

    # ------------------------------------------------------------ answers

    def send(self, text: str) -> None:
        """Send the person's message (from the composer)."""
        if not self.answering:
            self._begin(self._send(text))

    def regenerate(self) -> None:
        """Answer the last message again."""
        if not self.answering and self._session is not None and self._engine.loaded is not None:
            self._begin(self._regenerate())

    def stop(self) -> None:
        """Stop the running answer; what was written stays."""
        if self.answering and self._session is not None:
            self._start(self._session.stop(), "stop")

    async def stop_and_wait(self) -> None:
        """Stop the running answer and wait until it is saved."""
        if self.answering and self._session is not None and self._answer_task is not None:
            task = self._answer_task
            await self._session.stop()
            await asyncio.gather(task, return_exceptions=True)

    def _begin(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        self._answer_task = self._tasks.start(run(), "answer")
        self._page.composer.set_state(ready=True, answering=True)

    async def _send(self, text: str) -> None:
        try:
            if self._recovery is not None:
                await asyncio.gather(self._recovery, return_exceptions=True)
            if self._session is None:
                self._chat = await self._store.create_chat(thinking=self._default_thinking)
                self._session = ChatSession(self._engine, self._store, self._chat)
        except CloverError as error:
            self._page.composer.set_text(text)
            self._answer_failed(error)
            return
        self._page.show_welcome(False)
        self._page.messages.add_user(text)
        thinking = self._page.composer.thinking
        await self._run(self._session.send(text, thinking=thinking, sampling=self._sampling(thinking)))

    async def _regenerate(self) -> None:
        assert self._session is not None
        self._page.messages.remove_last_answer()
        thinking = self._page.composer.thinking
        await self._run(self._session.regenerate(thinking=thinking, sampling=self._sampling(thinking)))

    async def _run(self, events: AsyncIterator[ChatEvent]) -> None:
        view = self._page.messages.add_answer()
        self._view = view
        try:
            async for event in events:
                self._show_event(event, view)
        except CloverError as error:
            view.finish()
            self._answer_failed(error)
        except BaseException:
            view.finish()
            raise
        finally:
            self._page.composer.set_state(ready=self._engine.loaded is not None, answering=False)

    def _show_event(self, event: ChatEvent, view: MessageView) -> None:
        match event:
            case UserSaved():
                self._start(self._show_list(), "chat list")
            case AnswerBegun():
                pass
            case ContextDropped():
                pass
            case ReadingPrompt():
                self._show_reading(event, view)
            case ThinkingText():
                view.append_thinking(event.text)
            case ThinkingEnded():
                view.end_thinking(event.seconds, event.tokens)
            case AnswerText():
                view.append_answer(event.text)
            case RateSample():
                self._show_rate(event)
            case NotSaved():
                self._show_error(event.error)
            case AnswerEnded():
                self._show_end(event, view)
            case _:
                assert_never(event)

    def _show_reading(self, event: ReadingPrompt, view: MessageView) -> None:
        if event.done < event.total:
            view.set_details(
                _("Reading {done} of {total} tokens…").format(
                    done=number(event.done), total=number(event.total)
                )
            )
        else:
            view.set_details("")
        if (speed := event.tokens_per_second) is not None:
            self._reading_speed = speed
            self._page.gauges.show_speed(SpeedReading(reading=speed))
        self._show_context(event.reused + event.done)

    def _show_rate(self, event: RateSample) -> None:
        now, average = event.tokens_per_second_now, event.tokens_per_second_average
        self._page.gauges.show_speed(SpeedReading(now, average, self._reading_speed))
        self._show_context(event.context_used)

    def _show_context(self, used: int) -> None:
        loaded = self._engine.loaded
        self._page.gauges.show_context(ContextReading(used, loaded.context if loaded else 0))

    def _show_end(self, event: AnswerEnded, view: MessageView) -> None:
        stats = event.message.stats
        if stats is not None and stats.thinking_tokens:
            view.end_thinking(stats.thinking_seconds, stats.thinking_tokens)
        view.finish()
        view.set_details(details_text(stats))
        notice = notice_text(event.message)
        if event.unasked_thinking:
            notice = _("The model thought before it answered although thinking was switched off.")
        view.set_notice(notice)
        if stats is not None:
            self._page.gauges.show_speed(
                SpeedReading(None, stats.write_tokens_per_second, stats.read_tokens_per_second)
            )
        self._start(self._show_list(), "chat list")
        self.answer_finished.emit(event)

    def _answer_failed(self, error: CloverError) -> None:
        explanation = explain(error)
        text = f"{explanation.sentence} {explanation.next_step}".strip()
        if self._view is not None:
            self._view.set_details("")
            self._view.set_notice(text, (REGENERATE, _("Try again")))
        else:
            self._show_error(error)
        if isinstance(error, EngineDied | EngineUnresponsive):
            self._recovery = self._tasks.start(self._bring_back(), "engine recovery")
        self.answer_finished.emit(error)

    async def _bring_back(self) -> None:
        """After the engine died: load the model again, so that the next message is answered."""
        self._page.notice.show_notice(_("The engine stopped. It is being started again…"), NoticeKind.WARNING)
        try:
            await self._recover()
        except CloverError as error:
            self._show_error(error)
        else:
            self._page.notice.show_notice(_("The engine is ready again. Your chat is complete up to here."))
        finally:
            self._recovery = None

    # ------------------------------------------------------------ small things

    def _show_error(self, error: CloverError) -> None:
        explanation = explain(error)
        self._page.notice.show_notice(f"{explanation.sentence} {explanation.next_step}", NoticeKind.ERROR)

    def _notice_action(self, key: str) -> None:
        if key == UNDO_DELETE:
            self._start(self._undo_delete(), "undo delete")

    def _message_action(self, key: str) -> None:
        if key == REGENERATE:
            self.regenerate()

    def _start(self, work: Awaitable[None], name: str) -> None:
        async def run() -> None:
            await work

        self._tasks.start(run(), name)


def _history_message(message: Message) -> HistoryMessage:
    stats = message.stats
    return HistoryMessage(
        is_user=message.role is Role.USER,
        text=message.text,
        thinking=message.thinking,
        thinking_seconds=stats.thinking_seconds if stats else None,
        thinking_tokens=stats.thinking_tokens if stats else None,
        details=details_text(stats),
        notice=notice_text(message),
    )
