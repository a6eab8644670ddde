"""A small curve of the last readings of one value."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

KEPT = 60


class Sparkline(QWidget):
    """Keeps the last 60 values and scales to the largest of them, or to ``top`` where there is one; below the
    curve it is filled faintly, so that it is seen where it is small."""

    def __init__(self, top: float = 0.0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: deque[float] = deque(maxlen=KEPT)
        self._color = QColor(128, 128, 128)
        self._top = top

    def add(self, value: float) -> None:
        """One more reading at the right end."""
        self._values.append(max(0.0, value))
        self.update()

    def clear(self) -> None:
        self._values.clear()
        self.update()

    def set_color(self, color: QColor) -> None:
        self._color = color
        self.update()

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(self._values)

    def sizeHint(self) -> QSize:
        line = self.fontMetrics().height()
        return QSize(line * 3, line * 7 // 10)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        if len(self._values) < 2:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        stroke = max(1.5, self.height() / 8)
        top = self._top or max(self._values) or 1.0
        step = self.width() / (KEPT - 1)
        start = self.width() - step * (len(self._values) - 1)
        height = self.height() - 2 * stroke
        shares = [min(1.0, value / top) for value in self._values]
        points = [QPointF(start + i * step, stroke + height * (1 - share)) for i, share in enumerate(shares)]
        faint = QColor(self._color)
        faint.setAlphaF(0.22)
        area = [QPointF(points[0].x(), self.height()), *points, QPointF(points[-1].x(), self.height())]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(faint)
        painter.drawPolygon(QPolygonF(area))
        pen = QPen(self._color, stroke)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.drawPolyline(QPolygonF(points))
