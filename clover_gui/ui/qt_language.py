"""Qt's own words (buttons of its dialogs, names of keys) in the language in force."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QTranslator
from PySide6.QtWidgets import QApplication

from clover_gui import i18n


class QtLanguage:
    """``apply`` after every change of the language; ``end`` leaves the QApplication as it was."""

    def __init__(self, qt: QApplication) -> None:
        self._qt = qt
        self._translator = QTranslator()

    def apply(self) -> None:
        """Take the language in force; where Qt brings no words of it, its English ones stay."""
        self.end()
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        if self._translator.load(f"qtbase_{i18n.current_language()}", folder):
            self._qt.installTranslator(self._translator)

    def end(self) -> None:
        """Qt's words are English again."""
        self._qt.removeTranslator(self._translator)
