"""Where a window goes that was on other screens, or on these with another scaling, when it was closed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QStyle

TITLE_BAR = QStyle.PixelMetric.PM_TitleBarHeight


def within_screens(place: QRect, screens: Sequence[QRect], title_height: int = 0) -> QRect | None:
    """``place`` moved, and shrunk where it has to be, into the screen that shows most of it.

    ``screens`` are the free areas of the screens; above the result ``title_height`` stays for the window's
    title, where the screen is high enough. None: no screen shows any of it, so that it is worth nothing.
    """
    shown = max(screens, key=lambda screen: _area(screen & place), default=QRect())
    if not _area(shown & place):
        return None
    if shown.height() > 4 * title_height:
        shown = shown.adjusted(0, title_height, 0, 0)
    width, height = min(place.width(), shown.width()), min(place.height(), shown.height())
    left = min(max(place.left(), shown.left()), shown.right() + 1 - width)
    top = min(max(place.top(), shown.top()), shown.bottom() + 1 - height)
    return QRect(left, top, width, height)


def _area(rectangle: QRect) -> int:
    return max(0, rectangle.width()) * max(0, rectangle.height())
