"""The settings in one dialog: a list of pages on the left, the chosen page beside it.

The pages come from outside, so that each part of the program can bring its own.
Must not know: what a page changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from clover_gui.i18n import _
from clover_gui.settings import Settings
from clover_gui.ui.settings.settings_page import SettingsPage
from clover_gui.ui.theme import Theme

_SIZE_EM = (46, 34)
_LIST_EM = 8.5


class SettingsDialog(QDialog):
    """Opened with ``open()``; ``saved`` carries the new settings when the person agrees."""

    saved = Signal(object)

    def __init__(
        self,
        settings: Callable[[], Settings],
        pages: Sequence[SettingsPage],
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        """``settings`` gives those in force when the person saves: a page may have changed some before.

        The dialog takes the pages over; the first one is shown.
        """
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(_("Settings"))
        self._settings = settings
        self.pages = tuple(pages)
        self.list = QListWidget()
        self.list.setObjectName("settingsList")
        self.list.setAccessibleName(_("Pages of the settings"))
        self.list.setFixedWidth(theme.space(_LIST_EM))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.stack = QStackedWidget()
        for page in self.pages:
            item = QListWidgetItem(page.title)
            item.setSizeHint(QSize(0, theme.space(2)))
            self.list.addItem(item)
            self.stack.addWidget(_scrolling(page, theme))
        self.list.currentRowChanged.connect(self.stack.setCurrentIndex)
        self.list.setCurrentRow(0)
        for keys, step in (("Ctrl+Tab", 1), ("Ctrl+PgDown", 1), ("Ctrl+Shift+Tab", -1), ("Ctrl+PgUp", -1)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.activated.connect(lambda step=step: self._turn(step))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.save_button = buttons.addButton(_("Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.save_button.setProperty("kind", "primary")
        buttons.accepted.connect(self._accept)
        buttons.rejected.connect(self.reject)
        row = QHBoxLayout()
        row.setSpacing(theme.space(0.4))
        row.addWidget(self.list)
        row.addWidget(self.stack, 1)
        layout = QVBoxLayout(self)
        layout.addLayout(row, 1)
        layout.addWidget(buttons)
        room = self.screen().availableSize() * 0.92
        self.resize(QSize(theme.space(_SIZE_EM[0]), theme.space(_SIZE_EM[1])).boundedTo(room))
        self.list.setFocus()

    def show_page(self, page: SettingsPage) -> None:
        """Turn to one of ``pages``."""
        self.list.setCurrentRow(self.pages.index(page))

    def _turn(self, step: int) -> None:
        self.list.setCurrentRow((self.list.currentRow() + step) % max(1, self.list.count()))

    def _accept(self) -> None:
        for page in self.pages:
            if (field := page.wrong_field()) is not None:
                self.show_page(page)
                field.setFocus()
                return
        settings = self._settings()
        for page in self.pages:
            settings = page.apply_to(settings)
        self.saved.emit(settings)
        self.accept()


def _scrolling(page: SettingsPage, theme: Theme) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QScrollArea.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    page.setContentsMargins(theme.space(0.3), 0, theme.space(0.3), 0)
    area.setWidget(page)
    return area
