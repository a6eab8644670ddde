"""The question before a message is sent that does not fit: leave out old turns, ask anew, or not at all.

It stands above the text field, so that the chat can be read meanwhile. Must not know: how it was counted.
"""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from clover_gui.i18n import _, capped, ngettext, number
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.elided_label import ElidedLabel
from clover_gui.ui.widgets.flow_layout import FlowLayout


class OverflowChoice(Enum):
    """What the person wants to be done."""

    DROP = "drop"
    NEW_CHAT = "new-chat"
    LARGER = "larger"
    CANCEL = "cancel"


class OverflowBar(QFrame):
    """Hidden until ``ask``; ``chosen`` carries the answer, and the bar is gone."""

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("overflowBar")
        self.setProperty("kind", "card")
        self.label = QLabel()
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.question = ElidedLabel()
        self.question.setTextFormat(Qt.TextFormat.PlainText)
        self.question.setProperty("kind", "muted")
        self.drop_button = QPushButton()
        self.new_button = QPushButton()
        self.larger_button = QPushButton()
        self.cancel_button = QPushButton()
        for button, choice in (
            (self.drop_button, OverflowChoice.DROP),
            (self.new_button, OverflowChoice.NEW_CHAT),
            (self.larger_button, OverflowChoice.LARGER),
            (self.cancel_button, OverflowChoice.CANCEL),
        ):
            button.clicked.connect(lambda _checked=False, choice=choice: self.choose(choice))
        gap = theme.space(0.6)
        row = FlowLayout(gap)
        for button in (self.drop_button, self.new_button, self.larger_button, self.cancel_button):
            row.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(gap, gap, gap, gap)
        layout.addWidget(self.question)
        layout.addWidget(self.label)
        layout.addLayout(row)
        self.hide()

    def ask(
        self, text: str, turns: int, *, has_history: bool, question: str = "", can_grow: bool = False
    ) -> None:
        """``turns`` is how many of the oldest would be left out (0: that does not help).

        ``question``: the message that waits; ``can_grow``: the model can be loaded with a larger context.
        """
        self.label.setText(text)
        self.question.setText(_("“{text}”").format(text=capped(question, 160)))
        self.question.setVisible(bool(question.strip()))
        self.setAccessibleName(text)
        self.drop_button.setVisible(turns > 0)
        self.drop_button.setText(
            ngettext("Leave out the oldest turn", "Leave out the {count} oldest turns", turns).format(
                count=number(turns)
            )
        )
        self.new_button.setVisible(has_history and turns > 0)
        self.new_button.setText(_("Ask in a new chat"))
        self.larger_button.setVisible(can_grow)
        self.larger_button.setText(_("Larger context…"))
        self.larger_button.setToolTip(_("Go to the plan of this model; the message waits in the text field."))
        self.cancel_button.setText(_("Do not send"))
        self.show()
        (self.drop_button if turns > 0 else self.cancel_button).setFocus()

    def choose(self, choice: OverflowChoice) -> None:
        if not self.isHidden():
            self.hide()
            self.chosen.emit(choice)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.choose(OverflowChoice.CANCEL)
        else:
            super().keyPressEvent(event)
