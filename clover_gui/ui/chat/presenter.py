"""The chat page's conductor: makes what works on the page, and connects it with the widgets.

Which chat is shown is in ``chat_switch.py``, sending in ``answer_presenter.py``, the list in
``list_presenter.py``, the text field in ``composer_presenter.py``, switches and settings in
``chat_settings.py``. Knows the widgets of the page and the chat core; knows nothing of planning, set-up or
the window.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.continuing import can_continue
from clover_gui.chat.message import Chat
from clover_gui.chat.presets import PresetBook
from clover_gui.engine.client import EngineClient
from clover_gui.errors import ChatStoreError, CloverError, DataFolderError
from clover_gui.explain import explain
from clover_gui.ui.chat.answer_presenter import AnswerPresenter
from clover_gui.ui.chat.answer_run import NEW_CHAT
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.chat_settings import ChatSettings
from clover_gui.ui.chat.chat_switch import ChatSwitch
from clover_gui.ui.chat.composer_presenter import ComposerPresenter
from clover_gui.ui.chat.engine_recovery import CHOOSE_MODEL
from clover_gui.ui.chat.file_notices import FileNotices
from clover_gui.ui.chat.list_presenter import ChatListPresenter
from clover_gui.ui.chat.makers_values import MakersValues
from clover_gui.ui.chat.message_commands import MessageCommands
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.moves import Moves
from clover_gui.ui.chat.open_chat import OpenChat
from clover_gui.ui.chat.options_dialog import OptionsDialog
from clover_gui.ui.chat.question import Question
from clover_gui.ui.chat.words import CONTINUE, REGENERATE, SAVING
from clover_gui.ui.gauges.readings import ContextReading
from clover_gui.ui.links import ask_to_open
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.notice_bar import NoticeKind


class ChatPresenter(QObject):
    """One chat is shown at a time; an answer may run in it.

    ``recover`` loads the last model again after the engine died. ``presets`` are the person's own.
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
        makers: MakersValues,
        default_thinking: bool = True,
        presets: PresetBook | None = None,
    ) -> None:
        super().__init__(page)
        self._page = page
        self._theme = theme
        self._engine = engine
        self._store = store
        self._tasks = tasks
        book = presets or PresetBook(None)
        self._open = OpenChat(
            engine, store, thinking=default_thinking, preset=lambda: book.presets.for_new_chats
        )
        self._settings = ChatSettings(page, theme, engine, self._open, makers, book, self._start)
        self._field = ComposerPresenter(page.composer, engine, store, tasks, self._open)
        self._answers = AnswerPresenter(page, engine, tasks, self._open, makers, recover=recover)
        self._file_notices = FileNotices(page.notice)
        self._moves = Moves(self._leave_chat, self._field.stay)
        self.messages = MessageCommands(
            page, theme, store, self._open, self._field, self._moves, lambda: self.answering
        )
        self.list = ChatListPresenter(page.conversations, page.notice, store, tasks, self._leave_deleted)
        self._switch = ChatSwitch(
            page,
            self._open,
            self._moves,
            self._field,
            self.messages,
            self.list,
            shown=self._show_state,
            failed=self._show_error,
        )
        self._connect_composer()
        self._connect_page()
        engine.state_changed.append(self._answers.recovery.engine_changed)

    def _connect_composer(self) -> None:
        composer, start = self._page.composer, self._start
        composer.send_requested.connect(self.send)
        composer.stop_requested.connect(self.escape)
        composer.thinking_changed.connect(lambda on: start(self._open.set_thinking(on), "thinking switch"))
        composer.options_requested.connect(self.show_options)
        composer.recall_requested.connect(self.messages.edit_last)
        self._field.editing_changed.connect(self.messages.mark_edited)
        files = self._file_notices
        self._field.refused.connect(files.refused)
        self._field.repeated.connect(files.repeated)

    def _connect_page(self) -> None:
        page, start = self._page, self._start
        page.conversations.new_requested.connect(lambda: start(self.new_chat(), "new chat"))
        self.list.title_changed.connect(page.show_title)
        self.list.open_requested.connect(lambda c, m: start(self.open_chat(c, m), "open chat"))
        self._answers.saved.connect(lambda: start(self._switch.show_in_list(), "chat list"))
        self._answers.finished.connect(self.answer_finished)
        self._answers.not_sent.connect(self._field.give_back)
        self._answers.chat_begun.connect(self._field.follow)
        self._answers.new_chat_wanted.connect(lambda q: start(self._move_to_new_chat(q), "new chat"))
        page.stop_requested.connect(self.escape)
        page.regenerate_requested.connect(self.regenerate)
        page.continue_requested.connect(self.go_on)
        page.copy_requested.connect(self.messages.copy_answer)
        page.details_requested.connect(self.messages.show_details)
        page.step_requested.connect(self.list.step)
        page.export_requested.connect(
            lambda form: self.list.export(self._open.id, form) if self._open.chat else None
        )
        page.import_requested.connect(self.list.import_file)
        page.notice.action_triggered.connect(self._notice_action)
        page.messages.regenerate_requested.connect(self.regenerate)
        page.messages.continue_requested.connect(self.go_on)
        page.messages.edit_requested.connect(self.messages.edit)
        page.messages.quote_requested.connect(self._field.quote)
        page.messages.previous_version_requested.connect(
            lambda place: start(self.messages.show_version(place, -1), "version")
        )
        page.messages.next_version_requested.connect(
            lambda place: start(self.messages.show_version(place, 1), "version")
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

    def model_changed(self) -> None:
        """Show what the engine holds now: the composer's state, the thinking switch, the context."""
        self._page.composer.set_state(ready=self._answers.ready, answering=self.answering)
        self._show_state()
        self._page.gauges.reset_speed()
        self._field.model_changed()

    def _show_context(self) -> None:
        loaded = self._engine.loaded
        reading = ContextReading(self._open.context_used, loaded.context if loaded else 0)
        self._page.gauges.show_context(reading)

    async def start(self) -> None:
        """Fill the list and open the newest chat."""
        await self._store.purge_deleted()
        await self._switch.open_newest(self._store)

    def retranslate(self) -> None:
        """Show the present chat again in the language in force; a running answer keeps its words."""
        self._settings.show_switches()
        if self._open.chat is not None and not self.answering:
            self._start(self.open_chat(self._open.chat.id), "show again")

    async def end(self) -> None:
        """Stop what runs, keep what was written and the draft; then the window may close."""
        await self._answers.end()
        await self._field.leave()

    # ------------------------------------------------------------ chats

    async def new_chat(self) -> bool:
        """An empty page; the chat itself is made with its first message. False: see ``Moves.go``."""
        return await self._switch.new_chat()

    async def open_chat(self, chat_id: int, message_id: int = 0) -> None:
        """Show a chat from the store, from its end or from the message."""
        await self._switch.open_chat(chat_id, message_id)

    async def _leave_chat(self) -> None:
        await self._answers.stop_and_wait()
        await self._field.leave()

    async def _leave_deleted(self, chat_id: int) -> None:
        await self._switch.leave_deleted(chat_id)

    def _show_state(self) -> None:
        self._settings.show_switches()
        self._show_context()

    # ------------------------------------------------------------ what is shown of it

    def show_options(self) -> OptionsDialog:
        """Instructions and settings of this chat."""
        return self._settings.show_dialog()

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
        """Let the model go on with the last answer, where that one was cut."""
        messages = self._open.messages
        if self.answering or self._field.is_leaving or not messages or not can_continue(messages[-1]):
            return
        focused = QApplication.focusWidget()
        if focused is not None and self._page.messages.isAncestorOf(focused):
            # The button that was pressed goes with the answer's present form.
            self._page.composer.setFocus()
        self._answers.ask(Question(None, go_on=True))

    def stop(self) -> None:
        """Stop the running answer; what was written stays."""
        self._answers.stop()

    async def stop_and_wait(self) -> None:
        """Stop the running answer, if there is one, and wait until it is kept."""
        await self._answers.stop_and_wait()

    def escape(self) -> None:
        """Leave what is going on: the answer, or else the change of an earlier message."""
        if self.answering:
            self.stop()
        else:
            self._field.cancel_edit()

    async def _move_to_new_chat(self, question: Question) -> None:
        """Ask it in a chat of its own, with its files; a message that was being changed stays as it is."""
        former, messages = self._open.id, self._open.messages
        moved = question.alone(messages)
        arrived = await self.new_chat()
        if not arrived and question.text is not None:
            await self._store.save_draft(former, moved.text or "", moved.files)
        elif arrived and question.text is not None and question.replacing is None:
            await self._store.save_draft(former, "", ())
        if arrived:
            self._answers.ask(moved)

    # ------------------------------------------------------------ small things

    def _show_error(self, error: CloverError) -> None:
        about = SAVING if isinstance(error, ChatStoreError) else ""
        self._page.notice.show_notice(explain(error).text, NoticeKind.ERROR, about=about, of_chat=True)

    def _notice_action(self, key: str) -> None:
        if key == NEW_CHAT:
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
            except (ChatStoreError, DataFolderError) as error:
                self._show_error(error)

        self._tasks.start(run(), name)
