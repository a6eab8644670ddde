"""The report for a problem, seen by the person before it is saved. Must not know: how it is made."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from clover_gui.i18n import _, capped
from clover_gui.ui.theme import Theme


class DiagnosticsDialog(QDialog):
    """Opened with ``open()``; ``show_text`` when the report is ready."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("diagnosticsDialog")
        self.setWindowTitle(_("Report for a problem"))
        note = QLabel(
            _(
                "This is the whole report: machine, engine, model, plan, settings and the last log lines."
                " Nothing of your chats is in it, and it goes nowhere by itself."
                " Save or copy it, and send it to whom you like."
            )
        )
        note.setWordWrap(True)
        self.text = QPlainTextEdit(_("The machine is being looked at…"))
        self.text.setProperty("kind", "field")
        self.text.setReadOnly(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(_("Report"))
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setPointSizeF(theme.small_font().pointSizeF())
        self.text.setFont(font)
        self.status = QLabel()
        self.status.setObjectName("note")
        self.status.setWordWrap(True)
        self.status.hide()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.save_button = buttons.addButton(_("Save…"), QDialogButtonBox.ButtonRole.ActionRole)
        self.copy_button = buttons.addButton(_("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        self.save_button.setEnabled(False)
        self.copy_button.setEnabled(False)
        self.save_button.clicked.connect(self._choose_file)
        self.copy_button.clicked.connect(self._copy)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (note, self.text, self.status, buttons):
            layout.addWidget(widget)
        self.resize(theme.space(48), theme.space(36))

    def show_text(self, text: str) -> None:
        """The report is ready."""
        self.text.setPlainText(text)
        self.save_button.setEnabled(True)
        self.copy_button.setEnabled(True)

    def write(self, path: Path) -> None:
        """Write the report to this file and say how that went."""
        try:
            path.write_text(self.text.toPlainText(), encoding="utf-8")
        except OSError as error:
            self._say(
                _("{file} could not be written: {reason}").format(
                    file=capped(path.name), reason=error.strerror or str(error)
                )
            )
        else:
            self._say(_("Written to {file}").format(file=capped(str(path), 160)))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        self._say(_("Copied"))

    def _choose_file(self) -> None:
        chooser = QFileDialog(self, _("Save the report"))
        chooser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        chooser.setDefaultSuffix("txt")
        chooser.setDirectory(str(Path.home()))
        chooser.selectFile(time.strftime("clover-gui-report-%Y-%m-%d.txt"))
        chooser.fileSelected.connect(lambda name: self.write(Path(name)))
        chooser.open()

    def _say(self, text: str) -> None:
        self.status.setText(text)
        self.status.show()
