"""Below an answer: a quiet line of details at the left, the small buttons at the right.

Must not know: what the details mean, what the buttons lead to.
"""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from clover_gui.ui.chat.message_actions import MessageActions
from clover_gui.ui.chat.notice_row import WrappedLabel
from clover_gui.ui.theme import Theme


class MessageFooter:
    """Places its two parts inside ``parent``."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self._theme = theme
        self._details = WrappedLabel("muted", parent)
        self._details.hide()
        self.actions = MessageActions(theme, parent)

    def set_details(self, text: str) -> None:
        """The line at the left; "" for none."""
        self._details.setText(text)

    def fit(self, width: int, top: int) -> int:
        """Place both below ``top``, and return the lower edge."""
        gap = self._theme.space(0.4)
        actions = self.actions.fit()
        details = self._details.text()
        label_height = self._details.fit(max(1, width - actions.width() - gap)) if details else 0
        y, row = top + gap, max(actions.height(), label_height)
        self._details.setVisible(bool(details))
        self._details.move(0, y + (row - label_height) // 2)
        self.actions.move(width - actions.width(), y + (row - actions.height()) // 2)
        return y + row

    def fit_beside(self, left: int, width: int, bottom: int) -> int:
        """Place the buttons left of ``left`` and above ``bottom``, or below where there is no room.

        Returns the lower edge of all.
        """
        size = self.actions.fit()
        if size.width() <= left:
            self.actions.move(left - size.width(), bottom - size.height())
            return bottom
        self.actions.move(max(0, width - size.width()), bottom)
        return bottom + size.height()

    def restyle(self) -> None:
        self._details.setFont(self._theme.small_font())
        self.actions.restyle()

    def retranslate(self) -> None:
        self.actions.retranslate()
