"""How a chat looks in the list: a heading where a new group begins, the title, and words that were found.

The heading belongs to the row of the group's first chat, so that every row of the list is a chat: keys and
screen readers meet nothing else.
"""

from __future__ import annotations

import re
from enum import IntEnum
from html import escape

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QTextDocument, QTextOption
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from clover_gui.chat.search import FOUND_END, FOUND_START
from clover_gui.ui.theme import Theme

Index = QModelIndex | QPersistentModelIndex

SNIPPET_LINES = 2
_MARKS = re.compile(r"\*\*|__|~~|`+|^#+ |\$\$", re.MULTILINE)
_FOUND = (FOUND_START, FOUND_END)


class RowRole(IntEnum):
    """Data of a row besides its title."""

    ID = Qt.ItemDataRole.UserRole
    HEADING = Qt.ItemDataRole.UserRole + 1
    SNIPPET = Qt.ItemDataRole.UserRole + 2
    MESSAGE = Qt.ItemDataRole.UserRole + 3
    PINNED = Qt.ItemDataRole.UserRole + 4
    PLACE = Qt.ItemDataRole.UserRole + 5
    """Where the words of the snippet stand, if not in the text of a message."""


class ChatRowDelegate(QStyledItemDelegate):
    """Draws a row; the title alone is what is selected and edited."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def heading_height(self, index: Index) -> int:
        """The part at the top of the row that is the heading, in pixels."""
        return self._heading_line() if index.data(RowRole.HEADING) else 0

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        heading = str(index.data(RowRole.HEADING) or "")
        snippet = str(index.data(RowRole.SNIPPET) or "")
        row = QRect(option.rect)
        if heading:
            self._paint_heading(painter, row, heading)
        body = self._body(row, index)
        title = QStyleOptionViewItem(option)
        title.rect = QRect(body)
        if snippet:
            # The base class draws the background over the whole, the title in its middle: it gets the
            # background here, and the title's line again below.
            self._paint_snippet(painter, title, index, snippet)
        else:
            super().paint(painter, title, index)
        if index.data(RowRole.PINNED):
            side = self._theme.space(0.75)
            icon = self._theme.icon("pin", self._theme.colors.muted)
            at = QPoint(body.right() - side - self._theme.space(0.3), body.top() + (self._line() - side) // 2)
            icon.paint(painter, QRect(at, QSize(side, side)))

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if index.data(RowRole.PINNED) and not option.rect.isEmpty():
            # The pin stands behind the title, which is bold where it is selected.
            bold = QFont(option.font)
            bold.setWeight(QFont.Weight.DemiBold)
            room = option.rect.width() - 2 * self._theme.space(0.6) - self._theme.space(0.75)
            option.text = QFontMetrics(bold).elidedText(option.text, Qt.TextElideMode.ElideRight, room)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        height = self._line() + self.heading_height(index)
        if index.data(RowRole.SNIPPET):
            height += self._snippet_height()
        return QSize(self._theme.space(4), height)

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        body = self._body(QRect(option.rect), index)
        body.setHeight(self._line())
        editor.setGeometry(body)

    def _body(self, row: QRect, index: Index) -> QRect:
        return row.adjusted(0, self.heading_height(index), 0, 0)

    def _line(self) -> int:
        return self._theme.space(1.9)

    def _heading_line(self) -> int:
        return self._theme.space(1.75)

    def _snippet_height(self) -> int:
        return QFontMetrics(self._theme.small_font()).lineSpacing() * SNIPPET_LINES + self._theme.space(0.3)

    def _paint_heading(self, painter: QPainter, row: QRect, text: str) -> None:
        font = self._theme.small_font()
        font.setWeight(QFont.Weight.DemiBold)
        painter.save()
        painter.setFont(font)
        painter.setPen(QColor(self._theme.colors.muted))
        area = QRect(row.left(), row.top(), row.width(), self._heading_line())
        area.adjust(self._theme.space(0.4), 0, -self._theme.space(0.4), -self._theme.space(0.15))
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, text)
        painter.restore()

    def _paint_snippet(
        self, painter: QPainter, option: QStyleOptionViewItem, index: Index, snippet: str
    ) -> None:
        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        style = option.widget.style()
        style.drawControl(style.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        inset = self._theme.space(0.4)
        line = QRect(option.rect.left(), option.rect.top(), option.rect.width(), self._line())
        painter.save()
        painter.setPen(QColor(self._theme.colors.text))
        painter.setFont(option.font)
        shown = QFontMetrics(option.font).elidedText(
            text, Qt.TextElideMode.ElideRight, line.width() - 2 * inset
        )
        area = line.adjusted(inset, 0, -inset, 0)
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
        document = QTextDocument()
        document.setDefaultFont(self._theme.small_font())
        document.setDocumentMargin(0)
        wrapping = QTextOption()
        wrapping.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        document.setDefaultTextOption(wrapping)
        document.setTextWidth(line.width() - 2 * inset)
        metrics = QFontMetrics(self._theme.small_font())
        snippet = near_found(snippet, (line.width() - 2 * inset) // max(1, metrics.averageCharWidth()))
        place = str(index.data(RowRole.PLACE) or "")
        document.setHtml(snippet_html(snippet, self._theme.colors.muted, self._theme.colors.text, place))
        painter.translate(line.left() + inset, line.bottom() - self._theme.space(0.25))
        lines = metrics.lineSpacing() * SNIPPET_LINES
        document.drawContents(painter, QRect(0, 0, line.width() - 2 * inset, lines))
        painter.restore()


def near_found(snippet: str, characters: int) -> str:
    """The snippet from so near to what was found that it stands in the first lines of so many
    ``characters``."""
    clean = _without_marks(snippet)
    found = clean.find(FOUND_START)
    most = max(8, characters * 2 // 3)
    if found <= most:
        return clean
    cut = clean.find(" ", found - most, found)
    return "…" + clean[cut + 1 if cut >= 0 else found - most :]


def snippet_html(snippet: str, color: str, found_color: str, place: str = "") -> str:
    """The snippet behind the words that say where it stands; what was found is bold, all the rest is text."""
    clean = escape(_without_marks(snippet))
    clean = clean.replace(FOUND_START, f'<b style="color:{found_color}">').replace(FOUND_END, "</b>")
    where = f"<i>{escape(place)}:</i> " if place else ""
    return f'<span style="color:{color}">{where}{clean}</span>'


def snippet_text(snippet: str) -> str:
    """The snippet for screen readers."""
    return _without_marks(snippet.replace(FOUND_START, "").replace(FOUND_END, ""))


def _without_marks(snippet: str) -> str:
    """One line without the commonest signs of Markdown and without control codes."""
    plain = _MARKS.sub("", snippet)
    return " ".join("".join(c if c.isprintable() or c in _FOUND else " " for c in plain).split())
