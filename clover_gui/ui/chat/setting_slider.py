"""One number of a model's settings: name, slider, value to type, and whether it is still the model's own.

Must not know: what the number means.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QSlider

from clover_gui.explain.sampling_words import SettingText
from clover_gui.i18n import _
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import IconButton
from clover_gui.ui.widgets.number_box import NumberBox


class SettingSlider(QObject):
    """Puts itself into a row of a grid. ``value`` is None as long as the model's own value is meant."""

    changed = Signal()

    def __init__(
        self,
        text: SettingText,
        usual: float,
        value: float | None,
        theme: Theme,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._text = text
        self._usual = usual
        self.value = value
        self._decimals = 0 if text.step >= 1 else 1 if text.step >= 0.1 else 2
        self.title = QLabel(text.title)
        self.title.setToolTip(text.explanation)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, round((text.high - text.low) / text.step))
        self.slider.setPageStep(max(1, self.slider.maximum() // 10))
        self.slider.setToolTip(text.explanation)
        self.slider.setAccessibleName(text.title)
        self.slider.setMinimumWidth(theme.space(9))
        self.shown = NumberBox(text.low, text.high, text.step, self._decimals, text.off)
        self.shown.setMinimumWidth(theme.space(7))
        self.shown.setAccessibleName(_("{name}, value").format(name=text.title))
        self.shown.setToolTip(text.explanation)
        self.shown.value_changed.connect(self._typed)
        self.reset_button = IconButton(
            theme, "regenerate", _("Back to the model's value: {name}").format(name=text.title)
        )
        self.reset_button.clicked.connect(self.reset)
        self.slider.valueChanged.connect(self._moved)
        self._show()

    def place(self, grid: QGridLayout, row: int) -> None:
        for column, widget in enumerate((self.title, self.slider, self.shown, self.reset_button)):
            grid.addWidget(widget, row, column)

    def disable(self, reason: str) -> None:
        """It cannot be set with this model; the reason is its tool tip."""
        for widget in (self.title, self.slider, self.shown):
            widget.setEnabled(False)
            widget.setToolTip(reason)
        self.slider.setAccessibleDescription(reason)
        self.reset_button.setEnabled(False)

    def reset(self) -> None:
        """Back to the model's own value."""
        self.set_value(None)
        self.changed.emit()

    def set_value(self, value: float | None) -> None:
        """Show this value; None: the model's own one."""
        self.value = value
        self._show()

    def set_usual(self, usual: float) -> None:
        """The model's own value has changed, for example with the preset."""
        self._usual = usual
        self._show()

    def _moved(self, steps: int) -> None:
        self._take(self._text.low + steps * self._text.step)
        self._show_value()
        self.changed.emit()

    def _typed(self, value: float) -> None:
        self._take(value)
        self._show()
        self.changed.emit()

    def _take(self, value: float) -> None:
        self.value = round(value, self._decimals) if self._decimals else round(value)

    def _show(self) -> None:
        value = self._usual if self.value is None else self.value
        self.slider.blockSignals(True)
        self.slider.setValue(round((value - self._text.low) / self._text.step))
        self.slider.blockSignals(False)
        self._show_value()

    def _show_value(self) -> None:
        value = self._usual if self.value is None else self.value
        self.shown.set_value(value)
        words = self.shown.text()
        mine = self.value is not None
        self.shown.set_own(mine)
        self.reset_button.setEnabled(mine and self.slider.isEnabled())
        self.reset_button.set_revealed(mine)
        if not self.slider.isEnabled():
            return  # the reason stands there
        self.slider.setAccessibleDescription(
            words if mine else _("{value}, the model's own value").format(value=words)
        )
