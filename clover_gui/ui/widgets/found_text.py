"""Marks the places of a text that is searched for in a document.

Must not know: messages, where the search came from.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from clover_gui.ui.colors import Colors

MOST_MARKS = 1_000
"""Places marked in one document at most."""


@dataclass(slots=True)
class Marker:
    """Keeps the marks of one text widget up to date; ``show`` again after each change of its text."""

    widget: QTextEdit | QPlainTextEdit
    text: str = ""
    number: int | None = None
    """Which of the places, counted from 0, is the one looked at."""
    also: tuple[str, ...] = ()
    """Other texts that are marked too."""
    _current: QTextCursor | None = None

    def seek(self, text: str, number: int | None, colors: Colors, also: tuple[str, ...] = ()) -> None:
        """Mark this text from now on ("" for nothing), and ``also`` others, whatever their case."""
        if text or self.text:
            self.text, self.number, self.also = text, number, also
            self.show(colors)

    def show(self, colors: Colors) -> None:
        """Find the places anew and mark them."""
        self._current = None
        places = self._places(self.text)
        if self.number is not None and places:
            # Some places of the source may be in what is not shown, such as the target of a link.
            self._current = places[min(self.number, len(places) - 1)]
        marks = []
        for place in (*(place for text in self.also for place in self._places(text)), *places):
            mark = QTextEdit.ExtraSelection()
            mark.cursor = place
            mark.format = _format(colors, place is self._current)
            marks.append(mark)
        self.widget.setExtraSelections(marks)

    def rect(self) -> QRect | None:
        """Where the place looked at is, in the widget's own coordinates; scrolled into view sideways."""
        if self._current is None:
            return None
        start = QTextCursor(self._current)
        start.setPosition(self._current.selectionStart())
        rect = self.widget.cursorRect(start)
        bar, width = self.widget.horizontalScrollBar(), self.widget.viewport().width()
        if bar.maximum() and not 0 <= rect.x() < width:
            bar.setValue(bar.value() + rect.x() - width // 3)
            rect = self.widget.cursorRect(start)
        return QRect(self.widget.viewport().mapTo(self.widget, rect.topLeft()), rect.size())

    def _places(self, text: str) -> list[QTextCursor]:
        if not text:
            return []
        document = self.widget.document()
        places: list[QTextCursor] = []
        place = document.find(text)
        while not place.isNull() and len(places) < MOST_MARKS:
            places.append(place)
            place = document.find(text, place)
        return places


def _format(colors: Colors, current: bool) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setBackground(QColor(colors.accent if current else colors.selection))
    made.setForeground(QColor(colors.accent_text if current else colors.text))
    return made


def places_in(text: str, sought: str) -> list[int]:
    """Where ``sought`` begins in ``text``, whatever its case; places do not overlap."""
    lowered, wanted = text.lower(), sought.lower()
    if not wanted or len(lowered) != len(text):
        # A few letters have more small letters than one, which would shift the rest.
        lowered, wanted = text, sought
    places: list[int] = []
    at = lowered.find(wanted) if wanted else -1
    while at >= 0:
        places.append(at)
        at = lowered.find(wanted, at + len(wanted))
    return places
