"""A block of code: its language, a copy button that stays in sight, and the code itself.

Copying gives the source byte for byte, whatever is drawn. Must not know: Markdown, messages.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QTextCursor,
)
from PySide6.QtWidgets import QWidget

from clover_gui.i18n import _, capped
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import CopyButton
from clover_gui.ui.widgets.code_parts import CodeHeader, CodeText
from clover_gui.ui.widgets.found_text import Marker
from clover_gui.ui.widgets.highlighter import CodeHighlighter

FOLD = 4_000
"""Characters after which a single line is drawn on the next one; Qt is slow with longer lines."""
TAB_WIDTH = 4

_SHOWN = dict.fromkeys([0, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
_NEVER = Qt.ScrollBarPolicy.ScrollBarAlwaysOff


class CodeBlock(QWidget):
    """The owner gives it its width by ``fit`` and tells it by ``follow_viewport`` what can be seen of it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.render_count = 0
        """How often text was added or set; for tests of what is left alone."""
        self._theme = theme
        self._language = ""
        self._body = ""
        self._last_column = 0
        self._longest = 0.0
        self._upper_height = 0.0
        self._text_height = 0.0
        self._highlighter: CodeHighlighter | None = None
        self._fitted_width = -1
        self._viewport_top = 0
        self.editor = CodeText(self)
        self._marker = Marker(self.editor)
        self._header = CodeHeader(theme, self)
        self._header.copy_button.clicked.connect(self.copy_code)
        self.restyle()
        self.retranslate()

    @property
    def language(self) -> str:
        return self._language

    @property
    def copy_button(self) -> CopyButton:
        return self._header.copy_button

    @property
    def highlighter(self) -> CodeHighlighter | None:
        """None as long as there is no language."""
        return self._highlighter

    @property
    def gap_above(self) -> int:
        return self._theme.space(0.8)

    def code(self) -> str:
        """The source, exactly."""
        return self._body

    def copy_code(self) -> None:
        """Put the source into the clipboard, byte for byte."""
        QGuiApplication.clipboard().setText(self._body)
        self._header.copy_button.show_copied()

    def set_code(self, language: str, body: str, finished: bool) -> None:
        """Show code that may still grow; text that is there already is left alone."""
        if language != self._language:
            self._language = language
            self.retranslate()
            if self._highlighter:
                self._highlighter.setDocument(None)
            self._highlighter = (
                CodeHighlighter(self.editor.document(), language, self._theme.colors) if language else None
            )
        if body != self._body or not self.render_count:
            self._show(body, finished)
        if finished and self._highlighter:
            self._highlighter.complete(_drawable(body))

    def seek(self, text: str, number: int | None, also: tuple[str, ...] = ()) -> None:
        """Mark a text ("" for none), and ``also`` others; ``number``: which of its places, from 0, is looked
        at."""
        self._marker.seek(text, number, self._theme.colors, also)

    def found_rect(self) -> QRect | None:
        """Where the place looked at is."""
        rect = self._marker.rect()
        return rect.translated(self.editor.pos()) if rect else None

    def fit(self, width: int) -> int:
        """Lay out for this width, take the height that is needed and return it."""
        if width == self._fitted_width:
            return self.height()
        self._fitted_width = width
        editor = self.editor
        margin = editor.document().documentMargin()
        head = self._header.fit(width)
        too_wide = self._longest + 2 * margin + 2 > width
        editor.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn if too_wide else _NEVER)
        bar = editor.horizontalScrollBar().sizeHint().height() if too_wide else 0
        height = math.ceil(self._text_height + 2 * margin) + bar
        editor.setGeometry(1, head, width - 2, height)
        self.resize(width, head + height + 1)
        self.follow_viewport(self._viewport_top)
        return self.height()

    def follow_viewport(self, top: int) -> None:
        """Keep the header in sight: ``top`` is the upper edge of what can be seen, in own coordinates."""
        self._viewport_top = top
        if top > self.height() or (top <= 0 and self._header.y() == 0):
            return
        lowest = max(0, self.height() - self._header.height() - self._theme.space(1.5))
        self._header.set_place(min(max(0, top), lowest))

    def restyle(self) -> None:
        """Take the theme's colours and sizes."""
        theme = self._theme
        self.editor.setFont(theme.code_font())
        self.editor.setTabStopDistance(TAB_WIDTH * self.editor.fontMetrics().horizontalAdvance(" "))
        self.editor.document().setDocumentMargin(theme.space(0.6))
        palette = self.editor.palette()
        palette.setColor(QPalette.ColorRole.Text, QColor(theme.colors.text))
        self.editor.setPalette(palette)
        self._header.restyle()
        if self._highlighter:
            self._highlighter.recolor(theme.colors)
        self._longest, self._upper_height = 0.0, 0.0
        self._measure(0)
        self._fitted_width = -1
        self.update()

    def retranslate(self) -> None:
        label = capped(self._language, 30)
        self._header.set_texts(label)
        self.editor.setAccessibleName(_("Code, {language}").format(language=label) if label else _("Code"))

    def _show(self, body: str, finished: bool) -> None:
        self.render_count += 1
        self._fitted_width = -1
        grows = body.startswith(self._body) and self.render_count > 1
        added = body[len(self._body) :] if grows else body
        if not grows:
            self._last_column, self._longest, self._upper_height = 0, 0.0, 0.0
            self.editor.clear()
        self._body = body
        if self._highlighter and not finished:
            self._highlighter.extend(_drawable(body))
        cursor = QTextCursor(self.editor.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        start = cursor.block().blockNumber()
        cursor.insertText(self._folded(_drawable(added)))
        self._measure(start)
        if self._marker.text:
            self._marker.show(self._theme.colors)

    def _folded(self, text: str) -> str:
        """Very long lines in pieces."""
        if self._last_column + len(text) <= FOLD:
            newline = text.rfind("\n")
            self._last_column = self._last_column + len(text) if newline < 0 else len(text) - newline - 1
            return text
        out = []
        for number, line in enumerate(text.split("\n")):
            if number:
                out.append("\n")
                self._last_column = 0
            while self._last_column + len(line) > FOLD:
                room = FOLD - self._last_column
                out.append(line[:room] + "\n")
                line, self._last_column = line[room:], 0
            out.append(line)
            self._last_column += len(line)
        return "".join(out)

    def _measure(self, first_block: int) -> None:
        """Measure the lines from here on; all lines above are as they were."""
        document = self.editor.document()
        layout, metrics = document.documentLayout(), self.editor.fontMetrics()
        plain = layout.blockBoundingRect(document.begin()).height()
        block, height = document.findBlockByNumber(first_block), 0.0
        while block.isValid():
            self._upper_height += height
            text = block.text()
            # Letters of another font may make a line higher than the rest.
            height = plain if text.isascii() else layout.blockBoundingRect(block).height()
            width = metrics.horizontalAdvance(text.expandtabs(TAB_WIDTH))
            self._longest = max(self._longest, width)
            block = block.next()
        self._text_height = self._upper_height + height

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colors = self._theme.colors
        painter.setPen(QPen(QColor(colors.focus), 2) if self.editor.ring else QPen(QColor(colors.border), 1))
        painter.setBrush(QColor(colors.code_background))
        radius = self._theme.space(0.4)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
        painter.end()


def _drawable(text: str) -> str:
    """What Qt draws without dropping or adding lines; marks that turn the order of letters round are seen."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_SHOWN)
