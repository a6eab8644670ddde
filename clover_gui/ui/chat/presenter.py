"""The chat page's conductor: which chat is open, its draft, files, switches and settings.

Sending and answering is in ``answer_presenter.py``, the list in ``list_presenter.py``. Knows the widgets of
the page and the chat core; knows nothing of planning, set-up or the window.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.message import Chat, Role
from clover_gui.chat.options import ChatOptions
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import Sampling
from clover_gui.errors import ChatStoreError, CloverError
from clover_gui.explain import explain
from clover_gui.i18n import _
from clover_gui.ui.chat.answer_presenter import NEW_CHAT, AnswerPresenter, Question
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.composer_presenter import ComposerPresenter
from clover_gui.ui.chat.engine_recovery import CHOOSE_MODEL
from clover_gui.ui.chat.list_presenter import ChatListPresenter
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.open_chat import NEW_CHAT_ID, OpenChat
from clover_gui.ui.chat.options_dialog import OptionsDialog, UsualValues
from clover_gui.ui.chat.path_history import history_of
from clover_gui.ui.chat.table_dialog import details_dialog
from clover_gui.ui.chat.words import CONTINUE, REGENERATE
from clover_gui.ui.gauges.readings import ContextReading
from clover_gui.ui.links import ask_to_open
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.notice_bar import NoticeKind

log = logging.getLogger(__name__)


class ChatPresenter(QObject):
    """One chat is shown at a time; an answer may run in it.

    ``recover`` loads the last model again after the engine died. ``sampling`` gives the values for an
    answer with or without thinking, ``precise`` those for code and facts, if there are any.
    ``answer_finished`` carries AnswerEnded or the CloverError.
    """

    answer_finished = Signal(object)

    def __init__(
        self,
        page: ChatPage,
        theme: Theme,
        engine: EngineClient,
        store: AsyncChatStore,
        tasks: TaskSet,
        *,
        recover: Callable[[], Awaitable[None]],
        sampling: Callable[[bool | None], Sampling],
        precise: Callable[[], Sampling | None] = lambda: None,
        default_thinking: bool = True,
    ) -> None:
        super().__init__(page)
        self._page = page
        self._theme = theme
        self._engine = engine
        self._store = store
        self._tasks = tasks
        self._precise = precise
        self._open = OpenChat(engine, store, thinking=default_thinking)
        self._field = ComposerPresenter(page.composer, engine, store, tasks, self._open)
        self._answers = AnswerPresenter(
            page, engine, tasks, self._open, recover=recover, sampling=sampling, precise=precise
        )
        self._moving = asyncio.Lock()
        self._wish = 0
        self._made = 0
        """The numbers of the newest wish for another chat and of the one that is being fulfilled."""
        self.list = ChatListPresenter(page.conversations, page.notice, store, tasks, self._leave_deleted)
        self._connect_composer()
        self._connect_page()
        engine.state_changed.append(self._answers.recovery.engine_changed)

    def _connect_composer(self) -> None:
        composer, start = self._page.composer, self._start
        composer.send_requested.connect(self.send)
        composer.stop_requested.connect(self.escape)
        composer.thinking_changed.connect(lambda on: start(self._open.set_thinking(on), "thinking switch"))
        composer.options_requested.connect(self.show_options)
        composer.recall_requested.connect(self.edit_last)
        self._field.refused.connect(self._show_error)

    def _connect_page(self) -> None:
        page, start = self._page, self._start
        page.conversations.new_requested.connect(lambda: start(self.new_chat(), "new chat"))
        self.list.open_requested.connect(lambda c, m: start(self.open_chat(c, m), "open chat"))
        self._answers.saved.connect(lambda: start(self._show_in_list(), "chat list"))
        self._answers.finished.connect(self.answer_finished)
        self._answers.not_sent.connect(self._field.give_back)
        self._answers.chat_begun.connect(self._field.follow)
        self._answers.new_chat_wanted.connect(lambda q: start(self._move_to_new_chat(q), "new chat"))
        page.stop_requested.connect(self.escape)
        page.regenerate_requested.connect(self.regenerate)
        page.copy_requested.connect(self.copy_answer)
        page.details_requested.connect(self.show_details)
        page.step_requested.connect(self.list.step)
        page.export_requested.connect(
            lambda form: self.list.export(self._open.id, form) if self._open.chat else None
        )
        page.import_requested.connect(self.list.import_file)
        page.notice.action_triggered.connect(self._notice_action)
        page.messages.regenerate_requested.connect(self.regenerate)
        page.messages.continue_requested.connect(self.go_on)
        page.messages.edit_requested.connect(self.edit)
        page.messages.quote_requested.connect(self._field.quote)
        page.messages.previous_version_requested.connect(
            lambda place: start(self._show_version(place, -1), "version")
        )
        page.messages.next_version_requested.connect(
            lambda place: start(self._show_version(place, 1), "version")
        )
        page.messages.action_triggered.connect(self._message_action)
        page.messages.link_activated.connect(lambda url: ask_to_open(url, page))

    # ------------------------------------------------------------ state

    @property
    def answering(self) -> bool:
        return self._answers.answering

    @property
    def chat(self) -> Chat | None:
        return self._open.chat

    @property
    def view(self) -> MessageView | None:
        """The answer that runs or ended last in this chat, as long as the chat is open."""
        return self._answers.view

    @property
    def _shown_id(self) -> int | None:
        return self._open.chat.id if self._open.chat is not None else None

    def model_changed(self) -> None:
        """Show what the engine holds now: the composer's state, the thinking switch, the context."""
        self._page.composer.set_state(ready=self._answers.ready, answering=self.answering)
        self._show_switches()
        self._show_context()
        self._page.gauges.reset_speed()
        self._field.model_changed()

    def _show_context(self) -> None:
        loaded = self._engine.loaded
        reading = ContextReading(self._open.context_used, loaded.context if loaded else 0)
        self._page.gauges.show_context(reading)

    async def start(self) -> None:
        """Fill the list and open the newest chat."""
        await self._store.purge_deleted()
        chats = await self._store.list_chats()
        if chats:
            await self.open_chat(max(chats, key=lambda chat: chat.updated).id)
        else:
            await self.new_chat()

    def retranslate(self) -> None:
        """Show the present chat again in the language in force; a running answer keeps its words."""
        self._show_switches()
        if self._open.chat is not None and not self.answering:
            self._start(self.open_chat(self._open.chat.id), "show again")

    async def end(self) -> None:
        """Stop what runs, keep what was written and the draft; then the window may close."""
        await self._answers.end()
        await self._field.leave()

    # ------------------------------------------------------------ chats

    async def new_chat(self) -> bool:
        """An empty page; the chat itself is made with its first message. False: see ``_go_to``."""
        self.list.current_id = None
        return await self._go_to(self._show_new_chat)

    async def open_chat(self, chat_id: int, message_id: int = 0) -> None:
        """Show a chat from the store, from its end or from the message."""
        self.list.current_id = chat_id  # the next step goes on from here, even before it is shown
        await self._go_to(lambda: self._show_chat(chat_id, message_id))

    async def _go_to(self, show: Callable[[], Awaitable[None]]) -> bool:
        """Leave the chat and show another. One move after the other; of those that wait only the newest is
        made. False: a newer one came."""
        self._wish += 1
        wish = self._wish
        async with self._moving:
            if wish != self._wish:
                return False
            self._made = wish
            try:
                await self._answers.stop_and_wait()
                await self._field.leave()
                await show()
            finally:
                self._field.stay()
        return True

    async def _show_new_chat(self) -> None:
        draft = await self._field.draft(NEW_CHAT_ID)
        self._open.leave()
        self._page.messages.clear()
        self._page.show_welcome(True)
        self._field.show_draft(draft)
        self._show_switches()
        self._show_context()
        await self._show_in_list()
        self._page.composer.setFocus()

    async def _show_in_list(self) -> None:
        """Mark the open chat in the list, unless another one is on its way."""
        if self._wish == self._made:
            self.list.current_id = self._shown_id
        await self.list.refresh()

    async def _show_chat(self, chat_id: int, message_id: int) -> None:
        try:
            draft = await self._field.draft(chat_id)
            await self._open.load(chat_id, message_id)
        except ChatStoreError as error:
            self._show_error(error)
            await self._show_in_list()
            return
        self._show_path()
        self._field.show_draft(draft)
        self._show_switches()
        self._show_context()
        await self._show_in_list()
        place = next((i for i, m in enumerate(self._open.messages) if m.id == message_id), None)
        if place is not None:
            self._page.messages.scroll_to(place)

    def _show_path(self) -> None:
        messages = self._open.messages
        self._page.messages.set_history(history_of(messages, self._open.versions))
        self._page.show_welcome(not messages)

    async def _leave_deleted(self, chat_id: int) -> None:
        if self._shown_id == chat_id:
            await self.new_chat()

    # ------------------------------------------------------------ switches and settings

    def _show_switches(self) -> None:
        loaded = self._engine.loaded
        wanted = self._open.chat.thinking if self._open.chat is not None else self._open.thinking
        reason = ""
        if loaded is not None and not loaded.can_switch_thinking:
            reason = (
                _("Without the file's own chat template thinking cannot be switched.")
                if loaded.template == "plain"
                else _("This model does not think before it answers: its template has no such switch.")
            )
        self._page.composer.set_thinking(wanted, reason)
        options_set = bool(self._open.system_prompt.strip()) or not self._open.options.is_default
        self._page.composer.set_options_set(options_set)

    def show_options(self) -> OptionsDialog:
        """Instructions and settings of this chat."""
        usual = self._answers.usual_values() if self._engine.loaded is not None else Sampling()
        precise = self._precise() if self._engine.loaded is not None else None
        dialog = OptionsDialog(
            self._open.system_prompt,
            self._open.options,
            UsualValues(usual, precise),
            self._theme,
            self._page.window(),
        )
        dialog.saved.connect(lambda text, options: self._start(self._set_options(text, options), "settings"))
        dialog.open()
        return dialog

    async def _set_options(self, system_prompt: str, options: ChatOptions) -> None:
        await self._open.set_options(system_prompt, options)
        self._show_switches()

    def show_details(self) -> None:
        """What the last answer cost."""
        answers = [message for message in self._open.messages if message.role is Role.ASSISTANT]
        if answers:
            details_dialog(answers[-1], self._theme, self._page.window()).open()

    # ------------------------------------------------------------ asking

    def send(self, text: str) -> None:
        """Send the person's message (from the composer), or the other version of one."""
        question = self._field.take(text)
        if self.answering or self._field.is_leaving:
            self._field.give_back(question)
        else:
            self._answers.ask(question)

    def regenerate(self) -> None:
        """Answer the last message again."""
        if self._open.messages and not self.answering and not self._field.is_leaving:
            self._answers.ask(Question(None))

    def go_on(self) -> None:
        """Let the model continue an answer that was cut."""
        if not self.answering and not self._field.is_leaving and self._answers.ready:
            self._answers.ask(Question(_("Go on exactly where you stopped, without repeating anything.")))

    def stop(self) -> None:
        """Stop the running answer; what was written stays."""
        self._answers.stop()

    def escape(self) -> None:
        """Leave what is going on: the answer, or else the change of an earlier message."""
        if self.answering:
            self.stop()
        else:
            self._field.cancel_edit()

    def copy_answer(self) -> None:
        """Put the last answer into the clipboard."""
        answers = [message for message in self._open.messages if message.role is Role.ASSISTANT]
        if answers:
            QGuiApplication.clipboard().setText(answers[-1].text)

    async def _move_to_new_chat(self, question: Question) -> None:
        former = self._open.id
        if await self.new_chat():
            await self._store.save_draft(former, "", ())
            self._answers.ask(Question(question.text or "", question.files))
        else:
            await self._store.save_draft(former, question.text or "", question.files)

    # ------------------------------------------------------------ another version of a message

    def edit_last(self) -> None:
        """Change the last message of the person."""
        places = [i for i, m in enumerate(self._open.messages) if m.role is Role.USER]
        if places:
            self.edit(places[-1])

    def edit(self, place: int) -> None:
        """Change the message at this place (from 0) of the shown path; what followed it is kept too."""
        if self.answering or not 0 <= place < len(self._open.messages):
            return
        message = self._open.messages[place]
        if message.role is Role.USER:
            self._field.edit(message)

    async def _show_version(self, place: int, by: int) -> None:
        """Show the version of a message before or after the one that is shown, and what follows it."""
        if self.answering or not 0 <= place < len(self._open.messages):
            return
        message = self._open.messages[place]
        family = self._open.versions.get(message.id, (message.id,))
        other = family.index(message.id) + by
        if 0 <= other < len(family):
            self._field.cancel_edit()
            async with self._moving:
                if self._shown_id != message.chat_id:
                    return
                await self._store.show_message(family[other])
                await self._open.load(message.chat_id)
                self._show_path()
                self._page.messages.scroll_to(place)

    # ------------------------------------------------------------ small things

    def _show_error(self, error: CloverError) -> None:
        words = explain(error)
        self._page.notice.show_notice(f"{words.sentence} {words.next_step}", NoticeKind.ERROR)

    def _notice_action(self, key: str) -> None:
        if key == NEW_CHAT:
            self._page.notice.dismiss()
            self._start(self.new_chat(), "new chat")
        elif key == CHOOSE_MODEL:
            self._page.model_requested.emit()

    def _message_action(self, key: str) -> None:
        if key == REGENERATE:
            self.regenerate()
        elif key == CONTINUE:
            self.go_on()

    def _start(self, work: Awaitable[object], name: str) -> None:
        async def run() -> None:
            try:
                await work
            except ChatStoreError as error:
                self._show_error(error)

        self._tasks.start(run(), name)
