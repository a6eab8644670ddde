"""The two parts of a block of code: its header, and the text itself.

Must not know: how they are placed, Markdown, messages.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QWidget

from clover_gui.i18n import _
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import CopyButton
from clover_gui.ui.widgets.text_parts import KEYBOARD_REASONS, is_page_key, show_text_menu

_NEVER = Qt.ScrollBarPolicy.ScrollBarAlwaysOff


class CodeHeader(QWidget):
    """Language and copy button. Lies over the code and slides along with what can be seen."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setProperty("kind", "muted")
        self.copy_button = CopyButton(theme, _("Copy code"), self)

    def set_texts(self, language: str) -> None:
        self._label.setText(language)
        self.copy_button.set_label(_("Copy code"))

    def restyle(self) -> None:
        self._label.setFont(self._theme.small_font())
        self.copy_button.restyle()
        self.update()

    def fit(self, width: int) -> int:
        button = self.copy_button.sizeHint()
        height = button.height() + 2
        margin = self._theme.space(0.6)
        self.resize(width, height)
        self.copy_button.setGeometry(width - button.width() - 2, 1, button.width(), button.height())
        self._label.setGeometry(margin, 0, max(0, width - button.width() - 2 * margin), height)
        return height

    def set_place(self, top: int) -> None:
        self.move(0, top)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colors = self._theme.colors
        radius = self._theme.space(0.4)
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.setBrush(QColor(colors.code_header))
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, radius, radius)
        # The lower corners are square: the code goes on below.
        painter.drawRect(QRectF(box.left(), box.center().y(), box.width(), box.height() / 2))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRect(
            QRectF(box.left() + 0.5, box.center().y() - 1, box.width() - 1, box.height() / 2 + 0.5)
        )
        painter.end()


class CodeText(QPlainTextEdit):
    """The code: read only, never wrapped, scrolled sideways only."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.ring = False
        """Whether the block around it shall show that it has the keyboard."""
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(_NEVER)
        self.setHorizontalScrollBarPolicy(_NEVER)
        # The block around it draws the background, with round corners.
        self.viewport().setAutoFillBackground(False)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._set_ring(event.reason() in KEYBOARD_REASONS)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._set_ring(False)

    def _set_ring(self, ring: bool) -> None:
        self.ring = ring
        if block := self.parentWidget():
            block.update()

    def selected_text(self) -> str:
        """The selected lines."""
        return self.textCursor().selectedText().replace("\u2029", "\n")

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.selected_text())
        return data

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if abs(delta.x()) > abs(delta.y()) and self.horizontalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_page_key(event):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        show_text_menu(self, event.globalPos())
