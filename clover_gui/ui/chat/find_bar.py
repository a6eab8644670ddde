"""The bar for searching in the conversation: a field, how many places there are, back, on and close.

Must not know: what is searched; its owner answers ``find_requested`` with ``show_place``.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QWidget

from clover_gui.i18n import _, number
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import IconButton

LONGEST = 200
"""Characters that can be searched for."""
FIELD_EM = 16


class FindBar(QFrame):
    """Hidden until ``open``. Enter goes on, Shift+Enter back, Escape closes."""

    find_requested = Signal(str, bool)
    """The text, and whether to go on (or back). Comes with every change of the text, too."""
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findBar")
        self._theme = theme
        self.field = QLineEdit()
        self.field.setMaxLength(LONGEST)
        self.field.setMinimumWidth(theme.space(FIELD_EM // 2))
        self.field.setMaximumWidth(theme.space(FIELD_EM))
        self.field.textEdited.connect(lambda: self.look(True))
        self.count = QLabel()
        self.count.setProperty("kind", "muted")
        self.previous_button = IconButton(theme, "chevron-up", "")
        self.previous_button.clicked.connect(lambda: self.look(False))
        self.next_button = IconButton(theme, "chevron-down", "")
        self.next_button.clicked.connect(lambda: self.look(True))
        self.close_button = IconButton(theme, "close", "")
        self.close_button.clicked.connect(self.dismiss)
        row = QHBoxLayout(self)
        gap = theme.space(0.4)
        row.setContentsMargins(gap, gap // 2, gap, gap // 2)
        row.setSpacing(gap)
        row.addStretch(1)
        row.addWidget(self.field, 2)
        row.addWidget(self.count)
        for button in (self.previous_button, self.next_button, self.close_button):
            row.addWidget(button)
        theme.changed.connect(self._restyle)
        self._restyle()
        self.retranslate()
        self._show(0, 0)
        self.hide()

    def open(self) -> None:
        """Show the bar with the text of the last time selected, and look for it."""
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        if self.field.text():
            self.look(True)

    def dismiss(self) -> None:
        """Hide the bar; ``closed`` follows."""
        if not self.isHidden():
            self.hide()
            self.closed.emit()

    def look(self, forward: bool) -> None:
        """Ask for the next place, or the one before."""
        self.find_requested.emit(self.field.text(), forward)

    def show_place(self, index: int, count: int) -> None:
        """Which place is looked at, from 1, and how many there are; (0, 0) for none."""
        self._show(index, count)

    def retranslate(self) -> None:
        """Take the texts of the language in force."""
        self.field.setPlaceholderText(_("Find in this chat"))
        self.field.setAccessibleName(_("Find in this chat"))
        self.previous_button.set_label(_("Previous place (Shift+Enter)"))
        self.next_button.set_label(_("Next place (Enter)"))
        self.close_button.set_label(_("Close (Esc)"))

    def _show(self, index: int, count: int) -> None:
        text = ""
        if count:
            text = _("{index} of {count}").format(index=number(index), count=number(count))
        elif self.field.text():
            text = _("Not found")
        self.count.setText(text)
        self.field.setAccessibleDescription(text)
        for button in (self.previous_button, self.next_button):
            button.setEnabled(count > 0)

    def _restyle(self) -> None:
        for button in (self.previous_button, self.next_button, self.close_button):
            button.restyle()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.field.hasFocus():
            self.look(not event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        else:
            super().keyPressEvent(event)
