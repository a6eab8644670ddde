"""Small buttons: a picture with a name for screen readers, and one that says when it has copied.

Must not know: what is copied, pages.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from clover_gui.i18n import _
from clover_gui.ui.theme import Theme

COPIED_MS = 1_500


class IconButton(QPushButton):
    """A picture only; ``label`` is its tool tip and its name for screen readers."""

    def __init__(self, theme: Theme, icon: str, label: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon_name = icon
        self._revealed = True
        self.setProperty("kind", "icon")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_label(label)
        self.restyle()

    def set_label(self, label: str) -> None:
        self.setAccessibleName(label)
        self.setToolTip(label)

    def set_icon(self, name: str) -> None:
        self._icon_name = name
        self.restyle()

    def restyle(self) -> None:
        """Take the theme's colours and sizes."""
        side = self._theme.space(1.05)
        self.setIconSize(QSize(side, side))
        self.setIcon(self._theme.icon(self._icon_name, self._theme.colors.muted))

    def set_revealed(self, revealed: bool) -> None:
        """Whether it is drawn without having the focus; it can be reached by keyboard either way."""
        if revealed != self._revealed:
            self._revealed = revealed
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._revealed or self.hasFocus():
            super().paintEvent(event)


class CopyButton(IconButton):
    """Shows a tick for a moment after ``show_copied``."""

    def __init__(self, theme: Theme, label: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, "copy", label, parent)
        self._label = label
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(COPIED_MS)
        self._timer.timeout.connect(self._show_ready)

    def set_label(self, label: str) -> None:
        self._label = label
        super().set_label(label)

    def show_copied(self) -> None:
        self.set_icon("check")
        super().set_label(_("Copied"))
        self._timer.start()

    def _show_ready(self) -> None:
        self.set_icon("copy")
        super().set_label(self._label)
