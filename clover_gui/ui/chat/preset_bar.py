"""Chooses among presets: the makers' on top, then the person's own, which can be saved, renamed and deleted.

Must not know: how the values are set by hand, where presets are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from clover_gui.chat.options import ChatOptions
from clover_gui.chat.presets import Preset, Presets
from clover_gui.i18n import _, capped
from clover_gui.ui.chat.preset_name_dialog import PresetNameDialog
from clover_gui.ui.theme import Theme


@dataclass(frozen=True, slots=True)
class MakersPreset:
    """Values that come with the model. ``source`` says where they stand."""

    title: str
    source: str
    precise: bool


class PresetBar(QWidget):
    """``chosen`` carries a Preset whose values shall be shown, ``changed`` the Presets to be kept.

    A makers' preset leaves instructions and thinking as they are.
    """

    chosen = Signal(object)
    changed = Signal(object)

    def __init__(
        self,
        makers: Sequence[MakersPreset],
        presets: Presets,
        values: Preset,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._makers = makers
        self._presets = presets
        self._theme = theme
        self._values = values
        self._name = ""
        """Of two presets with the same values the one that was chosen."""
        self._by_hand: Preset | None = None
        """Values that are in no preset; they stay within reach while others are looked at."""
        self._deleted: list[tuple[Preset, bool]] = []
        """What was deleted here, and whether it was the one for new chats; the last one is last."""
        self.combo = QComboBox()
        self.combo.setAccessibleName(_("Preset"))
        self.combo.activated.connect(self._choose)
        self.save_button = QPushButton(_("Save as preset…"))
        self.rename_button = QPushButton(_("Rename…"))
        self.delete_button = QPushButton(_("Delete"))
        self.undo_button = QPushButton(_("Undo"))
        self.undo_button.setAccessibleName(_("Bring the deleted preset back"))
        self.undo_button.hide()
        for button, action in (
            (self.save_button, self._ask_name),
            (self.rename_button, self._ask_other_name),
            (self.delete_button, self._delete),
            (self.undo_button, self._undo),
        ):
            button.setAutoDefault(False)
            button.clicked.connect(action)
        self.delete_button.setAccessibleName(_("Delete the preset"))
        self.rename_button.setAccessibleName(_("Rename the preset"))
        self.default_box = QCheckBox(_("Use for new chats"))
        self.default_box.clicked.connect(self._set_default)
        self.note = QLabel()
        self.note.setObjectName("note")
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setWordWrap(True)
        buttons = QHBoxLayout()
        for widget in (self.save_button, self.rename_button, self.delete_button, self.undo_button):
            buttons.addWidget(widget)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.space(0.3))
        layout.addWidget(self.combo)
        layout.addWidget(self.note)
        layout.addLayout(buttons)
        layout.addWidget(self.default_box)
        self.show_values(values)

    def show_values(self, values: Preset) -> None:
        """These are set now: show which preset they are, if any."""
        self._values = values
        if self._own is None and (self._maker is None or values.instructions.strip()):
            self._by_hand = values
        self._fill()

    @property
    def _own(self) -> Preset | None:
        """The person's preset that is set now."""
        same = [preset for preset in self._presets.entries if preset.agrees_with(self._values)]
        return next((p for p in same if p.name == self._name), same[0] if same else None)

    @property
    def _maker(self) -> MakersPreset | None:
        """The makers' preset that is set now."""
        options = self._values.options
        return next((m for m in self._makers if options == ChatOptions(precise=m.precise)), None)

    def _fill(self) -> None:
        own, maker = self._own, self._maker
        items: list[tuple[str, object]] = [(makers.title, makers) for makers in self._makers]
        if self._by_hand is not None:
            items.append((_("Set by hand"), None))
        items += [(preset.name, preset) for preset in self._presets.entries]
        wanted: object = own or maker
        self.combo.clear()
        for title, data in items:
            self.combo.addItem(title, data)
        self.combo.setCurrentIndex(next(i for i, (_title, data) in enumerate(items) if data == wanted))
        if self._presets.entries:
            self.combo.insertSeparator(len(items) - len(self._presets.entries))
        if own is None:
            self.note.setText(capped(maker.source, 200) if maker else _("These values are in no preset."))
        else:
            self.note.setText("")
        self.note.setVisible(bool(self.note.text()))
        self.combo.setAccessibleDescription(self.note.text())
        self.rename_button.setEnabled(own is not None)
        self.delete_button.setEnabled(own is not None)
        self.default_box.setEnabled(own is not None or bool(maker and not maker.precise))
        default = self._presets.default
        self.default_box.setChecked(own.name == default if own else bool(maker) and not default)

    def _choose(self, index: int) -> None:
        data = self.combo.itemData(index)
        if isinstance(data, MakersPreset):
            data = replace(self._values, name="", options=ChatOptions(precise=data.precise))
        elif data is None:
            data = self._by_hand
        if isinstance(data, Preset):
            self._values, self._name = data, data.name
            self._fill()
            self.chosen.emit(data)

    def _keep(self, presets: Presets) -> None:
        self._presets = presets
        self._fill()
        self.changed.emit(presets)

    def _ask_name(self) -> None:
        own = self._own
        self._open_name(_("Save as preset"), own.name if own else self._name, self._save, may_replace=True)

    def _save(self, name: str) -> None:
        self._name, self._by_hand = name, None
        self._keep(self._presets.with_entry(replace(self._values, name=name)))

    def _ask_other_name(self) -> None:
        own = self._own
        if own is not None:
            self._open_name(
                _("Rename the preset"), own.name, lambda name: self._rename(own.name, name), may_replace=False
            )

    def _rename(self, old: str, new: str) -> None:
        self._name = new
        self._keep(self._presets.renamed(old, new))

    def _delete(self) -> None:
        own = self._own
        if own is not None:
            self._by_hand = replace(own, name="")
            self._deleted.append((own, self._presets.default == own.name))
            self._keep(self._presets.without(own.name))
            text = _("{name} is deleted. Its values are still set here. Undo or Cancel brings it back.")
            self.note.setText(text.format(name=own.name))
            self.note.show()
            self.undo_button.show()
            self.undo_button.setFocus()  # the button that had it is off now

    def _undo(self) -> None:
        self._name = self._deleted[-1][0].name
        self._bring_back([self._deleted.pop()])
        if not self._deleted:
            self.combo.setFocus()
            self.undo_button.hide()

    def take_deletions_back(self) -> None:
        """The person has cancelled: what was deleted here is there again."""
        deleted, self._deleted = self._deleted, []
        if deleted:
            self._bring_back(deleted[::-1])

    def _bring_back(self, deleted: Sequence[tuple[Preset, bool]]) -> None:
        presets = self._presets
        for preset, was_default in deleted:
            if presets.named(preset.name) is not None:
                continue  # another one was saved under its name
            presets = presets.with_entry(preset)
            if was_default and not presets.default:
                presets = presets.with_default(preset.name)
        self._keep(presets)

    def _set_default(self, on: bool) -> None:
        own = self._own
        self._keep(self._presets.with_default(own.name if own is not None and on else ""))

    def _open_name(
        self, title: str, name: str, then: Callable[[str], None], *, may_replace: bool
    ) -> PresetNameDialog:
        def is_taken(other: str) -> bool:
            own = not may_replace and other.casefold() == name.casefold()
            return not own and self._presets.named(other) is not None

        dialog = PresetNameDialog(title, name, is_taken, self._theme, self, may_replace=may_replace)
        dialog.named.connect(then)
        dialog.open()
        return dialog
