"""Reads a text of any length: wrapped, selectable, never changed; copying gives its exact letters.

Comes in slices, so that a text of a million lines does not hold the window up. Must not know: where the
text is from.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QMimeData, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QFont, QFontDatabase, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from clover_gui.ui.widgets.found_text import places_in
from clover_gui.ui.widgets.text_parts import show_text_menu
from clover_gui.ui.widgets.text_pieces import TextPieces

SLICE_S = 0.008
_AT_ONCE = 500
"""Paragraphs that are added between two looks at the clock."""


class TextReader(QPlainTextEdit):
    """``filled`` comes when all of the text is there."""

    filled = Signal()

    def __init__(self, text: str, point_size: float, parent: QWidget | None = None) -> None:
        """``point_size``: of the letters, all of one width."""
        super().__init__(parent)
        self._text = TextPieces(text)
        self._sought = ""
        self._places: list[int] = []
        self._current = -1
        self.setProperty("kind", "field")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setPointSizeF(point_size)
        self.setFont(font)
        self.setTextInteractionFlags(
            self.textInteractionFlags().TextSelectableByMouse
            | self.textInteractionFlags().TextSelectableByKeyboard
        )
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._add_slice)
        self._add_slice()
        if not self.is_filled:
            self._timer.start()

    @property
    def is_filled(self) -> bool:
        """Whether all of the text is there."""
        return self._text.is_complete

    def text(self) -> str:
        """The text, exactly as it was given."""
        return self._text.text

    def selected_text(self) -> str:
        """What is selected, with the line ends of the text."""
        cursor = self.textCursor()
        return self.text()[self._offset(cursor.selectionStart()) : self._offset(cursor.selectionEnd())]

    def find_text(self, sought: str, forward: bool) -> tuple[int, int]:
        """Select the next place of a text, or the one before; which it is, from 1, of how many. (0, 0): none.

        A text is looked for from the cursor on when it is a new one.
        """
        if sought != self._sought or not self.is_filled:
            self._sought = sought
            self._places = places_in(self.text()[: self._text.known], sought)
            here = self._offset(self.textCursor().selectionStart())
            at = next((i for i, place in enumerate(self._places) if place >= here), 0)
        else:
            at = self._current + (1 if forward else -1)
        if not self._places:
            self._current = -1
            return 0, 0
        self._current = at % len(self._places)
        start = self._places[self._current]
        cursor = self.textCursor()
        cursor.setPosition(self._position(start))
        cursor.setPosition(self._position(start + len(sought)), QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)
        self.ensureCursorVisible()
        return self._current + 1, len(self._places)

    def _offset(self, position: int) -> int:
        block = self.document().findBlock(position)
        return self._text.offset(block.blockNumber(), position - block.position())

    def _position(self, offset: int) -> int:
        piece, units = self._text.place(offset)
        return self.document().findBlockByNumber(piece).position() + units

    def _add_slice(self) -> None:
        started = time.perf_counter()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        while not self.is_filled and time.perf_counter() - started < SLICE_S:
            first = not self._text.pieces
            if pieces := self._text.more(_AT_ONCE):
                cursor.insertText(("" if first else "\n") + "\n".join(pieces))
        if self.is_filled:
            self._timer.stop()
            self.filled.emit()

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.selected_text())
        return data

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        show_text_menu(self, event.globalPos())
