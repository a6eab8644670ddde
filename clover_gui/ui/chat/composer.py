"""Where the person writes: text field, files, thinking switch, and one button that sends or stops."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from clover_gui.i18n import _
from clover_gui.ui.announce import announce
from clover_gui.ui.chat.attachment_chips import AttachmentChips
from clover_gui.ui.chat.message_edit import MessageEdit, local_paths
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import IconButton


class Composer(QFrame):
    """The text field and its buttons. Knows states only as "may send" and "is answering"."""

    send_requested = Signal(str)
    stop_requested = Signal()
    thinking_changed = Signal(bool)
    text_changed = Signal()
    attach_requested = Signal()
    options_requested = Signal()
    files_given = Signal(list)
    long_text_given = Signal(str)
    recall_requested = Signal()
    edit_cancelled = Signal()
    answering_changed = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.setAcceptDrops(True)
        self.edit = MessageEdit()
        self.chips = AttachmentChips(theme)
        self.editing_label = QLabel()
        self.editing_label.setObjectName("note")
        self.editing_label.setWordWrap(True)
        self.waiting_label = QLabel()
        self.waiting_label.setObjectName("note")
        self.waiting_label.setWordWrap(True)
        self.cancel_edit_button = QPushButton()
        self.cancel_edit_button.setProperty("kind", "quiet")
        self.attach_button = IconButton(theme, "attach", "")
        self.options_button = IconButton(theme, "tune", "")
        self.thinking_button = QPushButton()
        self.thinking_button.setObjectName("thinkingSwitch")
        self.thinking_button.setCheckable(True)
        self.send_button = QPushButton()
        self.send_button.setObjectName("sendButton")
        self.send_button.setProperty("kind", "primary")
        self._theme = theme
        self._answering = False
        self._ready = False
        self._editing = False
        self._may_be_empty = False
        self._reading = False
        """Files are on their way into the message ..."""
        self._waiting = False
        """... which is to be sent as soon as they are there."""
        self._asking = False
        self._options_set = False
        self._thinking_reason = ""
        self._connect()
        self._place()
        theme.changed.connect(self._restyle)
        self.setFocusProxy(self.edit)
        self.retranslate()

    def _connect(self) -> None:
        self.edit.submitted.connect(self._submit)
        self.edit.textChanged.connect(self._text_changed)
        self.edit.files_given.connect(self.files_given)
        self.edit.long_text_given.connect(self.long_text_given)
        self.edit.recall_requested.connect(self.recall_requested)
        self.send_button.clicked.connect(self._button)
        self.thinking_button.clicked.connect(self._thinking_clicked)
        self.attach_button.clicked.connect(self.attach_requested)
        self.options_button.clicked.connect(self.options_requested)
        self.cancel_edit_button.clicked.connect(self.edit_cancelled)

    def _place(self) -> None:
        above = QHBoxLayout()
        above.addWidget(self.editing_label, 1)
        above.addWidget(self.cancel_edit_button)
        below = QHBoxLayout()
        below.addWidget(self.attach_button)
        below.addWidget(self.thinking_button)
        below.addWidget(self.options_button)
        below.addStretch(1)
        below.addWidget(self.send_button)
        layout = QVBoxLayout(self)
        layout.addLayout(above)
        layout.addWidget(self.chips)
        layout.addWidget(self.waiting_label)
        layout.addWidget(self.edit)
        layout.addLayout(below)

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
        changed = answering != self._answering
        self._ready, self._answering = ready, answering
        self._refresh()
        if changed:
            self.answering_changed.emit(answering)

    @property
    def is_answering(self) -> bool:
        return self._answering

    def set_editing(self, editing: bool) -> None:
        """Whether the text is another version of a message instead of a new one."""
        self._editing = editing
        self._refresh()

    def set_may_be_empty(self, possible: bool) -> None:
        """Whether a message without words may be sent, since files go with it."""
        self._may_be_empty = possible
        self._refresh()

    def set_asking(self, asking: bool) -> None:
        """Whether the person is asked something about the message: nothing runs that could be stopped."""
        self._asking = asking
        self._refresh()

    def set_reading(self, reading: bool) -> None:
        """Whether files are being read. A message that waited for them is sent when they are there."""
        self._reading = reading
        waited = self._waiting and not reading
        if waited:
            self.stop_waiting()
            self._submit()
        else:
            self._refresh()

    def stop_waiting(self) -> None:
        """Do not send the message that waits for its files; it stays in the field."""
        if self._waiting:
            self._wait(False)

    @property
    def is_waiting(self) -> bool:
        """Whether a message is sent as soon as its files are read."""
        return self._waiting

    def set_options_set(self, some: bool) -> None:
        """Whether this chat has settings of its own; the button shows it."""
        self._options_set = some
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
        self.attach_button.setAccessibleName(_("Attach files"))
        self.waiting_label.setText(_("The message is sent as soon as its files are read."))
        self.editing_label.setText(_("You are changing an earlier message. The former version is kept."))
        self.cancel_edit_button.setText(_("Cancel"))
        self.cancel_edit_button.setToolTip(_("Leave the message as it was (Esc)"))
        self._refresh()

    def _submit(self) -> None:
        text = self.text()
        if self._answering or self._waiting or not self._can_send:
            return
        if self._reading and not self._editing:
            self._wait(True)
            return
        self.edit.clear()
        self.send_requested.emit(text)

    def _wait(self, waiting: bool) -> None:
        self._waiting = waiting
        self.edit.setReadOnly(waiting)
        self._refresh()
        if waiting:
            announce(self, self.waiting_label.text())

    @property
    def _can_send(self) -> bool:
        return self._ready and (bool(self.text().strip()) or self._may_be_empty)

    def _button(self) -> None:
        if self._answering:
            self.stop_requested.emit()
        elif self._waiting:
            self.stop_waiting()
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
            or _("The model thinks before it answers: better for hard questions, but slower. (Ctrl+T)")
        )
        if self._waiting:
            self.send_button.setText(_("Stop"))
            self.send_button.setToolTip(_("Do not send the message yet (Esc)"))
            self.send_button.setEnabled(True)
        elif self._answering and not self._asking:
            self.send_button.setText(_("Stop"))
            self.send_button.setToolTip(_("Stop the answer (Esc)"))
            self.send_button.setEnabled(True)
        else:
            self.send_button.setText(_("Send"))
            self.send_button.setToolTip(_("Send (Enter); Shift+Enter begins a new line"))
            self.send_button.setEnabled(self._can_send and not self._asking)
        self.send_button.setAccessibleName(self.send_button.text())
        self.editing_label.setVisible(self._editing)
        self.cancel_edit_button.setVisible(self._editing)
        self.waiting_label.setVisible(self._waiting)
        # It stays where it is, so that the buttons beside it do, too.
        self.attach_button.setEnabled(not self._editing)
        self.attach_button.setToolTip(
            _("The files of a message that was sent stay as they are.")
            if self._editing
            else _("Attach text, code, tables or PDF files (Ctrl+Shift+A)")
        )
        note = _("changed from the model's defaults") if self._options_set else ""
        name = _("Instructions and settings of this chat")
        self.options_button.setAccessibleName(f"{name}, {note}" if note else name)
        self.options_button.setToolTip(
            "\n".join(filter(None, (_("Instructions and settings of this chat (Ctrl+I)"), note)))
        )
        self._restyle()

    def _restyle(self) -> None:
        self.attach_button.restyle()
        self.options_button.restyle()
        if self._options_set:
            self.options_button.setIcon(self._theme.icon("tune", self._theme.colors.accent))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The frame looks like one big field, so all of it leads into the field."""
        self.edit.setFocus(Qt.FocusReason.MouseFocusReason)
        super().mousePressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if local_paths(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if paths := local_paths(event.mimeData()):
            event.acceptProposedAction()
            self.files_given.emit(paths)
