"""One line below a message that says what went another way than expected, with a next step.

Must not know: what happened; it gets sentences.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from clover_gui.ui.theme import Theme


class WrappedLabel(QLabel):
    """Plain text that takes the height that it needs at a width."""

    def __init__(self, kind: str, parent: QWidget | None = None) -> None:
        """``kind``: what the style sheet calls it ("muted", "warning")."""
        super().__init__(parent)
        self.setProperty("kind", kind)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def fit(self, width: int) -> int:
        height = max(1, self.heightForWidth(width))
        self.resize(width, height)
        return height


class NoticeRow(QWidget):
    """A warning sign, a sentence and, if there is one, a button."""

    action_triggered = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._action = ""
        self._icon = QLabel(self)
        self.label = WrappedLabel("warning", self)
        self.button = QPushButton(self)
        self.button.setProperty("kind", "link")
        self.button.clicked.connect(lambda: self.action_triggered.emit(self._action))
        self.restyle()

    def show_notice(self, text: str, action: tuple[str, str] | None) -> None:
        """``action``: its name for the receiver and the text of the button."""
        self.label.setText(text)
        self._action, caption = action or ("", "")
        self.button.setText(caption)
        self.button.setVisible(bool(caption))

    def fit(self, width: int) -> int:
        side = self._theme.space(1.1)
        gap = self._theme.space(0.5)
        height = self.label.fit(max(1, width - side - gap))
        line = self.label.fontMetrics().height()
        self._icon.setGeometry(0, max(0, (line - side) // 2), side, side)
        self.label.move(side + gap, 0)
        if self.button.text():
            hint = self.button.sizeHint()
            left = side + gap - self._theme.space(0.5)
            self.button.setGeometry(max(0, left), height + gap // 2, hint.width(), hint.height())
            height += gap // 2 + hint.height()
        self.resize(width, height)
        return height

    def restyle(self) -> None:
        color = self._theme.colors.warning
        side = self._theme.space(1.1)
        self._icon.setPixmap(self._theme.icon("warning", color).pixmap(side, side))
        self.label.setFont(self._theme.small_font())
