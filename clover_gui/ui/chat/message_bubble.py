"""The rounded shape behind what a person wrote."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.plain_body import PlainBody

WIDEST = 0.85
"""It takes at most this part of the width."""


class MessageBubble(QWidget):
    """Placed at the right, around a text that is a sibling of it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._marked = False
        self.lower()

    def set_marked(self, marked: bool) -> None:
        """Draw a border around it."""
        if marked != self._marked:
            self._marked = marked
            self.update()

    def fit(self, body: PlainBody, width: int, top: int = 0) -> None:
        """Lay the text out, place it and the shape around it at the right of ``width``, below ``top``."""
        across, down = self._theme.space(0.9), self._theme.space(0.6)
        widest = max(1, int(width * WIDEST) - 2 * across)
        text_width = body.ideal_width(widest)
        text_height = body.fit(text_width)
        left = width - text_width - 2 * across
        self.setGeometry(left, top, text_width + 2 * across, text_height + 2 * down)
        # The room between lines is below each line: the last one's would make the bubble look uneven.
        body.move(left + across, top + down + self._theme.space(0.15))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.colors.accent), 2) if self._marked else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.colors.raised))
        radius = self._theme.space(0.9)
        area = self.rect().adjusted(1, 1, -1, -1) if self._marked else self.rect()
        painter.drawRoundedRect(area, radius, radius)
        painter.end()
