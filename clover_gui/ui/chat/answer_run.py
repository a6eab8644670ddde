"""One answer while it comes: every event of the chat session is put into the page and the open chat.

Must not know how it was asked for, nor what follows a failure (``answer_presenter.py``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from PySide6.QtCore import QObject, Signal

from clover_gui.chat.context import WARN_SHARE, ContextCheck
from clover_gui.chat.events import (
    AnswerBegun,
    AnswerEnded,
    AnswerResumed,
    ChatEvent,
    ContextDropped,
    NotSaved,
    UserSaved,
)
from clover_gui.chat.message import AnswerStats, Message, Role
from clover_gui.engine.engine import Engine
from clover_gui.explain import explain
from clover_gui.explain.answers import tight_text
from clover_gui.i18n import _
from clover_gui.ui.chat.answer_display import AnswerDisplay
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.open_chat import OpenChat
from clover_gui.ui.chat.path_history import history_of, version_of
from clover_gui.ui.chat.words import SAVING
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.widgets.notice_bar import NoticeKind

NEW_CHAT = "new-chat"
"""The key of a notice's button that begins a new chat."""


class AnswerRun(QObject):
    """``ended`` carries AnswerEnded."""

    saved = Signal()
    """Something new is in the store: the list of chats may look different."""
    ended = Signal(object)

    def __init__(self, page: ChatPage, engine: Engine, tasks: TaskSet, open_chat: OpenChat) -> None:
        super().__init__(page)
        self._page = page
        self._engine = engine
        self._tasks = tasks
        self._open = open_chat
        self._display = AnswerDisplay(page, engine)
        self._warned_chat: int | None = None
        self.view: MessageView | None = None
        """The answer that comes or came last, as long as its chat is open."""

    async def show(self, events: AsyncIterator[ChatEvent], begun: Message | None) -> None:
        """Show an answer from its first event to its last; ``begun`` is one that is gone on with.

        Raises:
            CloverError: of the session; what came before stands on the page as a finished answer.
        """
        self.view = self._add_answer(begun)
        try:
            async for event in events:
                self._show_event(event)
            await self._show_versions()
        except BaseException:
            self.view.finish()
            raise

    def _add_answer(self, begun: Message | None) -> MessageView:
        """An empty answer at the end, or one that has the beginning of ``begun`` and grows on."""
        view = self._page.messages.add_answer()
        if begun is not None and begun.thinking:
            view.append_thinking(begun.thinking)
            if begun.stats is not None:
                view.set_thinking_progress(begun.stats.thinking_seconds, begun.stats.thinking_tokens)
        if begun is not None and begun.text:
            stats = begun.stats or AnswerStats()
            view.end_thinking(stats.thinking_seconds, stats.thinking_tokens)
            view.append_answer(begun.text)
        return view

    def _show_event(self, event: ChatEvent) -> None:
        assert self.view is not None
        match event:
            case UserSaved():
                self._open.messages.append(event.message)
                self._tasks.start(self._open.forget_new_draft(), "draft of a new chat")
                self.saved.emit()
            case AnswerBegun():
                self._open.messages.append(event.message)
            case AnswerResumed():
                self._open.messages[-1] = event.message
            case ContextDropped():
                self._show_dropped(event)
            case NotSaved():
                if not self._page.notice.says(SAVING):
                    text = explain(event.error).text
                    self._page.notice.show_notice(text, NoticeKind.ERROR, about=SAVING)
            case AnswerEnded():
                self._open.messages[-1] = event.message
                self._display.show(event, self.view)
                self._warn_if_tight(event)
                self.saved.emit()
                self.ended.emit(event)
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
        begun = messages[-1] if messages[-1].role is Role.ASSISTANT else None
        shown = messages[:-1] if begun is not None else messages
        history = history_of(shown, self._open.versions, can_grow=self._open.can_grow)
        self._page.messages.set_history(history)
        self.view = self._add_answer(begun)

    def _warn_if_tight(self, event: AnswerEnded) -> None:
        loaded, stats = self._engine.loaded, event.message.stats
        if loaded is None or stats is None or stats.context_used < WARN_SHARE * loaded.context:
            return
        if self._warned_chat != self._open.id:
            self._warned_chat = self._open.id
            check = ContextCheck(True, stats.context_used, loaded.context, 0)
            text = tight_text(check) + " " + _("Soon the oldest turns would have to be left out.")
            self._page.notice.show_notice(
                text, NoticeKind.WARNING, (NEW_CHAT, _("New chat")), about=NEW_CHAT, of_chat=True
            )
