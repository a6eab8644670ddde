"""Instructions and settings of one chat: what the model is told, how it chooses words, how long it may be.

Built from the settings' own descriptions; all of it can be kept as a preset. Must not know: the store, the
engine, where presets are kept.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QIntValidator
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from clover_gui.chat.options import ChatOptions
from clover_gui.chat.presets import Preset, Presets
from clover_gui.engine.protocol import Limits, Sampling
from clover_gui.explain.sampling_words import SettingText, limit_settings, preset_title, sampling_settings
from clover_gui.i18n import _
from clover_gui.ui.chat.preset_bar import MakersPreset, PresetBar
from clover_gui.ui.chat.setting_slider import SettingSlider
from clover_gui.ui.theme import Theme

_LIMITS = ("thinking_tokens", "answer_tokens")


@dataclass(frozen=True, slots=True)
class UsualValues:
    """What the model's makers say, and where. ``precise`` None: they have no values for code and facts."""

    thinking: Sampling
    direct: Sampling
    precise: Sampling | None = None
    source: str = ""
    precise_source: str = ""
    can_switch_thinking: bool = True
    no_thinking: str = ""
    """Why the model does not think before it answers; "": it does."""
    context: int = 0
    """Tokens of the loaded model's context; no text of it can be longer. 0: not known."""

    def presets(self) -> tuple[MakersPreset, ...]:
        """For the top of the list of presets."""
        usual = MakersPreset(preset_title(""), self.source, precise=False)
        if self.precise is None:
            return (usual,)
        return (usual, MakersPreset(preset_title("precise"), self.precise_source, precise=True))


class OptionsDialog(QDialog):
    """Opened with ``open()``; ``saved`` carries a Preset without a name: what this chat shall have.

    ``presets_changed`` carries the Presets as soon as one is saved, renamed or deleted.
    """

    saved = Signal(object)
    presets_changed = Signal(object)

    def __init__(
        self,
        values: Preset,
        usual: UsualValues,
        presets: Presets,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        """``values.thinking`` is the chat's switch."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("optionsDialog")
        self.setWindowTitle(_("This chat"))
        self._usual = usual
        self._filling = False
        options = values.options
        self._precise = options.precise and usual.precise is not None
        texts = {text.field: text for text in (*sampling_settings(), *self._limits())}
        self.presets = PresetBar(usual.presets(), presets, values, theme)
        self.instructions = QPlainTextEdit(values.instructions)
        self.instructions.setProperty("kind", "field")
        self.instructions.setTabChangesFocus(True)
        self.instructions.setAccessibleName(_("Instructions"))
        self.instructions.setPlaceholderText(_("For example: Answer briefly and in simple words."))
        self.instructions.setFixedHeight(theme.space(5.5))
        self.think = QCheckBox(_("Think before the answer"))
        self.think.setChecked(bool(values.thinking))
        self.think.setVisible(usual.can_switch_thinking)
        self.json_only = QCheckBox(texts["json_only"].title)
        self.json_only.setToolTip(texts["json_only"].explanation)
        self.json_only.setChecked(options.json_only)
        self.seed = QLineEdit("" if options.seed is None else str(options.seed))
        self.seed.setValidator(QIntValidator(0, 2**31 - 1, self))
        self.seed.setPlaceholderText(_("another one each time"))
        self.seed.setAccessibleName(texts["seed"].title)
        self.seed.setToolTip(texts["seed"].explanation)
        self.sliders = {
            text.field: SettingSlider(text, self._usual_of(text), getattr(options, text.field), theme, self)
            for text in texts.values()
            if text.step and text.field in _SLIDERS
        }
        if usual.no_thinking:
            self.sliders["thinking_tokens"].disable(usual.no_thinking)
        self.defaults_button = QPushButton(_("Back to the model's defaults"))
        self.defaults_button.clicked.connect(self._reset)
        self._place(theme, texts)
        self._show_usual()
        self._connect()

    def _connect(self) -> None:
        self.instructions.textChanged.connect(self._changed)
        self.think.toggled.connect(self._changed)
        self.json_only.toggled.connect(self._changed)
        self.seed.textChanged.connect(self._changed)
        for slider in self.sliders.values():
            slider.changed.connect(self._changed)
        self.presets.chosen.connect(self._fill)
        self.presets.changed.connect(self.presets_changed)

    def _place(self, theme: Theme, texts: dict[str, SettingText]) -> None:
        content = QWidget()
        content.setObjectName("dialogContent")
        grid = QGridLayout(content)
        grid.setHorizontalSpacing(theme.space(0.7))
        grid.setVerticalSpacing(theme.space(0.25))
        grid.setColumnStretch(1, 1)
        row = _Rows(grid)
        row.heading(_("Preset"))
        row.wide(self.presets)
        row.heading(_("Instructions"))
        row.wide(_note(_("What the model is told before everything else in this chat.")))
        row.wide(self.instructions)
        row.heading(_("Answer"))
        row.wide(self.think)
        row.wide(self.json_only)
        for name in _LIMITS:
            self.sliders[name].place(grid, row.next())
        row.heading(_("How words are chosen"))
        for name, slider in self.sliders.items():
            if name not in _LIMITS:
                slider.place(grid, row.next())
        row.pair(texts["seed"].title, self.seed)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(content)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(self.defaults_button, QDialogButtonBox.ButtonRole.ResetRole)
        self.save_button = buttons.addButton(_("Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.save_button.setProperty("kind", "primary")
        buttons.accepted.connect(self._accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(area)
        layout.addWidget(buttons)
        self.resize(theme.space(36), min(theme.space(42), content.sizeHint().height() + theme.space(5)))
        self.instructions.setFocus()

    def options(self) -> ChatOptions:
        """What is set in the dialog now."""
        values: dict[str, Any] = {name: slider.value for name, slider in self.sliders.items()}
        return ChatOptions(
            precise=self._precise,
            json_only=self.json_only.isChecked(),
            seed=int(self.seed.text()) if self.seed.text() else None,
            **values,
        )

    def values(self) -> Preset:
        """Everything that is set in the dialog now."""
        thinking = self.think.isChecked() if self._usual.can_switch_thinking else None
        return Preset("", self.instructions.toPlainText(), self.options(), thinking)

    def _accept(self) -> None:
        self.saved.emit(self.values())
        self.accept()

    def reject(self) -> None:
        self.presets.take_deletions_back()
        super().reject()

    def _changed(self) -> None:
        """Something was set by hand."""
        if not self._filling:
            self._show_usual()
            self.presets.show_values(self.values())

    def _fill(self, values: Preset) -> None:
        """Show these values, for example of a preset."""
        self._filling = True
        options = values.options
        self._precise = options.precise and self._usual.precise is not None
        if self.instructions.toPlainText() != values.instructions:
            self.instructions.setPlainText(values.instructions)
        if values.thinking is not None:
            self.think.setChecked(values.thinking)
        self.json_only.setChecked(options.json_only)
        self.seed.setText("" if options.seed is None else str(options.seed))
        for name, slider in self.sliders.items():
            slider.set_value(getattr(options, name))
        self._filling = False
        self._show_usual()

    def _reset(self) -> None:
        self._fill(Preset("", self.instructions.toPlainText()))
        self.presets.show_values(self.values())

    def _show_usual(self) -> None:
        for text in (*sampling_settings(), *self._limits()):
            if text.field in self.sliders:
                self.sliders[text.field].set_usual(self._usual_of(text))

    def _limits(self) -> list[SettingText]:
        """Thoughts and answer can be no longer than the context."""
        most = self._usual.context
        return [
            dataclasses.replace(text, high=min(text.high, most)) if most and text.field in _LIMITS else text
            for text in limit_settings()
        ]

    def _usual_of(self, text: SettingText) -> float:
        if text.field in _LIMITS:
            return min(text.high, float(getattr(Limits(), text.field)))
        usual = self._usual.thinking if self.think.isChecked() else self._usual.direct
        precise = self._usual.precise if self._precise and self.think.isChecked() else None
        return float(getattr(precise or usual, text.field))


_SLIDERS = {field.name for field in dataclasses.fields(ChatOptions)} - {"precise", "json_only", "seed"}


class _Rows:
    """Fills a grid of four columns from top to bottom."""

    def __init__(self, grid: QGridLayout) -> None:
        self._grid = grid
        self._row = -1

    def next(self) -> int:
        self._row += 1
        return self._row

    def heading(self, text: str) -> None:
        label = QLabel(text)
        label.setObjectName("cardTitle")
        label.setContentsMargins(0, 6 if self._row >= 0 else 0, 0, 0)
        self.wide(label)

    def wide(self, widget: QWidget) -> None:
        self._grid.addWidget(widget, self.next(), 0, 1, 4)

    def pair(self, name: str, widget: QWidget) -> None:
        row = self.next()
        self._grid.addWidget(QLabel(name), row, 0)
        self._grid.addWidget(widget, row, 1, 1, 2)


def _note(text: str) -> QLabel:
    label = QLabel(text)
    label.setObjectName("note")
    label.setWordWrap(True)
    return label
