"""A thin bar of coloured parts with a caption: how much of something is used, and by whom."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True, slots=True)
class Segment:
    """One part; ``share`` is its part of the whole bar, 0..1."""

    share: float
    color: QColor


class SegmentBar(QWidget):
    """Draws its segments from the left; what is left over is the track. No text of its own."""

    def __init__(self, height_tenths: int = 3, parent: QWidget | None = None) -> None:
        """``height_tenths`` is the bar's height in tenths of a line of text."""
        super().__init__(parent)
        self._height_tenths = height_tenths
        self._segments: tuple[Segment, ...] = ()
        self._track = QColor(128, 128, 128, 60)

    def show_segments(self, segments: tuple[Segment, ...], track: QColor) -> None:
        """Replace what is drawn; nothing is repainted when nothing changed."""
        if segments != self._segments or track != self._track:
            self._segments, self._track = segments, track
            self.update()

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self._segments

    def sizeHint(self) -> QSize:
        line = self.fontMetrics().height()
        return QSize(line * 6, max(4, line * self._height_tenths // 10))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.sizeHint().width() // 2, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect())
        clip = QPainterPath()
        clip.addRoundedRect(area, area.height() / 2, area.height() / 2)
        painter.setClipPath(clip)
        painter.fillRect(area, self._track)
        left = area.left()
        for segment in self._segments:
            width = area.width() * min(1.0, max(0.0, segment.share))
            painter.fillRect(QRectF(left, area.top(), width, area.height()), segment.color)
            left += width
