"""Fills the page of places, and leads from its buttons to the dialogs for moving and removing.

Must not know: how files are moved or removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QMessageBox
from shiboken6 import isValid

from clover_gui.catalog.index import load_catalog
from clover_gui.catalog.places import package_file
from clover_gui.i18n import _, capped, file_size, ngettext, number
from clover_gui.paths import PORTABLE_NAME, DataFolder, cache_folder, portable_folder, program_folder
from clover_gui.settings import models_folder
from clover_gui.storage.belongings import Belonging, belongings, check_listable
from clover_gui.storage.places import Locations, Place, PlaceKind, find_places, size_of
from clover_gui.ui.settings.models_move import ModelsMove, SettingsAccess
from clover_gui.ui.settings.places_page import PlacesPage, ShownPlace
from clover_gui.ui.settings.remove_dialog import RemoveDialog
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme

_FOLDER_LIMIT = 200


class PlacesPresenter(QObject):
    """``removal_agreed`` carries the places that are to be removed once the program has closed."""

    removal_agreed = Signal(object)

    def __init__(
        self, data: DataFolder, settings: SettingsAccess, move: ModelsMove, theme: Theme, tasks: TaskSet
    ) -> None:
        super().__init__()
        self._data = data
        self._settings = settings
        self._move = move
        self._theme = theme
        self._tasks = tasks
        self._page: PlacesPage | None = None
        move.ended.connect(self._refresh)

    def make_page(self) -> PlacesPage:
        """A page for one opening of the settings."""
        program = program_folder()
        portable = self._data.root if self._data.root == portable_folder() else None
        page = PlacesPage(self._theme, portable, program / PORTABLE_NAME if program is not None else None)
        page.places_wanted.connect(self._refresh)
        page.move_requested.connect(lambda: self._choose_folder(page))
        page.remove_requested.connect(lambda: self._ask_to_remove(page))
        self._page = page
        return page

    def _locations(self) -> Locations:
        return Locations(self._data, models_folder(self._settings.current(), self._data), cache_folder())

    # ------------------------------------------------------------ sizes

    def _refresh(self) -> None:
        page = self._page
        if page is not None and isValid(page):
            self._tasks.start(self._show_sizes(page), "sizes of the places")

    async def _show_sizes(self, page: PlacesPage) -> None:
        in_use = self._settings.current().model_path
        shown = await asyncio.to_thread(_shown_places, self._locations(), in_use)
        if isValid(page):
            page.show_places(shown)

    # ------------------------------------------------------------ moving

    def _choose_folder(self, page: PlacesPage) -> None:
        chooser = QFileDialog(page.window(), _("New folder for the models"))
        chooser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chooser.setFileMode(QFileDialog.FileMode.Directory)
        chooser.setOption(QFileDialog.Option.ShowDirsOnly)
        chooser.fileSelected.connect(lambda name: self.choose_target(Path(name), page))
        chooser.open()

    def choose_target(self, target: Path, page: PlacesPage) -> None:
        """The person picked a folder: say what would move, and ask."""
        self._tasks.start(self._ask_to_move(target, page), "look what would move")

    async def _ask_to_move(self, target: Path, page: PlacesPage) -> None:
        source = self._locations().models
        items, is_away = await asyncio.to_thread(_look, source, target, self._data.models)
        if not isValid(page):
            return
        box = QMessageBox(page.window())
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setObjectName("moveQuestion")
        box.setIcon(QMessageBox.Icon.Question)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setWindowTitle(_("Moving the models"))
        box.setText(_away_text() if is_away else _move_text(items))
        box.setInformativeText(
            _("From {old} to {new}").format(
                old=capped(str(source), _FOLDER_LIMIT), new=capped(str(target), _FOLDER_LIMIT)
            )
        )
        if items:
            move = box.addButton(_("Move"), QMessageBox.ButtonRole.AcceptRole)
            move.clicked.connect(lambda: self._move.start(source, target, page.window()))
            use_text = _("Use that folder from now on, move nothing")
        else:
            use_text = _("Use that folder from now on")
        use = box.addButton(use_text, QMessageBox.ButtonRole.ActionRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        use.clicked.connect(lambda: self._use_folder(target))
        box.open()

    def _use_folder(self, target: Path) -> None:
        folder = "" if target == self._data.models else str(target)
        self._settings.change(replace(self._settings.current(), models_folder=folder))
        self._refresh()

    # ------------------------------------------------------------ removing

    def _ask_to_remove(self, page: PlacesPage) -> None:
        self._tasks.start(self._show_removal(page), "look what would be removed")

    async def _show_removal(self, page: PlacesPage) -> None:
        found = await asyncio.to_thread(_places_with_sizes, self._locations())
        if isValid(page):
            dialog = RemoveDialog(found, self._theme, page.window())
            dialog.agreed.connect(self.removal_agreed)
            dialog.open()


def _places_with_sizes(locations: Locations) -> list[tuple[Place, int]]:
    return [(place, size_of(place.own)) for place in find_places(locations)]


def _shown_places(locations: Locations, in_use: str) -> list[ShownPlace]:
    shown = []
    for place, size in _places_with_sizes(locations):
        if place.kind is PlaceKind.MODELS:
            # Also those that the person put there: they are in use here, and would be moved.
            size = sum(item.size_bytes for item in belongings(locations.models, every_model=True))
            shown.append(ShownPlace(place.kind, place.folder, size, _remark(locations.models, in_use)))
        else:
            shown.append(ShownPlace(place.kind, place.folder, size))
    return shown


def _remark(models: Path, in_use: str) -> str:
    """Why the model in use is not among those of the folder."""
    path = Path(in_use)
    if not in_use or path.is_relative_to(models) or not path.is_file():
        return ""
    entries = (entry for entry in load_catalog().entries if entry.package)
    if path in [package_file(entry.package, entry.package_file) for entry in entries]:
        return _("The model in use came with the program's set-up, so it is not counted here.")
    folder = capped(str(path.parent), _FOLDER_LIMIT)
    return _("The model in use lies elsewhere, so it is not counted here: {folder}").format(folder=folder)


def _look(source: Path, target: Path, usual: Path) -> tuple[tuple[Belonging, ...], bool]:
    """What would move, and whether the folder with the models is away. The usual one is made when needed."""
    try:
        check_listable(source)
    except FileNotFoundError:
        return (), source != usual
    except OSError:
        return (), True
    return belongings(source, every_model=True, without=target), False


def _away_text() -> str:
    return _("The folder with the models cannot be read now, so nothing can be moved. Is its disk connected?")


def _move_text(items: Sequence[Belonging]) -> str:
    models = [item for item in items if not item.is_download]
    size = file_size(sum(item.size_bytes for item in items))
    if not items:
        return _("There is no model to move yet. Everything new will go to that folder.")
    text = ngettext("Move {count} model, {size}?", "Move {count} models, {size}?", len(models))
    return text.format(count=number(len(models)), size=size)
