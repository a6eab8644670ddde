"""A number that can be typed, written as the language in force writes it. Must not know: what it means."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from clover_gui.i18n import current_language, number

_STEPS = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}


class NumberBox(QLineEdit):
    """Takes a value when it is typed to its end; the arrow keys go on by a step. ``off`` stands in place of
    the lowest value."""

    value_changed = Signal(float)
    """The person has chosen another one."""

    def __init__(
        self,
        low: float,
        high: float,
        step: float,
        decimals: int,
        off: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setProperty("kind", "value")
        self._low, self._high, self._step = low, high, step
        self._decimals = decimals
        self._off = off
        self._value = low
        self.editingFinished.connect(self._typed)
        self.set_value(low)
        self.set_own(True)

    @property
    def value(self) -> float:
        return self._value

    def set_value(self, value: float) -> None:
        """Show this value; it may be outside of the range, as one from before."""
        self._value = value
        off = self._off if value <= self._low else ""
        self.setText(off or number(value, self._decimals))

    def set_own(self, own: bool) -> None:
        """Whether the person has chosen the value; another one is drawn paler."""
        if own != self.property("own"):
            self.setProperty("own", own)
            self.style().unpolish(self)
            self.style().polish(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self._typed()
            self._choose(self._value + step * self._step)

    def _typed(self) -> None:
        value = _parsed(self.text())
        if value is None:  # also the word in place of the lowest one
            self.set_value(self._value)
        else:
            self._choose(value)

    def _choose(self, value: float) -> None:
        chosen = round(min(self._high, max(self._low, value)), self._decimals)
        # A value that was only shown is not chosen by passing through the field.
        is_news = chosen != round(self._value, self._decimals)
        if is_news:
            self._value = chosen
        self.set_value(self._value)
        if is_news:
            self.value_changed.emit(chosen)


def _parsed(text: str) -> float | None:
    """The number in the form of the language in force, None if it is none."""
    group, point = (".", ",") if current_language() == "de" else (",", ".")
    plain = text.strip().replace(group, "").replace(point, ".")
    digits = plain.removeprefix("-")
    if not digits.isascii() or not digits.replace(".", "", 1).isdecimal():
        return None
    return float(plain)
