"""The main window: places the two pages, keeps its size, says when it wants to close. Nothing else."""

from __future__ import annotations

from PySide6.QtCore import QRect, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import QMainWindow, QStackedWidget

from clover_gui.i18n import capped
from clover_gui.ui.chat.chat_page import ChatPage
from clover_gui.ui.chat.table_dialog import help_sheet
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.shortcuts import Keys
from clover_gui.ui.theme import Theme
from clover_gui.ui.window_place import TITLE_BAR, within_screens
from clover_gui.ui.window_style import window_style

MINIMUM_EM = (34, 26)
DEFAULT_EM = (76, 54)


class MainWindow(QMainWindow):
    """``close_requested`` comes instead of closing: chats are saved first, then ``close_now`` is called."""

    close_requested = Signal()
    first_painted = Signal()
    open_file_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self._theme = theme
        self._may_close = False
        self._painted = False
        # Before the pages are told of a new look: a new sheet gives widgets their old palettes back.
        theme.changed.connect(self._restyle)
        self._restyle()
        self.setup_page = SetupPage(theme)
        self.chat_page = ChatPage(theme)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.setup_page)
        self.pages.addWidget(self.chat_page)
        self.setCentralWidget(self.pages)
        em = theme.em
        self.setMinimumSize(round(em * MINIMUM_EM[0]), round(em * MINIMUM_EM[1]))
        self.resize(round(em * DEFAULT_EM[0]), round(em * DEFAULT_EM[1]))
        for keys, action in (
            (Keys.OPEN_FILE, self.open_file_requested.emit),
            (Keys.QUIT, self.close),
            (Keys.MODEL, self.chat_page.model_requested.emit),
            (Keys.SETTINGS, self.chat_page.settings_requested.emit),
            (Keys.HELP, self.show_help),
        ):
            QShortcut(QKeySequence(keys), self, action)
        self.chat_page.help_requested.connect(self.show_help)
        self._model_title = self._chat_title = ""
        self.chat_page.title_changed.connect(self._show_chat_title)
        self._show_titles()

    def show_model_title(self, name: str) -> None:
        """The loaded model, which the window's title names while no chat is open; "" for none."""
        self._model_title = capped(name, 60)
        self._show_titles()

    def _show_chat_title(self, title: str) -> None:
        self._chat_title = capped(title, 80)
        self._show_titles()

    def _show_titles(self) -> None:
        shown = self._chat_title or self._model_title
        self.setWindowTitle(f"{shown} – Clover" if shown else "Clover")

    def show_setup(self) -> None:
        self.pages.setCurrentWidget(self.setup_page)

    def show_chat(self) -> None:
        self.pages.setCurrentWidget(self.chat_page)
        self.chat_page.composer.setFocus()

    def show_help(self) -> None:
        """The sheet of all keys."""
        help_sheet(self._theme, self).open()

    def restore_place(self, place: tuple[int, int, int, int] | None) -> None:
        """Back to where the window was, as far as the screens there are now show that place."""
        if place is not None:
            screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
            area = within_screens(QRect(*place), screens, self.style().pixelMetric(TITLE_BAR))
            if area is not None:
                self.setGeometry(area)

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Position and size to come back to."""
        area = self.normalGeometry()
        return (area.x(), area.y(), area.width(), area.height())

    def come_forward(self) -> None:
        """Raise the window, for example when the program is started a second time."""
        if self.isMinimized():
            self.showNormal()
        self.raise_()
        self.activateWindow()

    def close_now(self) -> None:
        """Close for good."""
        self._may_close = True
        self.close()

    def retranslate(self) -> None:
        """Write all texts again in the language in force."""
        self.setup_page.retranslate()
        self.chat_page.retranslate()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            event.accept()
        else:
            event.ignore()
            self.close_requested.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            self.first_painted.emit()

    def _restyle(self) -> None:
        points = self.font().pointSizeF()
        self.setStyleSheet(window_style(self._theme.colors, self._theme.em, points))
