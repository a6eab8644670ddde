"""One message of a conversation: a person's on the right, an answer over the whole width.

It knows strings only: where they come from and what its buttons lead to is the owner's matter.
"""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from clover_gui.i18n import _
from clover_gui.i18n import number as written
from clover_gui.ui.chat.notice_row import NoticeRow, WrappedLabel
from clover_gui.ui.chat.thinking_view import ThinkingView
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import CopyButton, IconButton
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.plain_body import PlainBody

BUBBLE_PART = 0.85
"""A person's own message takes at most this part of the width."""


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
        self._bubble = QRectF()
        self._finished = role is Role.USER
        self._can_regenerate = False
        self.thinking: ThinkingView | None = None
        """None as long as nothing was thought."""
        self.notice: NoticeRow | None = None
        self.body: MessageBody | PlainBody
        if role is Role.USER:
            self.body = PlainBody(theme, self)
        else:
            self.body = MessageBody(theme, parent=self)
            self.body.link_activated.connect(self.link_activated)
        self.body.height_changed.connect(self._on_height)
        self._details = WrappedLabel("muted", self)
        self._details.hide()
        self.copy_button = CopyButton(theme, "", self)
        self.copy_button.clicked.connect(self._on_copy)
        self.regenerate_button = IconButton(theme, "regenerate", "", self)
        self.regenerate_button.clicked.connect(self.regenerate_requested)
        self.regenerate_button.setVisible(False)
        self._reveal(False)
        self.restyle()
        self.retranslate()

    # A person's message

    def set_user_text(self, text: str) -> None:
        """What the person wrote, shown as typed."""
        assert isinstance(self.body, PlainBody)
        self.body.set_text(text)
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

    def set_thinking_progress(self, seconds: float | None, tokens: int | None) -> None:
        """Figures for the header of the thinking, from whoever counts."""
        if self.thinking:
            self.thinking.set_progress(seconds, tokens)

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
        self._details.setText(text)
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
        self._on_height()

    def set_can_regenerate(self, possible: bool) -> None:
        """Whether the button for another answer is offered (once this one is finished)."""
        self._can_regenerate = possible
        if self._width:
            self.fit(self._width)

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

    def fit(self, width: int) -> int:
        """Lay out for this width, take the height that is needed and return it, in pixels."""
        self._width = width
        height = self._fit_user(width) if self.role is Role.USER else self._fit_answer(width)
        self.resize(width, height)
        return height

    def tab_stops(self) -> list[QWidget]:
        """What the Tab key reaches in this message, from top to bottom."""
        stops = [
            child for child in self.findChildren(QWidget) if child.focusPolicy() & Qt.FocusPolicy.TabFocus
        ]

        def place(child: QWidget) -> tuple[int, int]:
            at = child.mapTo(self, QPoint(0, 0))
            return at.y(), at.x()

        return sorted(stops, key=place)

    def follow_viewport(self, top: int) -> None:
        """What can be seen begins at ``top`` (own coordinates)."""
        if isinstance(self.body, MessageBody):
            self.body.follow_viewport(top - self.body.y())
        if self.thinking:
            self.thinking.follow_viewport(top - self.thinking.y())

    def restyle(self) -> None:
        """Take the theme's colours and sizes; the owner calls ``fit`` afterwards."""
        self._details.setFont(self._theme.small_font())
        self.body.restyle()
        for part in (self.thinking, self.notice, self.copy_button, self.regenerate_button):
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
        self.copy_button.set_label(_("Copy message"))
        self.regenerate_button.set_label(_("Answer again"))
        if self.thinking:
            self.thinking.retranslate()

    def _fit_user(self, width: int) -> int:
        across, down = self._theme.space(0.9), self._theme.space(0.6)
        widest = max(1, int(width * BUBBLE_PART) - 2 * across)
        assert isinstance(self.body, PlainBody)
        text_width = self.body.ideal_width(widest)
        text_height = self.body.fit(text_width)
        left = width - text_width - 2 * across
        self._bubble = QRectF(left, 0, text_width + 2 * across, text_height + 2 * down)
        # The room between lines is below each line: the last one's would make the bubble look uneven.
        self.body.move(left + across, down + self._theme.space(0.15))
        bottom = text_height + 2 * down
        hint = self.copy_button.sizeHint()
        button_left = max(0, round(left) - hint.width() - self._theme.space(0.2))
        self.copy_button.setGeometry(button_left, bottom - hint.height(), hint.width(), hint.height())
        if self.notice and self.notice.label.text():
            self.notice.move(0, bottom)
            bottom += self.notice.fit(width)
        return bottom

    def _fit_answer(self, width: int) -> int:
        gap = self._theme.space(0.6)
        y = 0
        if self.thinking:
            # The header's text lines up with the answer's.
            inset = self._theme.space(0.8)
            self.thinking.move(-inset, y)
            y += self.thinking.fit(width + inset) + (2 * gap if self.thinking.is_open else gap // 2)
            self.thinking.show()
        self.body.move(0, y)
        y += self.body.fit(width)
        if self.notice:
            shown = bool(self.notice.label.text())
            self.notice.setVisible(shown)
            if shown:
                y += gap if y else 0
                self.notice.move(0, y)
                y += self.notice.fit(width)
        return self._fit_footer(width, y)

    def _fit_footer(self, width: int, top: int) -> int:
        gap = self._theme.space(0.4)
        hint = self.copy_button.sizeHint()
        buttons = 2 * hint.width()
        details = self._details.text()
        y = top + gap
        label_width = max(1, width - buttons - gap)
        label_height = self._details.fit(label_width) if details else 0
        row = max(hint.height(), label_height)
        self._details.setVisible(bool(details))
        self._details.move(0, y + (row - label_height) // 2)
        again = self._finished and self._can_regenerate
        button_y = y + (row - hint.height()) // 2
        self.regenerate_button.setVisible(again)
        self.regenerate_button.setGeometry(width - hint.width(), button_y, hint.width(), hint.height())
        left = width - buttons if again else width - hint.width()
        self.copy_button.setGeometry(left, button_y, hint.width(), hint.height())
        return y + row

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

    def _reveal(self, revealed: bool) -> None:
        self.copy_button.set_revealed(revealed)
        self.regenerate_button.set_revealed(revealed)

    # Qt

    def enterEvent(self, event: QEnterEvent) -> None:
        self._reveal(True)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._reveal(False)
        super().leaveEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.role is not Role.USER:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.colors.raised))
        radius = self._theme.space(0.9)
        painter.drawRoundedRect(self._bubble, radius, radius)
        painter.end()
