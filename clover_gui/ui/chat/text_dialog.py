"""Shows a text to be read and copied, for example of a file that goes or went with a message.

Must not know: where the text is from.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPushButton, QVBoxLayout, QWidget

from clover_gui.i18n import _, capped
from clover_gui.ui.chat.find_bar import FindBar
from clover_gui.ui.shortcuts import Keys
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.text_reader import TextReader

_TITLE_LIMIT = 80


class TextDialog(QDialog):
    """Opened with ``open()``. Ctrl+F looks for words in the text; Copy takes all of it, to the letter."""

    def __init__(self, title: str, text: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("textDialog")
        name = capped(title, _TITLE_LIMIT)
        self.setWindowTitle(name)
        self.reader = TextReader(text, theme.small_font().pointSizeF())
        self.reader.setAccessibleName(_("Text of {name}").format(name=name))
        self.find_bar = FindBar(theme)
        self.find_bar.field.setPlaceholderText(_("Find in this text"))
        self.find_bar.field.setAccessibleName(_("Find in this text"))
        self.find_bar.find_requested.connect(self._find)
        self.find_bar.closed.connect(self.reader.setFocus)
        QShortcut(QKeySequence(Keys.FIND), self, self.find_bar.open)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.find_button: QPushButton = buttons.addButton(_("Find"), QDialogButtonBox.ButtonRole.ActionRole)
        self.find_button.setToolTip(_("Find in this text (Ctrl+F)"))
        self.find_button.clicked.connect(self.find_bar.open)
        self.copy_button: QPushButton = buttons.addButton(
            _("Copy all"), QDialogButtonBox.ButtonRole.ActionRole
        )
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.reader.text()))
        close_button = buttons.button(QDialogButtonBox.StandardButton.Close)
        for button in (close_button, self.find_button, self.copy_button):
            # Enter in the field goes on to the next place; it shall not press a button as well.
            button.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (self.find_bar, self.reader, buttons):
            layout.addWidget(widget)
        self.resize(theme.space(44), theme.space(34))
        self.reader.setFocus()

    def _find(self, text: str, forward: bool) -> None:
        self.find_bar.show_place(*self.reader.find_text(text, forward))
