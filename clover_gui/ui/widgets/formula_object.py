"""Formulas inside a text document: their size, their place on the line, and drawing them.

The HTML of a message holds an image for each drawn formula whose name is the formula's source. Qt asks this
object instead of its own, so no image of a document is ever looked up anywhere.
Must not know: messages, how a formula is made.
"""

from __future__ import annotations

import math
from collections import OrderedDict

from PySide6.QtCore import QByteArray, QObject, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontInfo,
    QFontMetricsF,
    QImage,
    QPainter,
    QPyTextObject,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
    QTextImageFormat,
)
from PySide6.QtSvg import QSvgRenderer

from clover_gui.ui.widgets.formula import INK, SIZE, Drawing
from clover_gui.ui.widgets.formula_store import FormulaStore

SCALE = 1.12
"""The letters of the formula font are smaller than those of most text fonts of the same size."""
KEPT_IMAGES = 300


class FormulaObject(QPyTextObject):
    """Draws the formulas of one document in ``color`` unless the text around has a colour of its own."""

    def __init__(self, store: FormulaStore, color: str, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self.color = color
        self._images: OrderedDict[tuple[str, str, float], QImage] = OrderedDict()

    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:
        """The room on the line. Qt puts the lower edge on the baseline, or the middle near it."""
        form = format.toImageFormat()
        drawing = self._store.find(form.name())
        if drawing is None:
            return QSizeF(0, 0)
        scale = _scale(doc, drawing, form.font())
        return QSizeF(drawing.width * scale, _above(form, drawing, scale)[0])

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        doc: QTextDocument,
        posInDocument: int,
        format: QTextFormat,
    ) -> None:
        form = format.toImageFormat()
        drawing = self._store.find(form.name())
        if drawing is None:
            return
        scale = _scale(doc, drawing, form.font())
        brush = form.foreground()
        color = brush.color().name() if brush.style() != Qt.BrushStyle.NoBrush else QColor(self.color).name()
        ratio = painter.device().devicePixelRatio()
        image = self._image(form.name(), drawing, color, scale * ratio)
        # To whole pixels, or it would be blurred; the baseline of the image is at a whole pixel, too.
        baseline = rect.top() + _above(form, drawing, scale)[1] + drawing.ascent * scale
        top = round(baseline * ratio) - math.ceil(drawing.ascent * scale * ratio)
        image.setDevicePixelRatio(ratio)
        painter.drawImage(QPointF(round(rect.left() * ratio) / ratio, top / ratio), image)

    def _image(self, source: str, drawing: Drawing, color: str, scale: float) -> QImage:
        """``scale``: device pixels for each unit of the drawing."""
        key = (source, color, scale)
        image = self._images.get(key)
        if image is None:
            width, ascent = drawing.width * scale, drawing.ascent * scale
            height = (drawing.ascent + drawing.descent) * scale
            above = math.ceil(ascent)
            below = max(1 - above, math.ceil(height - ascent))
            image = QImage(max(1, math.ceil(width)), above + below, QImage.Format.Format_ARGB32_Premultiplied)
            image.fill(Qt.GlobalColor.transparent)
            renderer = QSvgRenderer(QByteArray(drawing.svg.replace(INK, color).encode()))
            inner = QPainter(image)
            renderer.render(inner, QRectF(0, above - ascent, width, height))
            inner.end()
            self._images[key] = image
            if len(self._images) > KEPT_IMAGES:
                self._images.popitem(last=False)
        return image


def _scale(doc: QTextDocument, drawing: Drawing, font: QFont) -> float:
    """Pixels for each unit of the drawing; what is wider than the text is made smaller."""
    scale = QFontInfo(font).pixelSize() * SCALE / SIZE
    room = doc.textWidth()
    return min(scale, room / drawing.width) if room > 0 else scale


def _above(form: QTextImageFormat, drawing: Drawing, scale: float) -> tuple[float, float]:
    """The height to keep free so that the baselines meet, and where in it the drawing begins.

    By default Qt lets the lower edge stand on the baseline: what is below it is drawn into the room that a
    line has anyway. For ``AlignMiddle`` Qt keeps (height + x) / 2 above the baseline and (height - x) / 2
    below it, where x is half the height of the letter "x".
    """
    ascent, descent = drawing.ascent * scale, drawing.descent * scale
    if form.verticalAlignment() != QTextCharFormat.VerticalAlignment.AlignMiddle:
        return max(1.0, ascent), 0.0
    half = QFontMetricsF(form.font()).xHeight() / 2
    height = max(2 * ascent - half, 2 * descent + half)
    return height, (height + half) / 2 - ascent
