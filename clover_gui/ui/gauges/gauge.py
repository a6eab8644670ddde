"""One gauge of the strip: a caption, a value, and below them a bar or a curve. Reachable by keyboard."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from clover_gui.ui.widgets.elided_label import ElidedLabel

GRAPHIC_LINES_TENTHS = 7
"""Bars and curves take the same height, so that the captions stand in one line."""


class Gauge(QWidget):
    """Caption on the left, value on the right, ``graphic`` below.

    The whole gauge is one focusable control, so that its details (the tool tip) can be read by
    keyboard and by a screen reader; the labels inside are not. ``activated`` comes from a click, Enter or
    the space bar, where ``make_active`` was called.
    """

    activated = Signal()

    def __init__(self, graphic: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("gauge")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)  # for the ring of the focus
        self._active = False
        self._value = self._short = ""
        self.caption_label = ElidedLabel()
        self.caption_label.setObjectName("gaugeCaption")
        self.value_label = ElidedLabel()
        self.value_label.setObjectName("gaugeValue")
        self.value_label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        graphic.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        layout = QGridLayout(self)
        gap = self.fontMetrics().height() // 4
        layout.setContentsMargins(gap, gap, gap, gap)
        layout.setVerticalSpacing(gap)
        layout.addWidget(self.caption_label, 0, 0)
        layout.addWidget(self.value_label, 0, 1)
        layout.addWidget(graphic, 1, 0, 1, 2)
        layout.setColumnStretch(1, 1)
        layout.setRowStretch(2, 1)
        layout.setRowMinimumHeight(1, GRAPHIC_LINES_TENTHS * self.fontMetrics().height() // 10)

    def make_active(self) -> None:
        """Let it be pressed like a button; the details should then say what for."""
        self._active = True
        self.setProperty("active", True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus | Qt.FocusPolicy.ClickFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        inside = self.rect().contains(event.position().toPoint())
        if self._active and inside and event.button() == Qt.MouseButton.LeftButton:
            self.activated.emit()
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._active and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.activated.emit()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """The value gives way before the caption does: its short form, where there is one."""
        metrics = self.value_label.fontMetrics()
        needed = self.caption_label.sizeHint().width() + metrics.horizontalAdvance(self._value)
        gaps = metrics.height()
        narrow = self.isVisible() and needed + gaps > self.width()
        value = self._short if narrow and self._short else self._value
        if self.value_label.text() != value:
            self.value_label.setText(value)

    def show_text(self, caption: str, value: str, details: str, short: str = "") -> None:
        """Set all texts; ``details`` is what hovering or a screen reader tells, ``short`` the value where the
        window is narrow."""
        if self.caption_label.text() != caption:
            self.caption_label.setText(caption)
        self._value, self._short = value, short
        self._fit()
        if self.toolTip() != details:
            self.setToolTip(details)
            self.setAccessibleDescription(details)
        self.setAccessibleName(f"{caption}: {value}" if value else caption)
