"""The composition root of the window: makes the parts, hands each what it needs, starts and ends them.

Order: Qt and the window first (so that something is seen at once), then engine and chat store; at the end
the running answer is stopped and saved, then the engine ends.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QUrl
from PySide6.QtGui import QDesktopServices, QIcon
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from clover_gui import i18n, resources
from clover_gui import settings as settings_file
from clover_gui.errors import CloverError, DataFolderError
from clover_gui.i18n import _
from clover_gui.logs import start_logging
from clover_gui.paths import DataFolder
from clover_gui.settings import Settings
from clover_gui.ui import loop
from clover_gui.ui.errors import ErrorReporter, show_and_wait
from clover_gui.ui.file_open import FileOpenWatcher
from clover_gui.ui.first_picture import first_picture
from clover_gui.ui.garbage import UiThreadCollector
from clover_gui.ui.live_settings import LiveSettings
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.open_model_dialog import open_model_dialog
from clover_gui.ui.qt_language import QtLanguage
from clover_gui.ui.settings.diagnostics_dialog import DiagnosticsDialog
from clover_gui.ui.single_instance import SingleInstance
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.widgets.notice_bar import NoticeKind

if TYPE_CHECKING:
    from clover_gui.storage.places import Place
    from clover_gui.ui.workspace import Workspace

log = logging.getLogger(__name__)


Driver = Callable[[MainWindow, "Workspace"], Awaitable[int]]
"""What runs the window instead of a person; its result is the exit code."""


def run_window(model: str, data: DataFolder, driver: Driver | None = None) -> int:
    """Open the window and run until it is closed, or until ``driver`` has ended; the exit code.

    ``model``: a file or name to load at once, "" for the last one.
    """
    qt = QApplication(["clover-gui"])
    qt.setApplicationName("clover-gui")
    qt.setDesktopFileName("clover-gui")
    qt.setWindowIcon(QIcon(str(resources.path("icons/clover.svg"))))
    return Application(qt, model, data).run(driver)


class Application:
    """One run of the window."""

    def __init__(self, qt: QApplication, model: str, data: DataFolder) -> None:
        self._collector = UiThreadCollector()
        self._qt = qt
        self._model = model
        self._data = data
        loaded = settings_file.load(data.settings)
        self._setting_problems = loaded.problems
        self._folder_problem = _folder_problem(data)
        file = data.settings if self._folder_problem is None else None
        self._settings = LiveSettings(loaded.settings, file, self._settings_changed, self._say_not_saved)
        self._qt_language = QtLanguage(qt)
        self._qt_language.apply()
        self._theme = Theme()
        self._theme.apply(qt, Mode(loaded.settings.theme))
        logging_now = start_logging(None if self._folder_problem else data.logs, "window", quiet=True)
        self._recent_log: Callable[[], list[str]] = lambda: list(logging_now.recent.lines)
        self._reporter = ErrorReporter(self._recent_log)
        self._tasks = TaskSet(self._reporter.report)
        self._instance = SingleInstance(data.root, data.instance_lock)
        self._is_started = False
        self._waiting_file = ""  # asked for before the pages could show it
        self._to_remove: list[Place] = []

    def run(self, driver: Driver | None = None) -> int:
        """From the first window to the last word; the exit code."""
        try:
            if self._instance.acquire():
                return self._run_window(driver)
            if self._instance.hand_over(self._named_file()):
                return 0
            self._say_taken()
            return 1
        finally:
            self._qt_language.end()
            self._collector.end()

    def _run_window(self, driver: Driver | None) -> int:
        self._reporter.install()
        self.window = MainWindow(self._theme)
        self._reporter.set_window(self.window)
        self.window.restore_place(self._settings.current().window)
        self.window.show()
        self._instance.raise_requested.connect(self.window.come_forward)
        self._instance.open_requested.connect(self._open_from_outside)
        if sys.platform == "darwin":  # a filter costs a little with every event
            self._file_watcher = FileOpenWatcher()
            self._file_watcher.file_opened.connect(self._open_from_outside)
            self._qt.installEventFilter(self._file_watcher)
        signal.signal(signal.SIGINT, lambda _number, _frame: self.window.close())
        try:
            return loop.run(self._qt, lambda: self._main(driver), self._reporter.report)
        except Exception as error:
            if driver is not None:
                raise
            self._reporter.last_words(error)
            return 1
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._instance.release()
            if self._to_remove:
                from clover_gui.ui.last_removal import remove_at_end

                remove_at_end(self._to_remove, self._data.root)
            self.window.deleteLater()
            self._qt.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def _named_file(self) -> str:
        """The file that the first window shall show, in full: its process may stand in another folder."""
        if not self._model:
            return ""
        from clover_gui.catalog.index import resolve_model

        folder = settings_file.models_folder(self._settings.current(), self._data)
        try:
            return str(resolve_model(self._model, folder))
        except (CloverError, OSError, ValueError):
            return str(Path(self._model).absolute())

    def _open_from_outside(self, file: str) -> None:
        """A model file from a second start or from the system's file manager."""
        if self._is_started:
            self.workspace.open_file(Path(file))
        else:
            self._waiting_file = file

    def _say_taken(self) -> None:
        """Another window has this data folder and does not answer: two of them would harm the chats."""
        text = _("Clover is already open on this folder, but it does not answer. End that window first.")
        log.warning("another window holds the data folder and does not answer")
        show_and_wait(_("Already open"), f"{text}\n{self._data.root}")

    async def _main(self, driver: Driver | None) -> int:
        closing = asyncio.Event()
        self.window.close_requested.connect(closing.set)
        await first_picture(self.window)
        # Only now: what the first picture does not need would delay it by a third.
        from clover_gui.ui.workspace import Workspace

        self.workspace = Workspace(
            self.window,
            self._theme,
            self._tasks,
            self._data,
            self._settings.current,
            self._settings.change,
        )
        self._make_desk()
        self._connect()
        code = 0
        try:
            await self._desk.move.settle()
            last = self._settings.current().model_path
            await self.workspace.start(self._model or last, bool(self._model))
            self._is_started = True
            if self._waiting_file:
                self.workspace.open_file(Path(self._waiting_file))
            self._say_problems()
            await self._desk.move.offer_to_go_on(self.window)
            self._look_for_new_version()
            if driver is not None:
                code = await driver(self.window, self.workspace)
            else:
                await closing.wait()
        finally:
            self.window.hide()
            self._settings.change(replace(self._settings.current(), window=self.window.place))
            await self.workspace.end()
            await self._tasks.cancel_all()
            self.window.close_now()
        return code

    def _make_desk(self) -> None:
        """The settings, and what can be asked for there."""
        from clover_gui.ui.model_use import WindowModelUse
        from clover_gui.ui.new_version_notice import NewVersionNotice
        from clover_gui.ui.settings.models_move import SettingsAccess
        from clover_gui.ui.settings.settings_desk import SettingsDesk

        workspace = self.workspace
        self._desk = SettingsDesk(
            self.window,
            self._data,
            SettingsAccess(self._settings.current, self._settings.change),
            workspace.engines,
            WindowModelUse(workspace.engine, workspace.setup, lambda: workspace.chat),
            self._theme,
            self._tasks,
            self._say_not_saved,
        )
        self._desk.removal_agreed.connect(self._remove_at_the_end)
        self._new_version = NewVersionNotice(self.window, self._tasks)

    def _remove_at_the_end(self, places: list[Place]) -> None:
        """The files are in use as long as the window is there."""
        self._to_remove = places
        self.window.close()

    def _look_for_new_version(self) -> None:
        settings = self._settings.current()
        if not settings.look_for_new_versions:
            return
        from clover_gui.pipeline.new_version import NewVersionCheck

        self._new_version.look(NewVersionCheck(self._data.new_version, proxy=settings.proxy).look)

    def _connect(self) -> None:
        window = self.window
        window.chat_page.settings_requested.connect(self._open_settings)
        window.chat_page.diagnostics_requested.connect(self._open_diagnostics)
        window.setup_page.settings_requested.connect(self._open_settings)
        self.workspace.engines.page_requested.connect(lambda: self._show_settings(engine_first=True))
        window.open_file_requested.connect(self._open_file)
        window.setup_page.model_card.open_file_requested.connect(self._open_file)
        window.setup_page.model_card.page_requested.connect(lambda url: QDesktopServices.openUrl(QUrl(url)))

    def _say_problems(self) -> None:
        if self._folder_problem is not None:
            text = _words(self._folder_problem)
        elif self._setting_problems:
            text = _("Some settings could not be read and were set back to their defaults.")
        else:
            return
        for page in (self.window.setup_page, self.window.chat_page):
            page.notice.show_notice(text, NoticeKind.WARNING)

    # ------------------------------------------------------------ settings

    def _settings_changed(self, old: Settings, settings: Settings) -> None:
        if settings.theme != old.theme:
            self._theme.apply(self._qt, Mode(settings.theme))
        if settings.language != old.language:
            i18n.set_language(settings.language)
            self._qt_language.apply()
            self.window.retranslate()
            self.workspace.retranslate()
        if settings.look_for_new_versions and not old.look_for_new_versions:
            self._look_for_new_version()

    def _say_not_saved(self, error: OSError) -> None:
        text = _words(DataFolderError(self._data.root, error.strerror or str(error)))
        self.window.chat_page.notice.show_notice(text, NoticeKind.WARNING)

    def _open_settings(self) -> None:
        self._show_settings(engine_first=False)

    def _show_settings(self, *, engine_first: bool) -> None:
        self._desk.open(engine_first=engine_first)

    def _open_diagnostics(self) -> None:
        """The report for a problem; the person sees it before it is saved."""
        dialog = DiagnosticsDialog(self._theme, self.window)
        dialog.open()

        async def fill() -> None:
            text = await self.workspace.diagnostics(self._recent_log())
            if isValid(dialog):
                dialog.show_text(text)

        self._tasks.start(fill(), "diagnostics")

    def _open_file(self) -> None:
        last = self._settings.current().model_path
        folder = Path(last).parent if last else Path.home()
        open_model_dialog(self.window, folder, self.workspace.open_file)


def _words(error: DataFolderError) -> str:
    from clover_gui.explain import explain

    return explain(error).text


def _folder_problem(data: DataFolder) -> DataFolderError | None:
    try:
        data.ensure_writable()
    except DataFolderError as error:
        return error
    return None
