"""A layout that fills rows and begins another where there is no room. Must not know: pages."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """For small widgets of different widths."""

    def __init__(self, gap: int, parent: QWidget | None = None, *, from_right: bool = False) -> None:
        """``from_right``: every row ends at the right edge instead of beginning at the left one."""
        super().__init__(parent)
        self._gap = gap
        self._from_right = from_right
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, area: QRect) -> None:
        super().setGeometry(area)
        self._arrange(area, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, area: QRect, *, move: bool) -> int:
        """Place everything in the area if ``move``; the height that is taken."""
        y = area.y()
        for row in self._rows(area.width()):
            taken = sum(size.width() for _item, size in row) + self._gap * (len(row) - 1)
            x = area.x() + (area.width() - taken if self._from_right else 0)
            for item, size in row:
                if move:
                    item.setGeometry(QRect(QPoint(x, y), size))
                x += size.width() + self._gap
            y += max(size.height() for _item, size in row) + self._gap
        return max(0, y - self._gap - area.y())

    def _rows(self, width: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        rows: list[list[tuple[QLayoutItem, QSize]]] = []
        x = 0
        for item in self._items:
            if item.isEmpty():  # a hidden widget
                continue
            size = item.sizeHint()
            size.setWidth(min(size.width(), width))
            if not rows or x + size.width() > width:
                rows.append([])
                x = 0
            rows[-1].append((item, size))
            x += size.width() + self._gap
        return rows
