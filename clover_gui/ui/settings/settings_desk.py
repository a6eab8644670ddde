"""Puts the settings' dialog together: its pages, what they ask for, what they change beside the settings.

Must not know: how the window and its parts are made.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from clover_gui.download.access_token import AccessToken, forget_token, load_token, save_token
from clover_gui.paths import DataFolder
from clover_gui.ui.settings.engine_page import EnginePage
from clover_gui.ui.settings.engine_presenter import EnginePresenter
from clover_gui.ui.settings.general_page import GeneralPage
from clover_gui.ui.settings.memory_page import MemoryPage
from clover_gui.ui.settings.models_move import ModelsMove, ModelUse, SettingsAccess
from clover_gui.ui.settings.network_page import NetworkPage, TokenState
from clover_gui.ui.settings.places_presenter import PlacesPresenter
from clover_gui.ui.settings.settings_dialog import SettingsDialog
from clover_gui.ui.settings.settings_page import SettingsPage
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme

log = logging.getLogger(__name__)


class SettingsDesk(QObject):
    """``removal_agreed`` carries the places that are to be removed once the program has closed."""

    removal_agreed = Signal(object)

    def __init__(
        self,
        window: QWidget,
        data: DataFolder,
        settings: SettingsAccess,
        engines: EnginePresenter,
        use: ModelUse,
        theme: Theme,
        tasks: TaskSet,
        not_saved: Callable[[OSError], None],
    ) -> None:
        """``not_saved`` is told when something outside the settings' file could not be written."""
        super().__init__(window)
        self._window = window
        self._data = data
        self._settings = settings
        self._engines = engines
        self._theme = theme
        self._not_saved = not_saved
        self.move = ModelsMove(data, settings, use, theme, tasks)
        self.places = PlacesPresenter(data, settings, self.move, theme, tasks)
        self.places.removal_agreed.connect(self.removal_agreed)

    def open(self, *, engine_first: bool = False) -> SettingsDialog:
        """Show the settings, with the page "Engine" first if that is what is asked for."""
        pages = self._pages()
        dialog = SettingsDialog(self._settings.current, pages, self._theme, self._window)
        dialog.saved.connect(self._settings.change)
        if engine_first:
            dialog.show_page(next(page for page in pages if isinstance(page, EnginePage)))
        dialog.open()
        return dialog

    def _pages(self) -> tuple[SettingsPage, ...]:
        settings = self._settings.current()
        return (
            GeneralPage(settings),
            MemoryPage(settings),
            EnginePage(self._engines),
            self.places.make_page(),
            NetworkPage(settings, self._token_state(), self._keep_token),
        )

    def _token_state(self) -> TokenState:
        kept = load_token(self._data.access_token)
        in_environment = bool(os.environ.get("HF_TOKEN", "").strip())
        return TokenState(self._data.access_token, kept.endpoint if kept else "", in_environment)

    def _keep_token(self, token: AccessToken | None) -> None:
        try:
            if token is None:
                forget_token(self._data.access_token)
            else:
                save_token(self._data.access_token, token)
        except OSError as error:
            log.warning("the access token was not kept: %s", error.strerror)
            self._not_saved(error)
