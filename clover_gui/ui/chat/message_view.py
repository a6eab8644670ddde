"""One message of a conversation: a person's on the right, an answer over the whole width.

It knows strings only: where they come from and what its buttons lead to is the owner's matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import QEvent, QRect, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication
from PySide6.QtWidgets import QWidget

from clover_gui.chat.message import Attachment
from clover_gui.i18n import _
from clover_gui.i18n import number as written
from clover_gui.ui.chat.attachment_chips import AttachmentChips
from clover_gui.ui.chat.message_bubble import MessageBubble
from clover_gui.ui.chat.message_footer import MessageFooter
from clover_gui.ui.chat.message_layout import AnswerParts, QuestionParts, lay_out_answer, lay_out_question
from clover_gui.ui.chat.notice_row import NoticeRow
from clover_gui.ui.chat.thinking_view import ThinkingView
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.plain_body import PlainBody
from clover_gui.ui.widgets.text_selection import selection_in


class Role(Enum):
    """Who wrote a message."""

    USER = "user"
    ANSWER = "answer"


class MessageView(QWidget):
    """The owner gives it its width by ``fit`` and is told by ``height_changed`` when it has grown."""

    height_changed = Signal()
    copy_requested = Signal()
    """The text has been copied by the button."""
    regenerate_requested = Signal()
    edit_requested = Signal(int)
    """The person wants to write this message anew; its place in the conversation, from 0."""
    quote_requested = Signal(str)
    """What is selected in the message, or all of it."""
    continue_requested = Signal()
    previous_version_requested = Signal()
    next_version_requested = Signal()
    action_triggered = Signal(str)
    link_activated = Signal(str)
    thinking_toggled = Signal(bool)

    def __init__(self, role: Role, number: int, theme: Theme, parent: QWidget | None = None) -> None:
        """``number``: its place in the conversation, from 1, for screen readers."""
        super().__init__(parent)
        self.role = role
        self.number = number
        self._theme = theme
        self._width = 0
        self._bubble: MessageBubble | None = None
        self._finished = role is Role.USER
        self._can_regenerate = False
        self._can_continue = False
        self.thinking: ThinkingView | None = None
        """None as long as nothing was thought."""
        self.notice: NoticeRow | None = None
        self.files: AttachmentChips | None = None
        """What went with a person's message; None as long as that is nothing."""
        self._files: tuple[Attachment, ...] = ()
        self.body: MessageBody | PlainBody
        if role is Role.USER:
            self._bubble = MessageBubble(theme, self)
            self.body = PlainBody(theme, self)
        else:
            self.body = MessageBody(theme, parent=self)
            self.body.link_activated.connect(self.link_activated)
        self.body.height_changed.connect(self._on_height)
        self._footer = MessageFooter(theme, self)
        self.actions_row = self._footer.actions
        self.copy_button = self.actions_row.copy_button
        self.regenerate_button = self.actions_row.regenerate_button
        self._connect_actions()
        self.restyle()
        self.retranslate()

    def _connect_actions(self) -> None:
        row = self.actions_row
        row.copy_button.clicked.connect(self._on_copy)
        row.regenerate_requested.connect(self.regenerate_requested)
        row.continue_requested.connect(self.continue_requested)
        row.previous_version_requested.connect(self.previous_version_requested)
        row.next_version_requested.connect(self.next_version_requested)
        row.edit_requested.connect(lambda: self.edit_requested.emit(self.number - 1))
        row.quote_requested.connect(lambda: self.quote_requested.emit(selection_in(self.body) or self.text()))
        row.offer(row.edit_button, self.role is Role.USER)
        row.offer(row.quote_button, self._finished)
        row.changed.connect(self._on_height)

    # A person's message

    def set_user_text(self, text: str, files: Sequence[Attachment] = ()) -> None:
        """What the person wrote, shown as typed, below the files that went with it."""
        assert isinstance(self.body, PlainBody)
        assert self._bubble is not None
        self.body.set_text(text)
        self._files = tuple(files)
        if files and self.files is None:
            self.files = AttachmentChips(self._theme, self, removable=False)
        if self.files is not None:
            self.files.show_attachments(files)
        for part in (self.body, self._bubble):
            part.setVisible(bool(text) or not files)
        self._on_height()

    # An answer

    def append_answer(self, text: str) -> None:
        """More of the answer has come; thinking, if any, is over."""
        self._finish_thinking()
        self._markdown_body().append(text)

    def append_thinking(self, text: str) -> None:
        """More was thought."""
        if text:
            self._thinking_view().append(text)

    def set_thinking_progress(self, seconds: float | None, tokens: int | None, budget: int = 0) -> None:
        """Figures for the header of the thinking, from whoever counts (see ``ThinkingView``)."""
        if self.thinking:
            self.thinking.set_progress(seconds, tokens, budget)

    def end_thinking(self, seconds: float | None = None, tokens: int | None = None) -> None:
        """Thinking is over. Comes by itself with the first piece of the answer, then without figures."""
        if self.thinking:
            self.thinking.finish(seconds, tokens)

    def set_answer(self, text: str) -> None:
        """A complete answer from a stored chat."""
        self._markdown_body().set_text(text)
        self.finish()

    def set_thinking(self, text: str, seconds: float | None, tokens: int | None) -> None:
        """Complete thinking from a stored chat."""
        self._thinking_view().set_text(text, seconds, tokens)

    def set_details(self, text: str) -> None:
        """The quiet line below an answer; "" hides it."""
        self._footer.set_details(text)
        self._on_height()

    def set_notice(self, text: str, action: tuple[str, str] | None = None) -> None:
        """What went another way than expected; ``action``: name for the receiver and text of a button.

        "" takes the notice away.
        """
        if not self.notice:
            self.notice = NoticeRow(self._theme, self)
            self.notice.action_triggered.connect(self.action_triggered)
        self.notice.show_notice(text, action)
        self._on_height()

    def finish(self) -> None:
        """No more text comes."""
        if self._finished:
            return
        self._finished = True
        self._finish_thinking()
        self._markdown_body().finish()
        self._offer_more()
        self._on_height()

    def set_can_regenerate(self, possible: bool) -> None:
        """Whether the button for another answer is offered (once this one is finished)."""
        self._can_regenerate = possible
        self._offer_more()

    def set_can_continue(self, possible: bool) -> None:
        """Whether the button for going on with the answer is offered (once it is finished)."""
        self._can_continue = possible
        self._offer_more()

    def set_versions(self, current: int, total: int) -> None:
        """Which of how many versions of this message is shown, from 1; arrows come with the second one."""
        self.actions_row.set_versions(current, total)

    def _offer_more(self) -> None:
        row, answered = self.actions_row, self.role is Role.ANSWER and self._finished
        row.offer(row.quote_button, self._finished)
        row.offer(row.continue_button, answered and self._can_continue)
        row.offer(row.regenerate_button, answered and self._can_regenerate)

    @property
    def is_finished(self) -> bool:
        return self._finished

    # Both

    def text(self) -> str:
        """The source of the message, without thinking."""
        return self.body.text()

    def copy_text(self) -> None:
        """Put the source of the message into the clipboard, without thinking."""
        QGuiApplication.clipboard().setText(self.text())
        self.copy_button.show_copied()

    def seek(self, text: str, current: int | None = None, also: tuple[str, ...] = ()) -> None:
        """Mark a text ("" for none), and ``also`` others; ``current``: where in the text of the message the
        one looked at is."""
        self.body.seek(text, current, also)
        if not text:
            self.seek_in_thoughts("")

    def seek_in_thoughts(self, text: str, also: tuple[str, ...] = ()) -> None:
        """The same in the thoughts, where these are open."""
        if self.thinking is not None and self.thinking.body is not None:
            self.thinking.body.seek(text, None, also)

    def set_marked(self, marked: bool) -> None:
        """Whether it is this message that is being changed."""
        if self._bubble is not None:
            self._bubble.set_marked(marked)

    def found_rect(self) -> QRect | None:
        """Where the place looked at is drawn, in own coordinates; None if it is not (yet)."""
        rect = self.body.found_rect()
        return rect.translated(self.body.pos()) if rect else None

    def fit(self, width: int) -> int:
        """Lay out for this width, take the height that is needed and return it, in pixels."""
        self._width = width
        if isinstance(self.body, PlainBody):
            assert self._bubble is not None
            files = self.files if self._files else None
            parts = QuestionParts(self.body, self._bubble, files, self._footer, self.notice)
            height = lay_out_question(parts, self._theme, width)
        else:
            answer = AnswerParts(self.body, self.thinking, self._footer, self.notice)
            height = lay_out_answer(answer, self._theme, width)
        self.resize(width, height)
        return height

    def follow_viewport(self, top: int) -> None:
        """What can be seen begins at ``top`` (own coordinates)."""
        if isinstance(self.body, MessageBody):
            self.body.follow_viewport(top - self.body.y())
        if self.thinking:
            self.thinking.follow_viewport(top - self.thinking.y())

    def restyle(self) -> None:
        """Take the theme's colours and sizes; the owner calls ``fit`` afterwards."""
        self.body.restyle()
        for part in (self.thinking, self.notice, self._footer):
            if part:
                part.restyle()
        self.update()

    def retranslate(self) -> None:
        """Take the texts of the language in force."""
        name = _("You, message {number}") if self.role is Role.USER else _("Answer, message {number}")
        name = name.format(number=written(self.number))
        self.setAccessibleName(name)
        self.body.set_name(name)
        self.body.retranslate()
        self._footer.retranslate()
        if self.files is not None:
            self.files.show_attachments(self._files)
        if self.thinking:
            self.thinking.retranslate()

    def _markdown_body(self) -> MessageBody:
        assert isinstance(self.body, MessageBody)
        return self.body

    def _thinking_view(self) -> ThinkingView:
        if not self.thinking:
            self.thinking = ThinkingView(self._theme, self)
            self.thinking.height_changed.connect(self._on_height)
            self.thinking.link_activated.connect(self.link_activated)
            self.thinking.toggled.connect(self.thinking_toggled)
            self._on_height()
        return self.thinking

    def _finish_thinking(self) -> None:
        if self.thinking and self.thinking.is_live:
            self.thinking.finish()

    def _on_copy(self) -> None:
        self.copy_text()
        self.copy_requested.emit()

    def _on_height(self) -> None:
        if self._width:
            self.fit(self._width)
            self.height_changed.emit()

    # Qt

    def enterEvent(self, event: QEnterEvent) -> None:
        self.actions_row.reveal(True)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.actions_row.reveal(False)
        super().leaveEvent(event)
