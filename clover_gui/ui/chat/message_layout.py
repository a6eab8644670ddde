"""Where the parts of one message stand, and how high it becomes. Must not know what is in the parts."""

from __future__ import annotations

from dataclasses import dataclass

from clover_gui.ui.chat.attachment_chips import AttachmentChips
from clover_gui.ui.chat.message_bubble import WIDEST, MessageBubble
from clover_gui.ui.chat.message_footer import MessageFooter
from clover_gui.ui.chat.notice_row import NoticeRow
from clover_gui.ui.chat.thinking_view import ThinkingView
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.plain_body import PlainBody


@dataclass(frozen=True, slots=True)
class QuestionParts:
    """What a person's message is made of; ``files`` and ``notice`` None: it has none."""

    body: PlainBody
    bubble: MessageBubble
    files: AttachmentChips | None
    footer: MessageFooter
    notice: NoticeRow | None


@dataclass(frozen=True, slots=True)
class AnswerParts:
    """What an answer is made of; ``thinking`` and ``notice`` None: it has none."""

    body: MessageBody
    thinking: ThinkingView | None
    footer: MessageFooter
    notice: NoticeRow | None


def lay_out_question(parts: QuestionParts, theme: Theme, width: int) -> int:
    """On the right: files, the bubble with its buttons beside it, the notice. The height, in pixels."""
    top = 0
    if parts.files is not None:
        top = parts.files.fit(width, 0, int(width * WIDEST))
    if not parts.bubble.isHidden():
        parts.bubble.fit(parts.body, width, top + theme.space(0.3) if top else 0)
        bottom, left = parts.bubble.geometry().bottom() + 1, parts.bubble.x()
    else:
        bottom, left = top, parts.files.x() if parts.files is not None else width
    bottom = parts.footer.fit_beside(left - theme.space(0.2), width, bottom)
    if parts.notice and parts.notice.label.text():
        parts.notice.move(0, bottom)
        bottom += parts.notice.fit(width)
    return bottom


def lay_out_answer(parts: AnswerParts, theme: Theme, width: int) -> int:
    """Over the whole width: thinking, the text, the notice, details and buttons. The height, in pixels."""
    gap = theme.space(0.6)
    y = 0
    if parts.thinking:
        # The header's text lines up with the answer's.
        inset = theme.space(0.8)
        parts.thinking.move(-inset, y)
        y += parts.thinking.fit(width + inset) + (2 * gap if parts.thinking.is_open else gap)
        parts.thinking.show()
    parts.body.move(0, y)
    y += parts.body.fit(width)
    if parts.notice:
        shown = bool(parts.notice.label.text())
        parts.notice.setVisible(shown)
        if shown:
            y += gap if y else 0
            parts.notice.move(0, y)
            y += parts.notice.fit(width)
    return parts.footer.fit(width, y)
