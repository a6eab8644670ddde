"""A dialog that shows pairs of words in groups: the help sheet of all keys, the details of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from clover_gui.chat.message import Message
from clover_gui.i18n import _
from clover_gui.ui.chat.details import detail_groups
from clover_gui.ui.shortcuts import key_help
from clover_gui.ui.theme import Theme

Group = tuple[str, Sequence[tuple[str, str]]]


class TableDialog(QDialog):
    """``groups``: a title and its rows, each a name and a value. The text can be selected and copied."""

    def __init__(
        self, title: str, groups: Sequence[Group], theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self._groups = groups
        content = QWidget()
        content.setObjectName("dialogContent")
        grid = QGridLayout(content)
        grid.setHorizontalSpacing(theme.space(1.2))
        grid.setVerticalSpacing(theme.space(0.35))
        grid.setColumnStretch(1, 1)
        grid.setColumnMinimumWidth(1, theme.space(22))
        row = 0
        for heading, pairs in groups:
            label = QLabel(heading)
            label.setObjectName("cardTitle")
            if row:
                label.setContentsMargins(0, theme.space(0.8), 0, 0)
            grid.addWidget(label, row, 0, 1, 2)
            row += 1
            for name, value in pairs:
                grid.addWidget(_cell(name, muted=True), row, 0, Qt.AlignmentFlag.AlignTop)
                cell = _cell(value)
                cell.setAccessibleName(f"{name}: {value}")
                grid.addWidget(cell, row, 1)
                row += 1
        grid.setRowStretch(row, 1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(content)
        area.setAccessibleName(title)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.copy_button: QPushButton = buttons.addButton(_("Copy"), QDialogButtonBox.ButtonRole.ActionRole)
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text()))
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(area)
        layout.addWidget(buttons)
        wanted = content.sizeHint()
        self.resize(
            min(theme.space(48), wanted.width() + theme.space(4)),
            min(theme.space(34), wanted.height() + theme.space(6)),
        )

    def text(self) -> str:
        """Everything as plain text."""
        lines = []
        for heading, pairs in self._groups:
            lines += [heading, *(f"  {name}: {value}" for name, value in pairs)]
        return "\n".join(lines)


def help_sheet(theme: Theme, parent: QWidget | None = None) -> TableDialog:
    """All keys of the window."""
    groups = [(title, [(entry.keys, entry.text) for entry in entries]) for title, entries in key_help()]
    dialog = TableDialog(_("Keyboard"), groups, theme, parent)
    dialog.setObjectName("helpSheet")
    return dialog


def details_dialog(message: Message, theme: Theme, parent: QWidget | None = None) -> TableDialog:
    """What an answer cost and how it was made."""
    dialog = TableDialog(_("Details of the answer"), detail_groups(message), theme, parent)
    dialog.setObjectName("detailsDialog")
    return dialog


def _cell(text: str, *, muted: bool = False) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(not muted)
    # Dots above capital letters reach beyond the line of some fonts.
    label.setContentsMargins(0, 1, 0, 1)
    if muted:
        label.setProperty("kind", "muted")
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
