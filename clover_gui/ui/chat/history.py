"""Stored messages as the conversation shows them: what each one says, and where it stands.

Must not know: the store, the engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QFontMetricsF

from clover_gui.chat.message import Attachment
from clover_gui.ui.chat.message_view import MessageView, Role
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.plain_body import COLLAPSED


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message of a stored conversation. ``notice_action``: name for the receiver, text of the button."""

    is_user: bool
    text: str
    thinking: str = ""
    thinking_seconds: float | None = None
    thinking_tokens: int | None = None
    details: str = ""
    notice: str = ""
    notice_action: tuple[str, str] | None = None
    version: int = 1
    """Which of the versions of this message it is, from 1 ..."""
    versions: int = 1
    """... and how many there are."""
    can_continue: bool = False
    """Whether the answer can be gone on with."""
    files: tuple[Attachment, ...] = ()
    """What went with a person's message."""

    @property
    def role(self) -> Role:
        return Role.USER if self.is_user else Role.ANSWER


@dataclass(slots=True, eq=False)
class Entry:
    """A message and its place in the conversation, in pixels; ``view`` only while it is near."""

    message: HistoryMessage
    kept: bool = False
    """It was written in this window and keeps its widget; ``message`` has only its role."""
    view: MessageView | None = None
    top: int = 0
    height: int = 0
    fitted_width: int = -1
    estimated_width: int = -1
    old_look: bool = False
    """The theme has changed since it was drawn."""
    thinking_open: bool = False
    steady: bool = False
    """Its height was that of all its text when everything was placed the last time."""

    @property
    def text(self) -> str:
        """The source of the message as it is now."""
        return self.view.text() if self.kept and self.view else self.message.text

    @property
    def is_settled(self) -> bool:
        """Whether its height is that of all its text now."""
        if self.view is None:
            return False
        body = self.view.body
        return not isinstance(body, MessageBody) or body.is_settled

    def fill(self, view: MessageView) -> None:
        """Write the stored message into a new widget."""
        message = self.message
        if message.is_user:
            view.set_user_text(message.text, message.files)
        else:
            if message.thinking:
                view.set_thinking(message.thinking, message.thinking_seconds, message.thinking_tokens)
                if self.thinking_open and view.thinking:
                    view.thinking.set_open(True)
            view.set_answer(message.text)
        view.set_versions(message.version, message.versions)
        if message.details:
            view.set_details(message.details)
        if message.notice:
            view.set_notice(message.notice, message.notice_action)

    def estimate(self, theme: Theme, width: int) -> None:
        """Guess the height from the length of the text, until it is known."""
        self.estimated_width = width
        metrics = QFontMetricsF(theme.reading_font())
        text = self.message.text
        if self.message.is_user:
            text = text[:COLLAPSED]
        per_line = max(10.0, width / metrics.averageCharWidth())
        lines = text.count("\n") + len(text) / per_line + 1
        extra = 2 if self.message.thinking or self.message.files else 0
        self.height = round(metrics.height() * (1.35 * lines + 2.5 + extra))
