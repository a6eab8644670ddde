"""Where the person writes: text field, thinking switch, and one button that sends or stops."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from clover_gui.i18n import _

MAX_LINES = 10


class MessageEdit(QPlainTextEdit):
    """Grows with its text up to ten lines. Enter sends, Shift+Enter breaks the line.

    While an input method composes (Japanese, Chinese, dead keys), Enter belongs to it.
    """

    submitted = Signal()

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
        super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

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


class Composer(QFrame):
    """The text field and its buttons. Knows states only as "may send" and "is answering"."""

    send_requested = Signal(str)
    stop_requested = Signal()
    thinking_changed = Signal(bool)
    text_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.edit = MessageEdit()
        self.thinking_button = QPushButton()
        self.thinking_button.setObjectName("thinkingSwitch")
        self.thinking_button.setCheckable(True)
        self.send_button = QPushButton()
        self.send_button.setObjectName("sendButton")
        self.send_button.setProperty("kind", "primary")
        self._answering = False
        self._ready = False
        self._thinking_reason = ""
        self.edit.submitted.connect(self._submit)
        self.edit.textChanged.connect(self._text_changed)
        self.send_button.clicked.connect(self._button)
        self.thinking_button.clicked.connect(self._thinking_clicked)
        below = QHBoxLayout()
        below.addWidget(self.thinking_button)
        below.addStretch(1)
        below.addWidget(self.send_button)
        layout = QVBoxLayout(self)
        layout.addWidget(self.edit)
        layout.addLayout(below)
        self.setFocusProxy(self.edit)
        self.retranslate()

    def text(self) -> str:
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Replace what stands in the field (a draft, or a message that could not be sent)."""
        self.edit.setPlainText(text)
        cursor = self.edit.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.edit.setTextCursor(cursor)

    def set_state(self, *, ready: bool, answering: bool) -> None:
        """``ready``: a model is loaded. ``answering``: the button stops instead of sending."""
        self._ready, self._answering = ready, answering
        self._refresh()

    def set_thinking(self, on: bool, reason_if_disabled: str = "") -> None:
        """The switch's position; with a reason it cannot be used and the reason is its tool tip."""
        self.thinking_button.setEnabled(not reason_if_disabled)
        self.thinking_button.setChecked(on and not reason_if_disabled)
        self._thinking_reason = reason_if_disabled
        self._refresh()

    @property
    def thinking(self) -> bool | None:
        """The person's choice, or None where the model has no such switch."""
        return self.thinking_button.isChecked() if self.thinking_button.isEnabled() else None

    def retranslate(self) -> None:
        """Write all texts again in the language in force."""
        self.edit.setPlaceholderText(_("Ask something…"))
        self.edit.setAccessibleName(_("Your message"))
        self._refresh()

    def _submit(self) -> None:
        if self._answering or not self._ready or not self.text().strip():
            return
        text = self.text()
        self.edit.clear()
        self.send_requested.emit(text)

    def _button(self) -> None:
        if self._answering:
            self.stop_requested.emit()
        else:
            self._submit()

    def _thinking_clicked(self, checked: bool) -> None:
        self._refresh()
        self.thinking_changed.emit(checked)

    def _text_changed(self) -> None:
        self._refresh()
        self.text_changed.emit()

    def _refresh(self) -> None:
        on = self.thinking_button.isChecked()
        self.thinking_button.setText(_("Thinking: on") if on else _("Thinking: off"))
        self.thinking_button.setAccessibleName(_("Thinking before the answer"))
        self.thinking_button.setToolTip(
            self._thinking_reason
            or _("The model thinks before it answers: better for hard questions, but slower.")
        )
        if self._answering:
            self.send_button.setText(_("Stop"))
            self.send_button.setToolTip(_("Stop the answer (Esc)"))
            self.send_button.setEnabled(True)
        else:
            self.send_button.setText(_("Send"))
            self.send_button.setToolTip(_("Send (Enter); Shift+Enter begins a new line"))
            self.send_button.setEnabled(self._ready and bool(self.text().strip()))
        self.send_button.setAccessibleName(self.send_button.text())
