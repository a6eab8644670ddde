"""A quiet stack above a page: the newest notice on top, a few at most; errors stay, information passes."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from clover_gui.ui.announce import announce
from clover_gui.ui.widgets.notice import Notice, NoticeKind

__all__ = ["MOST", "NoticeBar", "NoticeKind"]

MOST = 3
"""So many notices are shown; a new one takes the place of the oldest information, or else of the oldest."""


class NoticeBar(QWidget):
    """Hidden while there is nothing to say. ``action_triggered`` carries the key of an action; its notice is
    gone then. ``closed``: the last notice is gone."""

    action_triggered = Signal(str)
    closed = Signal()
    focus_freed = Signal()
    """What had the keyboard has gone with its notice, and no other notice has it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.notices: list[Notice] = []
        """The newest first."""
        self._nothing = Notice(self)
        self._nothing.hide()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(1)
        super().hide()

    def show_notice(
        self,
        text: str,
        kind: NoticeKind = NoticeKind.INFO,
        action: tuple[str, str] | None = None,
        *,
        about: str = "",
        lasting: bool = False,
        of_chat: bool = False,
    ) -> None:
        """Say something. ``action`` is (key, text of the button).

        A notice with the same text, or of the same matter (``about``), is replaced. Information ends by
        itself after the time to read it, unless it is ``lasting``. What is ``of_chat`` concerns only what is
        on the page now, and goes with it (``leave_chat``).
        """
        same = [n for n in self.notices if (about and n.about == about) or n.text == text]
        is_news = not same or same[0].kind is not kind
        notice = same[0] if same else Notice(self)
        for other in same[1:]:
            self._remove(other)
        notice.about = about
        notice.of_chat = of_chat
        notice.write(text, kind, action, lasting=lasting)
        if not same:
            notice.acted.connect(lambda key: self._act(notice, key))
            notice.closed.connect(lambda: self._close(notice))
            self.notices.insert(0, notice)
            self._layout.insertWidget(0, notice)
            notice.show()
            self._make_room()
        elif is_news and self.notices[0] is not notice:
            self.notices.remove(notice)
            self.notices.insert(0, notice)
            self._layout.insertWidget(0, notice)
        self.show()
        if is_news:
            announce(self, text)

    def withdraw(self, about: str) -> None:
        """What was said of this matter is over."""
        for notice in [n for n in self.notices if n.about == about]:
            self._remove(notice)
        self._show_or_hide()

    def leave_chat(self) -> None:
        """Another chat stands on the page: what was said of the former one is over."""
        for notice in [n for n in self.notices if n.of_chat]:
            self._remove(notice)
        self._show_or_hide()

    def says(self, about: str) -> bool:
        """Whether there is a notice of this matter."""
        return any(notice.about == about for notice in self.notices)

    def hide(self) -> None:
        """All that was said is over."""
        for notice in list(self.notices):
            self._remove(notice)
        self._show_or_hide()

    def dismiss(self) -> None:
        """Close the newest notice."""
        if self.notices:
            self._close(self.notices[0])

    # The newest one

    @property
    def label(self) -> QLabel:
        return self._newest.label

    @property
    def action_button(self) -> QPushButton:
        return self._newest.action_button

    @property
    def close_button(self) -> QToolButton:
        return self._newest.close_button

    @property
    def _newest(self) -> Notice:
        return self.notices[0] if self.notices else self._nothing

    # Inside

    def _act(self, notice: Notice, key: str) -> None:
        had_focus = notice.action_button.hasFocus()
        self._remove(notice)
        self._show_or_hide()
        if had_focus:
            self.focus_freed.emit()
        self.action_triggered.emit(key)

    def _close(self, notice: Notice) -> None:
        had_focus = notice.close_button.hasFocus()
        self._remove(notice)
        if had_focus and self.notices:
            self.notices[0].close_button.setFocus()
        self._show_or_hide()
        if had_focus and not self.notices:
            self.focus_freed.emit()

    def _make_room(self) -> None:
        while len(self.notices) > MOST:
            older = self.notices[1:]
            informing = [n for n in older if n.kind is NoticeKind.INFO]
            self._remove((informing or older)[-1])

    def _remove(self, notice: Notice) -> None:
        if notice in self.notices:
            self.notices.remove(notice)
            self._layout.removeWidget(notice)
            notice.hide()
            notice.deleteLater()

    def _show_or_hide(self) -> None:
        if not self.notices and not self.isHidden():
            super().hide()
            self.closed.emit()
