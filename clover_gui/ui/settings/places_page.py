"""Where everything lies and how much it is, with buttons that open it, move the models, or remove it all.

Must not know: how sizes are found, how models are moved, what removing means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QPushButton, QWidget

from clover_gui.i18n import _, capped, file_size
from clover_gui.storage.places import PlaceKind
from clover_gui.ui.settings.place_words import place_note, place_title
from clover_gui.ui.settings.settings_page import SettingsPage, note_label
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.elided_label import ElidedLabel

_PATH_LIMIT = 400


@dataclass(frozen=True, slots=True)
class ShownPlace:
    """One kind of things: its folder, its size in bytes, and what is to be said about that."""

    kind: PlaceKind
    folder: Path
    size_bytes: int
    remark: str = ""


class PlacesPage(SettingsPage):
    """``show_places`` fills it; the buttons only ask."""

    move_requested = Signal()
    remove_requested = Signal()
    places_wanted = Signal()
    """The page is seen for the first time: now the sizes are worth the work."""

    def __init__(
        self, theme: Theme, portable: Path | None, possible: Path | None, parent: QWidget | None = None
    ) -> None:
        """``portable`` is the folder beside the program if it is in use, ``possible`` where one could be."""
        super().__init__(_("Places"), parent)
        self._asked = False
        self.rows = {kind: _PlaceRow(kind, theme) for kind in PlaceKind}
        self.move_button = QPushButton(_("Move the models to another folder…"))
        self.move_button.clicked.connect(self.move_requested)
        self.remove_button = QPushButton(_("Remove everything…"))
        self.remove_button.clicked.connect(self.remove_requested)
        for button in (self.move_button, self.remove_button):
            button.setEnabled(False)
        for kind, row in self.rows.items():
            self.add(row)
            if kind is PlaceKind.MODELS:
                self.add(_left(self.move_button))
        self.add_gap()
        self.portable_note = note_label(_portable_text(portable, possible))
        self.add(self.portable_note)
        self.add_gap()
        self.add(_left(self.remove_button))

    def show_places(self, places: Sequence[ShownPlace]) -> None:
        """The sizes are known."""
        for place in places:
            self.rows[place.kind].show_place(place)
        for button in (self.move_button, self.remove_button):
            button.setEnabled(True)

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        if not self._asked:
            self._asked = True
            self.places_wanted.emit()


class _PlaceRow(QFrame):
    """Title and size, what it is, the folder, in lines below each other; a button beside them."""

    def __init__(self, kind: PlaceKind, theme: Theme) -> None:
        super().__init__()
        self._folder: Path | None = None
        title = QLabel(place_title(kind))
        title.setObjectName("cardTitle")
        self.size_label = QLabel("…")
        self.size_label.setTextFormat(Qt.TextFormat.PlainText)
        self.folder = ElidedLabel()
        self.folder.setObjectName("note")
        self.folder.setTextFormat(Qt.TextFormat.PlainText)
        self.open_button = QPushButton(_("Open the folder"))
        self.open_button.setAccessibleName(_("Open the folder: {what}").format(what=place_title(kind)))
        self.open_button.setEnabled(False)
        self.open_button.clicked.connect(self._open)
        self.remark = note_label()
        self.remark.hide()
        head = QHBoxLayout()
        head.setSpacing(theme.space(0.5))
        head.addWidget(title)
        head.addWidget(self.size_label, 1)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, theme.space(0.3), 0, theme.space(0.3))
        layout.setVerticalSpacing(theme.space(0.1))
        layout.setHorizontalSpacing(theme.space(1))
        layout.setColumnStretch(0, 1)
        layout.addLayout(head, 0, 0)
        for row, label in enumerate((note_label(place_note(kind)), self.folder, self.remark), start=1):
            layout.addWidget(label, row, 0)
        # In a column of its own, so that no line of text runs below it.
        layout.addWidget(self.open_button, 0, 1, 4, 1, Qt.AlignmentFlag.AlignTop)

    def show_place(self, place: ShownPlace) -> None:
        self._folder = place.folder
        text = file_size(place.size_bytes)
        self.size_label.setText(text)
        path = capped(str(place.folder), _PATH_LIMIT)
        self.folder.setText(path)
        self.folder.setToolTip(path)
        self.remark.setText(place.remark)
        self.remark.setVisible(bool(place.remark))
        self.open_button.setEnabled(True)
        self.open_button.setAccessibleDescription(f"{text}, {path}")

    def _open(self) -> None:
        folder = self._folder
        while folder is not None and not folder.is_dir() and folder != folder.parent:
            folder = folder.parent  # nothing of this kind is there yet
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def _portable_text(portable: Path | None, possible: Path | None) -> str:
    if portable is not None:
        return _("This program is portable: everything lies in {folder}, beside the program.").format(
            folder=capped(str(portable), _PATH_LIMIT)
        )
    if possible is not None:
        return _(
            "To carry the program with everything, on a stick for example: make an empty folder {folder}"
            " and start again. Everything new is then kept there."
        ).format(folder=capped(str(possible), _PATH_LIMIT))
    return ""


def _left(button: QPushButton) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(button)
    row.addStretch(1)
    return holder
