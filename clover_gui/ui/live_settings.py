"""The settings of a running window: read once, changed by anybody, kept at every change.

Must not know what a setting means.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from clover_gui import settings as settings_file
from clover_gui.settings import Settings

log = logging.getLogger(__name__)


class LiveSettings:
    """``file`` None: they hold for this run only. ``changed`` gets the former and the new settings, before
    they are kept; ``not_saved`` the reason why they could not be."""

    def __init__(
        self,
        loaded: Settings,
        file: Path | None,
        changed: Callable[[Settings, Settings], None],
        not_saved: Callable[[OSError], None],
    ) -> None:
        self._settings = loaded
        self._file = file
        self._changed = changed
        self._not_saved = not_saved

    def current(self) -> Settings:
        """Those in force."""
        return self._settings

    def change(self, settings: Settings) -> None:
        """These are in force from now on."""
        former, self._settings = self._settings, settings
        if settings == former:
            return
        self._changed(former, settings)
        if self._file is None:
            return
        try:
            settings_file.save(self._file, settings)
        except OSError as error:
            log.warning("settings not saved: %s", error)
            self._not_saved(error)
