"""One notice: a sentence, at most one action, and a way to close it. Must not know: other notices."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from clover_gui.i18n import _

# A notice that only informs ends by itself: after this and the time to read it, or to act.
LEAST_MS = 8_000
MS_PER_CHARACTER = 60
MOST_MS = 20_000
WITH_ACTION_MS = 30_000


class NoticeKind(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Notice(QFrame):
    """``acted`` carries the key of the action. ``closed``: the person has closed it, or its time is over."""

    acted = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("noticeBar")
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.about = ""
        self.of_chat = False
        self.kind = NoticeKind.INFO
        self._key = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.closed)
        self._lasting = False
        self.icon = QLabel()
        self.icon.setObjectName("noticeIcon")
        side = self.fontMetrics().height()
        self.icon.setFixedSize(side, side)
        self.label = QLabel()
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.action_button = QPushButton()
        self.action_button.clicked.connect(lambda: self.acted.emit(self._key))
        self.close_button = QToolButton()
        self.close_button.setText("✕")
        self.close_button.setAutoRaise(True)
        # A click leaves the keyboard where the person is writing.
        self.action_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.close_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.close_button.clicked.connect(self.closed)
        layout = QHBoxLayout(self)
        layout.addWidget(self.icon)
        layout.addWidget(self.label, 1)
        layout.addWidget(self.action_button)
        layout.addWidget(self.close_button)
        for part in (self.label, self.action_button, self.close_button):
            part.installEventFilter(self)
        self.write("", NoticeKind.INFO, None)

    def write(
        self, text: str, kind: NoticeKind, action: tuple[str, str] | None, *, lasting: bool = False
    ) -> None:
        """``action``: key and text of the button. ``lasting``: it stays until it is taken away or closed, as
        warnings and errors do."""
        self._key = action[0] if action else ""
        self._lasting = lasting or kind is not NoticeKind.INFO
        self.label.setText(text)
        self.label.setAccessibleName(text or _("Notice"))
        self.action_button.setVisible(action is not None)
        self.action_button.setText(action[1] if action else "")
        self.close_button.setAccessibleName(_("Close this notice"))
        self.close_button.setToolTip(_("Close this notice"))
        if kind is not self.kind or not self.property("kind"):
            self.kind = kind
            self.setProperty("kind", kind.value)
            for part in (self, self.icon):
                self.style().unpolish(part)
                self.style().polish(part)
            self.icon.setAccessibleName(_names()[kind])
        self._wait()

    @property
    def text(self) -> str:
        return self.label.text()

    @property
    def ends_by_itself(self) -> bool:
        """Whether its time runs now."""
        return self._timer.isActive()

    def _wait(self) -> None:
        """Its time begins anew, unless somebody is looking at it."""
        self._timer.stop()
        if self._lasting or not self.text or self.underMouse() or self._has_focus():
            return
        reading = min(MOST_MS, LEAST_MS + MS_PER_CHARACTER * len(self.text))
        self._timer.start(reading if self.action_button.isHidden() else WITH_ACTION_MS)

    def _has_focus(self) -> bool:
        focused = QApplication.focusWidget()
        return focused is not None and self.isAncestorOf(focused)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Enter:
            self._timer.stop()
        elif event.type() == QEvent.Type.Leave:
            QTimer.singleShot(0, self, self._wait)
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self._timer.stop()
        elif event.type() == QEvent.Type.FocusOut:
            QTimer.singleShot(0, self, self._wait)
        return super().eventFilter(watched, event)


def _names() -> dict[NoticeKind, str]:
    return {
        NoticeKind.INFO: _("Information"),
        NoticeKind.WARNING: _("Warning"),
        NoticeKind.ERROR: _("Error"),
    }
