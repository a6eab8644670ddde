"""Rich or plain text of a message: fits its height to its width, fetches nothing, asks before links.

Must not know: Markdown (it gets HTML), messages.
"""

from __future__ import annotations

import html
import math
import re

from PySide6.QtCore import QByteArray, QEvent, QMimeData, QRect, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QTextFormat,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QToolTip, QWidget

from clover_gui.i18n import capped
from clover_gui.ui.widgets.document_style import DocumentStyle
from clover_gui.ui.widgets.formula_object import FormulaObject
from clover_gui.ui.widgets.found_text import Marker
from clover_gui.ui.widgets.markdown import is_openable
from clover_gui.ui.widgets.selected_text import selected_text
from clover_gui.ui.widgets.text_parts import KEYBOARD_REASONS, is_page_key, show_text_menu

_FLAGS = Qt.TextInteractionFlag
_ALT = re.compile(r'<img [^>]*alt="([^"]*)"')
_NEVER = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
_FIRST_WIDTH = 1_000
"""Pixels, until the owner says how wide the text is."""


class ProseView(QTextBrowser):
    """One document without a frame. The owner gives it its width by ``fit``."""

    link_activated = Signal(str)

    def __init__(self, style: DocumentStyle, wide: bool = False, parent: QWidget | None = None) -> None:
        """``wide``: may be scrolled sideways (tables)."""
        super().__init__(parent)
        self.render_count = 0
        """How often the document was set; for tests of what is left alone."""
        self._style = style
        self._wide = wide
        self._html = ""
        self._plain: str | None = None
        self._fitted_width = -1
        self._ideal: tuple[int, int] | None = None
        """The widest and the ideal width, once measured."""
        self._quotes: list[QRectF] = []
        self._ring = False
        self._formulas: FormulaObject | None = None
        self._marker = Marker(self)
        self._links_by_keyboard(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setOpenLinks(False)
        self.setVerticalScrollBarPolicy(_NEVER)
        self.setHorizontalScrollBarPolicy(_NEVER)
        self.viewport().setAutoFillBackground(False)
        # By itself the editor would lay the text out for the width that it had before it was shown.
        self.setLineWrapMode(QTextBrowser.LineWrapMode.FixedPixelWidth)
        # With no width a line would hold a single letter, and a long word cost its length squared.
        self.setLineWrapColumnOrWidth(_FIRST_WIDTH)
        document = self.document()
        document.setDocumentMargin(0)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        # Each paragraph runs in the direction of its own first letter.
        option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
        document.setDefaultTextOption(option)
        self.anchorClicked.connect(self._on_anchor)
        self.restyle(style)

    @property
    def html_source(self) -> str:
        """The HTML shown, as it was given."""
        return self._html

    @property
    def gap_above(self) -> int:
        """The distance that the first paragraph keeps upwards, in pixels."""
        document = self.document()
        if self._wide:
            return self._style.paragraph_gap
        return round(document.firstBlock().blockFormat().topMargin())

    def show_html(self, text: str) -> None:
        """Show HTML; unchanged HTML costs nothing."""
        if text == self._html:
            return
        self._html = text
        self._set()

    def show_plain(self, text: str) -> None:
        """Show text exactly as typed, wrapped."""
        self._plain = text
        self._set()

    def seek(self, text: str, number: int | None, also: tuple[str, ...] = ()) -> None:
        """Mark a text ("" for none), and ``also`` others; ``number``: which of its places, from 0, is looked
        at."""
        self._marker.seek(text, number, self._style.colors, also)

    def found_rect(self) -> QRect | None:
        """Where the place looked at is."""
        return self._marker.rect()

    def restyle(self, style: DocumentStyle) -> None:
        """Take other colours or sizes."""
        self._style = style
        if self._formulas:
            self._formulas.color = style.text_color
        colors = self.palette()
        colors.setColor(QPalette.ColorRole.Text, QColor(style.text_color))
        self.setPalette(colors)
        self.setFont(style.font)
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        document = self.document()
        document.setDefaultFont(style.font)
        document.setIndentWidth(style.list_indent)
        document.setDefaultStyleSheet(style.css)
        if self._html or self._plain is not None:
            self._set()
        self._fitted_width, self._ideal = -1, None

    def fit(self, width: int) -> int:
        """Lay the text out for this width, take the height that it needs and return it."""
        if width == self._fitted_width:
            return self.height()
        self._fitted_width = width
        document = self.document()
        if self.lineWrapColumnOrWidth() != width:
            self.setLineWrapColumnOrWidth(width)
        size = document.size()
        height = math.ceil(self._tables_bottom() if self._wide else size.height())
        if self._wide:
            too_wide = size.width() > width + 1
            policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if too_wide else _NEVER
            self.setHorizontalScrollBarPolicy(policy)
            height += self.horizontalScrollBar().sizeHint().height() if too_wide else 0
        self.resize(width, max(1, height))
        self._quotes = self._quote_bars()
        return self.height()

    def ideal_width(self, widest: int) -> int:
        """The width that the text needs if it may take up to ``widest`` pixels."""
        if self._ideal is None or self._ideal[0] != widest:
            if self.lineWrapColumnOrWidth() != widest:
                self.setLineWrapColumnOrWidth(widest)
                self._fitted_width = -1
            self._ideal = widest, min(widest, math.ceil(self.document().idealWidth()) + 1)
        return self._ideal[1]

    def _set(self) -> None:
        self.render_count += 1
        self._fitted_width, self._ideal = -1, None
        if self._plain is not None:
            self.setHtml(f'<p style="white-space: pre-wrap">{html.escape(self._plain)}</p>')
        else:
            self._prepare_formulas()
            self.setHtml(self._html)
            self._links_by_keyboard("<a " in self._html)
        if self._marker.text:
            self._marker.show(self._style.colors)

    def _prepare_formulas(self) -> None:
        """Let our own object draw the images: they are all formulas. A screen reader gets their sources."""
        sources = [html.unescape(source) for source in _ALT.findall(self._html)]
        self.setAccessibleDescription(capped(", ".join(sources), 1_000))
        if not sources:
            return
        if self._formulas is None:
            self._formulas = FormulaObject(self._style.formulas, self._style.text_color, self)
        layout = self.document().documentLayout()
        layout.registerHandler(QTextFormat.ObjectTypes.ImageObject.value, self._formulas)

    def _tables_bottom(self) -> float:
        """The lower edge of what can be seen; below a table Qt keeps an empty paragraph."""
        document = self.document()
        layout = document.documentLayout()
        frames = [layout.frameBoundingRect(frame).bottom() for frame in document.rootFrame().childFrames()]
        last = document.lastBlock()
        text = layout.blockBoundingRect(last).bottom() if last.text() else 0.0
        return max(text, *frames, 1.0) if frames else document.size().height()

    def _links_by_keyboard(self, links: bool) -> None:
        flags = _FLAGS.TextSelectableByMouse | _FLAGS.TextSelectableByKeyboard | _FLAGS.LinksAccessibleByMouse
        if links:
            flags |= _FLAGS.LinksAccessibleByKeyboard
        self.setTextInteractionFlags(flags)

    def _quote_bars(self) -> list[QRectF]:
        if "<blockquote>" not in self._html:
            return []
        bars: list[QRectF] = []
        open_bars: dict[int, QRectF] = {}
        layout = self.document().documentLayout()
        indent = self._style.quote_indent
        block = self.document().begin()
        while block.isValid():
            level = round(block.blockFormat().leftMargin() / indent)
            box = layout.blockBoundingRect(block)
            open_bars = {depth: bar for depth, bar in open_bars.items() if depth < level}
            for depth in range(level):
                if depth in open_bars:
                    open_bars[depth].setBottom(box.bottom())
                else:
                    width = max(2, indent // 5)
                    left = depth * indent
                    if block.textDirection() == Qt.LayoutDirection.RightToLeft:
                        left = self._fitted_width - left - width
                    bar = QRectF(left, box.top(), width, box.height())
                    open_bars[depth] = bar
                    bars.append(bar)
            block = block.next()
        return bars

    def _on_anchor(self, url: QUrl) -> None:
        target = url.toString()
        if is_openable(target):
            self.link_activated.emit(target)

    # Qt

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Nothing is ever loaded for a text that a model or a file has written."""
        return QByteArray()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._quotes:
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._style.quote_color))
            for bar in self._quotes:
                painter.drawRoundedRect(bar, 1, 1)
            painter.end()
        super().paintEvent(event)
        if self._ring:
            painter = QPainter(self.viewport())
            painter.setPen(QPen(QColor(self._style.focus_color), 1))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
            painter.end()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() in KEYBOARD_REASONS
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        super().focusOutEvent(event)
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        sideways = abs(event.angleDelta().x()) > abs(event.angleDelta().y())
        if self._wide and sideways and self.horizontalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_page_key(event):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        link = self.anchorAt(event.pos())
        show_text_menu(self, event.globalPos(), link if is_openable(link) else "")

    def selected_text(self) -> str:
        """The selected part, with list marks, table columns and the sources of formulas."""
        return selected_text(self.textCursor())

    def createMimeDataFromSelection(self) -> QMimeData:
        # Text only: colours of this window have no business in somebody's document.
        data = QMimeData()
        data.setText(self.selected_text())
        return data

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            link = self.anchorAt(self.viewport().mapFrom(self, event.pos()))
            if link:
                QToolTip.showText(event.globalPos(), html.escape(capped(link, 200)), self)
                return True
        return super().event(event)
