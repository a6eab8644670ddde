"""A label that shortens its text with an ellipsis where there is no room for all of it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QStyleOption


class ElidedLabel(QLabel):
    """Asks for the width of its text and makes do with less. Plain text only."""

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        option = QStyleOption()
        option.initFrom(self)
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        role = self.foregroundRole()
        self.style().drawItemText(
            painter, self.rect(), int(self.alignment()), option.palette, self.isEnabled(), text, role
        )
