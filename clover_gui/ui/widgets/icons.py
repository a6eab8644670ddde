"""Icons: the program's own one-colour SVG files, drawn in the colour that the theme asks for.

Must not know: what an icon means to a page.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from clover_gui import resources

SIZES = (16, 20, 24, 32, 48, 64, 128)
"""Device pixels; Qt takes the best one for the size and the scaling in force."""


def load_icon(name: str, color: str) -> QIcon:
    """``resources/icons/<name>.svg`` with ``currentColor`` replaced by ``color`` (``#rrggbb``)."""
    source = resources.text(f"icons/{name}.svg").replace("currentColor", color)
    renderer = QSvgRenderer(QByteArray(source.encode("utf-8")))
    icon = QIcon()
    for size in SIZES:
        pixmap = QPixmap(size, size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter, QRectF(0, 0, size, size))
        painter.end()
        icon.addPixmap(pixmap)
    return icon
