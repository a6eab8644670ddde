"""What would be removed, exactly, before anything is. Must not know: how it is removed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from clover_gui.i18n import _, capped, file_size, ngettext, number
from clover_gui.storage.places import Place, PlaceKind
from clover_gui.ui.settings.place_words import place_title
from clover_gui.ui.settings.settings_page import note_label
from clover_gui.ui.theme import Theme

_NAMES_SHOWN = 200


class RemoveDialog(QDialog):
    """Opened with ``open()``; ``agreed`` carries the places that the person wants removed."""

    agreed = Signal(object)

    def __init__(
        self, places: Sequence[tuple[Place, int]], theme: Theme, parent: QWidget | None = None
    ) -> None:
        """``places`` with their sizes in bytes."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("removeDialog")
        self.setWindowTitle(_("Remove everything"))
        self._places = places
        chats = sum(size for place, size in places if place.kind is PlaceKind.CHATS)
        self.list = QPlainTextEdit()
        self.list.setProperty("kind", "field")
        self.list.setReadOnly(True)
        self.list.setTabChangesFocus(True)
        self.list.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.list.setAccessibleName(_("What will be removed"))
        self.chats_too = QCheckBox(_("Remove my chats as well ({size})").format(size=file_size(chats)))
        self.chats_too.toggled.connect(lambda _on: self._show())
        self.total = QLabel()
        self.total.setObjectName("cardTitle")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.remove_button = buttons.addButton(
            _("Remove and quit"), QDialogButtonBox.ButtonRole.DestructiveRole
        )
        self.remove_button.setAutoDefault(False)
        cancel = buttons.button(QDialogButtonBox.StandardButton.Cancel)
        cancel.setDefault(True)
        self.remove_button.clicked.connect(self._agree)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(note_label(_("These files are removed for good; they do not go to the waste bin.")))
        layout.addWidget(self.list, 1)
        layout.addWidget(self.chats_too)
        layout.addWidget(self.total)
        if others := sum(place.others for place, _size in places):
            layout.addWidget(
                note_label(
                    ngettext(
                        "{count} model file that this program did not bring stays.",
                        "{count} model files that this program did not bring stay.",
                        others,
                    ).format(count=number(others))
                )
            )
        layout.addWidget(
            note_label(
                _("The program closes then. The program itself is removed in the way it was installed.")
            )
        )
        layout.addWidget(buttons)
        self.resize(theme.space(40), theme.space(30))
        self._show()
        cancel.setFocus()

    def _chosen(self) -> list[tuple[Place, int]]:
        return [
            (place, size)
            for place, size in self._places
            if place.own and (place.kind is not PlaceKind.CHATS or self.chats_too.isChecked())
        ]

    def _show(self) -> None:
        chosen = self._chosen()
        lines = []
        for place, size in chosen:
            lines.append(f"{place_title(place.kind)}: {file_size(size)}")
            lines += [f"    {_shown(path)}" for path in place.own[:_NAMES_SHOWN]]
            if len(place.own) > _NAMES_SHOWN:
                more = len(place.own) - _NAMES_SHOWN
                lines.append("    " + _("and {count} more").format(count=number(more)))
        self.list.setPlainText("\n".join(lines) or _("There is nothing to remove."))
        total = sum(size for _place, size in chosen)
        self.total.setText(_("Together {size}").format(size=file_size(total)))
        self.remove_button.setEnabled(bool(chosen))

    def _agree(self) -> None:
        self.agreed.emit([place for place, _size in self._chosen()])
        self.accept()


def _shown(path: Path) -> str:
    return capped(str(path), 300)
