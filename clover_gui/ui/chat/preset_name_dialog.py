"""Asks for the name of a preset. Must not know: what is in presets, where they are kept."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QLineEdit, QVBoxLayout, QWidget

from clover_gui.chat.presets import NAME_LIMIT, clean_name
from clover_gui.i18n import _
from clover_gui.ui.theme import Theme


class PresetNameDialog(QDialog):
    """Opened with ``open()``; ``named`` carries the name.

    ``may_replace``: a name that is there already may be taken, and its button says so.
    """

    named = Signal(str)

    def __init__(
        self,
        title: str,
        name: str,
        is_taken: Callable[[str], bool],
        theme: Theme,
        parent: QWidget | None = None,
        *,
        may_replace: bool,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("presetNameDialog")
        self.setWindowTitle(title)
        self._is_taken = is_taken
        self._may_replace = may_replace
        self.field = QLineEdit(name)
        self.field.setMaxLength(NAME_LIMIT)
        self.field.setAccessibleName(_("Name of the preset"))
        self.field.setMinimumWidth(theme.space(18))
        self.field.selectAll()
        self.field.textChanged.connect(self._check)
        label = QLabel(_("Name of the preset"))
        label.setBuddy(self.field)
        self.note = QLabel()
        self.note.setObjectName("note")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.ok_button = buttons.addButton(_("Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.ok_button.setProperty("kind", "primary")
        self.ok_button.setDefault(True)
        buttons.accepted.connect(self._accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (label, self.field, self.note, buttons):
            layout.addWidget(widget)
        self._check()

    def _check(self) -> None:
        name = clean_name(self.field.text())
        taken = bool(name) and self._is_taken(name)
        self.ok_button.setEnabled(bool(name) and (self._may_replace or not taken))
        self.ok_button.setText(_("Replace") if taken and self._may_replace else _("Save"))
        self.note.setText(_("There is a preset of this name.") if taken else "")
        self.field.setAccessibleDescription(self.note.text())

    def _accept(self) -> None:
        self.named.emit(clean_name(self.field.text()))
        self.accept()
