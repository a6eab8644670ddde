"""The text field for a message, and what is pasted or dropped into it. Knows nothing of sending."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from clover_gui.chat.attachments import PASTE_LIMIT

MAX_LINES = 10


def local_paths(data: QMimeData) -> list[Path]:
    """The files of this machine in what was dropped or pasted."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


class MessageEdit(QPlainTextEdit):
    """Grows with its text up to ten lines. Enter sends, Shift+Enter breaks the line.

    While an input method composes (Japanese, Chinese, dead keys), Enter belongs to it. Files and long texts
    that are pasted or dropped are handed on instead of being written into the field.
    """

    submitted = Signal()
    recall_requested = Signal()
    """Arrow up in the empty field."""
    files_given = Signal(list)
    long_text_given = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("messageEdit")
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self._composing = False
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._fit())
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        broken = event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier)
        if enter and not broken and not self._composing:
            self.submitted.emit()
            return
        if event.key() == Qt.Key.Key_Up and not self.toPlainText() and not self._composing:
            self.recall_requested.emit()
            return
        super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(local_paths(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if paths := local_paths(source):
            self.files_given.emit(paths)
        elif len(text := source.text()) > PASTE_LIMIT:
            self.long_text_given.emit(text)
        else:
            super().insertFromMimeData(source)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        line = self.fontMetrics().lineSpacing()
        lines = min(MAX_LINES, max(1, int(self.document().size().height())))
        margins = self.contentsMargins()
        height = (
            lines * line + int(2 * self.document().documentMargin()) + margins.top() + margins.bottom() + 4
        )
        if height != self.height():
            self.setFixedHeight(height)
