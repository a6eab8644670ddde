"""Qt's own words follow the language, and are as before when the program has ended."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication

from clover_gui import i18n
from clover_gui.ui.qt_language import QtLanguage


def shown_key() -> str:
    return QKeySequence("Ctrl+A").toString(QKeySequence.SequenceFormat.NativeText)


def test_keys_are_named_in_the_language_until_the_end(qapp: QApplication) -> None:
    language = QtLanguage(qapp)
    i18n.set_language("de")
    try:
        language.apply()
        assert shown_key() == "Strg+A"
    finally:
        i18n.set_language("en")
        language.end()
    assert shown_key() == "Ctrl+A"
