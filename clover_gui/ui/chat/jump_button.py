"""The button that brings the reader back to the newest text. It floats over the conversation."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractScrollArea, QPushButton

from clover_gui.i18n import _
from clover_gui.ui.theme import Theme


class JumpButton(QPushButton):
    """Hidden until ``place`` is told that it is wanted."""

    def __init__(self, theme: Theme, area: QAbstractScrollArea) -> None:
        super().__init__(area)
        self._theme = theme
        self._area = area
        self.setProperty("kind", "pill")
        self.hide()

    def place(self, wanted: bool) -> None:
        """Show it in the middle of the lower edge, or hide it."""
        self.setVisible(wanted)
        if not wanted:
            return
        self.adjustSize()
        viewport = self._area.viewport()
        top = viewport.height() - self.height() - self._theme.space(0.8)
        self.move((viewport.width() - self.width()) // 2, top)
        self.raise_()

    def restyle(self) -> None:
        self.setIcon(self._theme.icon("arrow-down"))

    def retranslate(self) -> None:
        self.setText(_("New text below"))
        self.setAccessibleName(_("Go to the new text below"))
