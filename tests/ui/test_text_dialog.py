"""The dialog that shows a text to be read: all of it, to the letter, however long and odd it is."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from clover_gui.ui.chat.text_dialog import TextDialog
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.text_pieces import PIECE, TextPieces
from tests.ui.accessible_tree import unnamed

ODD = "a\r\nb\rc\u2029d 😀e\u0301\n\n  tab\tend \ufdd0x" + "y" * (PIECE + 5) + "\n"


def opened(text: str, theme: Theme, qtbot: QtBot) -> TextDialog:
    dialog = TextDialog("notes.txt", text, theme)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.reader.is_filled, timeout=20_000)
    return dialog


@pytest.mark.parametrize("text", ["", "\n", "one", ODD, "😀" * (PIECE + 1)])
def test_pieces_cover_the_text(text: str) -> None:
    pieces = TextPieces(text)
    while not pieces.is_complete:
        pieces.more(2)
    assert pieces.known == len(text) or text.endswith("\r\n")
    assert max(map(len, pieces.pieces)) <= PIECE
    for offset in {0, len(text) // 2, len(text)}:
        piece, units = pieces.place(offset)
        assert pieces.offset(piece, units) == offset or text[offset - 1 : offset + 1] == "\r\n"


def test_copying_gives_the_exact_letters(theme: Theme, qtbot: QtBot) -> None:
    dialog = opened(ODD, theme, qtbot)
    reader = dialog.reader
    reader.selectAll()
    assert reader.selected_text() == ODD
    reader.copy()
    assert QApplication.clipboard().text() == ODD
    cursor = reader.textCursor()
    start = reader.toPlainText().index("😀")
    cursor.setPosition(start)
    cursor.setPosition(start + 4, QTextCursor.MoveMode.KeepAnchor)
    reader.setTextCursor(cursor)
    assert reader.selected_text() == "😀e\u0301"
    dialog.copy_button.click()
    assert QApplication.clipboard().text() == ODD


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\n" * 1_000_000, "word " * 200_000, "😀" * 300_000])
def test_a_long_text_does_not_hold_the_window_up(text: str, theme: Theme, qtbot: QtBot) -> None:
    dialog = opened(text, theme, qtbot)
    dialog.reader.selectAll()
    assert dialog.reader.selected_text() == text
    # No paragraph is long: only those that can be seen are laid out.
    assert dialog.reader.document().blockCount() >= len(text) // PIECE


def test_words_are_found_by_keyboard(theme: Theme, qtbot: QtBot) -> None:
    dialog = opened("First 😀 line\r\nsecond line\n" + "z" * PIECE + "Line", theme, qtbot)
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    QTest.keyClick(dialog.reader, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = dialog.find_bar.field
    assert field.hasFocus()
    QTest.keyClicks(field, "line")
    assert dialog.find_bar.count.text() == "1 of 3"
    for expected in ("2 of 3", "3 of 3", "1 of 3"):
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert dialog.find_bar.count.text() == expected
        assert dialog.reader.selected_text().lower() == "line"
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert dialog.find_bar.count.text() == "3 of 3"
    QTest.keyClicks(field, "x")
    assert dialog.find_bar.count.text() == "Not found"
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert dialog.reader.hasFocus()
    QTest.keyClick(dialog.reader, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_foreign_names_are_capped_and_everything_has_a_name(theme: Theme, qtbot: QtBot) -> None:
    dialog = TextDialog("\u202eevil\n" + "x" * 500, "text", theme)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.find_bar.open()
    assert len(dialog.windowTitle()) <= 80
    assert "\u202e" not in dialog.windowTitle()
    assert unnamed(dialog) == []
