"""One calm line when a newer version is there. Must not know: how that is found out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QObject

from clover_gui.i18n import _, capped
from clover_gui.pipeline.new_version import RELEASES_PAGE
from clover_gui.ui.links import ask_to_open
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.tasks import TaskSet

KEY = "new-version"


class NewVersionNotice(QObject):
    """``look`` asks once; the line stands on the page that is shown."""

    def __init__(self, window: MainWindow, tasks: TaskSet) -> None:
        super().__init__(window)
        self._window = window
        self._tasks = tasks
        for page in (window.setup_page, window.chat_page):
            page.notice.action_triggered.connect(self._triggered)

    def look(self, ask: Callable[[], str]) -> None:
        """``ask`` blocks and gives the number of a newer version, or ""."""
        self._tasks.start(self._look(ask), "newer version")

    async def _look(self, ask: Callable[[], str]) -> None:
        version = await asyncio.to_thread(ask)
        if version:
            self._show(version)

    def _show(self, version: str) -> None:
        page = self._window.pages.currentWidget()
        setup, chat = self._window.setup_page, self._window.chat_page
        notice = chat.notice if page is chat else setup.notice
        text = _("Version {version} is available.").format(version=capped(version, 30))
        notice.show_notice(text, action=(KEY, _("Open its page…")), about=KEY, lasting=True)

    def _triggered(self, key: str) -> None:
        if key == KEY:
            ask_to_open(RELEASES_PAGE, self._window)
