"""The settings that matter now: language, look, context, graphics memory to keep free, where things lie."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from clover_gui.i18n import _, number, size
from clover_gui.settings import Settings

CONTEXT_CHOICES = (0, 4096, 8192, 16384, 32768, 65536, 131072, 262144)

RESERVE_CHOICES_MB = (-1, 0, 256, 512, 1024, 1536, 2048, 4096)


class SettingsDialog(QDialog):
    """Opened with ``open()``; ``saved`` carries the new settings when the person agrees."""

    saved = Signal(object)

    def __init__(self, settings: Settings, data_folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(_("Settings"))
        self._settings = settings
        self.language = _choice(
            (("", _("Same as the system")), ("en", "English"), ("de", "Deutsch")),
            settings.language,
            _("Language"),
        )
        self.theme = _choice(
            (("system", _("Same as the system")), ("light", _("Light")), ("dark", _("Dark"))),
            settings.theme,
            _("Appearance"),
        )
        self.context = _choice(
            tuple(
                (n, _("{count} tokens").format(count=number(n)) if n else _("Automatic"))
                for n in CONTEXT_CHOICES
            ),
            settings.context,
            _("Context"),
        )
        self.kv_type = _choice(
            (
                ("", _("Automatic")),
                ("f16", _("Full precision (F16)")),
                ("q8_0", _("Half the memory (Q8_0)")),
                ("q4_0", _("A quarter of the memory (Q4_0)")),
            ),
            settings.kv_type,
            _("Context memory"),
        )
        self.reserve = _choice(
            tuple((mb, size(mb << 20) if mb >= 0 else _("Automatic")) for mb in RESERVE_CHOICES_MB),
            settings.reserve_mb,
            _("Graphics memory to keep free"),
        )
        form = QFormLayout()
        form.addRow(_("Language"), self.language)
        form.addRow(_("Appearance"), self.theme)
        form.addRow(_("Context"), self.context)
        form.addRow(_("Context memory"), self.kv_type)
        form.addRow(_("Graphics memory to keep free"), self.reserve)
        self.models_folder = _line(settings.models_folder, _("the usual folder"), _("Folder for models"))
        self.hub_endpoint = _line(settings.hub_endpoint, _("the usual hub"), _("Address to download from"))
        self.proxy = _line(settings.proxy, _("the system's"), _("Proxy"))
        form.addRow(_("Folder for models"), self._with_chooser())
        form.addRow(_("Address to download from"), self.hub_endpoint)
        form.addRow(_("Proxy"), self.proxy)
        note = QLabel(_("Context and memory take effect the next time a model is loaded."))
        note.setObjectName("note")
        note.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.save_button = buttons.addButton(_("Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.save_button.setProperty("kind", "primary")
        buttons.accepted.connect(self._accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(note)
        layout.addLayout(_folder_row(data_folder))
        layout.addWidget(buttons)

    def _with_chooser(self) -> QHBoxLayout:
        button = QPushButton(_("Choose…"))
        button.clicked.connect(self._choose_folder)
        row = QHBoxLayout()
        row.addWidget(self.models_folder, 1)
        row.addWidget(button)
        return row

    def _choose_folder(self) -> None:
        dialog = QFileDialog(self, _("Folder for models"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.models_folder.setText)
        dialog.open()

    def _accept(self) -> None:
        self.saved.emit(
            dataclasses.replace(
                self._settings,
                language=self.language.currentData(),
                theme=self.theme.currentData(),
                context=self.context.currentData(),
                kv_type=self.kv_type.currentData(),
                reserve_mb=self.reserve.currentData(),
                models_folder=_folder(self.models_folder.text()),
                hub_endpoint=self.hub_endpoint.text().strip(),
                proxy=self.proxy.text().strip(),
            )
        )
        self.accept()


def _choice(choices: tuple[tuple[str | int, str], ...], current: str | int, name: str) -> QComboBox:
    box = QComboBox()
    for value, text in choices:
        box.addItem(text, value)
    if box.findData(current) < 0:
        box.addItem(str(current), current)
    box.setCurrentIndex(box.findData(current))
    box.setAccessibleName(name)
    return box


def _folder(text: str) -> str:
    """A whole path, whatever short form was written; "" stays the usual folder."""
    return str(Path(text.strip()).expanduser().absolute()) if text.strip() else ""


def _line(text: str, placeholder: str, name: str) -> QLineEdit:
    field = QLineEdit(text)
    field.setPlaceholderText(placeholder)
    field.setAccessibleName(name)
    return field


def _folder_row(folder: Path) -> QHBoxLayout:
    text = QLabel(_("Chats and settings are kept in {folder}").format(folder=folder))
    text.setTextFormat(Qt.TextFormat.PlainText)
    text.setWordWrap(True)
    text.setObjectName("note")
    button = QPushButton(_("Open the folder"))
    button.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))))
    row = QHBoxLayout()
    row.addWidget(text, 1)
    row.addWidget(button)
    return row
