"""A quiet bar above a page: one sentence, at most one action, and a way to close it."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget

from clover_gui.i18n import _


class NoticeKind(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class NoticeBar(QFrame):
    """Hidden until ``show_notice``. ``action_triggered`` carries the key of the action."""

    action_triggered = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("noticeBar")
        self._key = ""
        self.label = QLabel()
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.action_button = QPushButton()
        self.action_button.clicked.connect(lambda: self.action_triggered.emit(self._key))
        self.close_button = QToolButton()
        self.close_button.setText("✕")
        self.close_button.setAutoRaise(True)
        self.close_button.clicked.connect(self.dismiss)
        layout = QHBoxLayout(self)
        layout.addWidget(self.label, 1)
        layout.addWidget(self.action_button)
        layout.addWidget(self.close_button)
        self.hide()

    def show_notice(
        self, text: str, kind: NoticeKind = NoticeKind.INFO, action: tuple[str, str] | None = None
    ) -> None:
        """Replace what stands there. ``action`` is (key, text of the button)."""
        self._key = action[0] if action else ""
        self.label.setText(text)
        self.label.setAccessibleName(text)
        self.action_button.setVisible(action is not None)
        self.action_button.setText(action[1] if action else "")
        self.close_button.setAccessibleName(_("Close this notice"))
        self.close_button.setToolTip(_("Close this notice"))
        self.setProperty("kind", kind.value)
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()

    def dismiss(self) -> None:
        """Hide the bar."""
        if self.isVisible():
            self.hide()
            self.closed.emit()
