"""Fields of the settings' pages. Must not know: which setting they show."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy


class ChoiceField(QComboBox):
    """One of several values; turning the wheel over it scrolls the page instead of changing it."""

    def __init__(self, choices: Sequence[tuple[str | int, str]], current: str | int) -> None:
        """``choices`` are values with their texts; a ``current`` that is none of them is added as it is."""
        super().__init__()
        for value, text in choices:
            self.addItem(text, value)
        if self.findData(current) < 0:
            self.addItem(str(current), current)
        self.setCurrentIndex(self.findData(current))
        # A long text must not make the page wider than the window.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def line_field(text: str, placeholder: str) -> QLineEdit:
    """One line; ``placeholder`` says what an empty one means."""
    field = QLineEdit(text)
    field.setPlaceholderText(placeholder)
    field.setCursorPosition(0)
    return field
