"""The living parts behind the window: makes the engine, the chat store and the presenters of the pages, and
connects them. What happens between them is elsewhere: the way of a model in ``model_flow.py``, what is said
about it in ``model_notices.py``, about the chats' file in ``saving_notices.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from clover_gui.catalog.index import load_catalog, resolve_model
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.presets import PresetBook
from clover_gui.download.access_token import load_token
from clover_gui.download.hub_settings import settings_as_they_are
from clover_gui.download.manager import DownloadManager
from clover_gui.engine.client import EngineClient
from clover_gui.errors import CloverError
from clover_gui.flavours.selection import FlavourSelection, SideChild
from clover_gui.flavours.store import FlavourStore
from clover_gui.model_file.summary import ModelFile
from clover_gui.paths import DataFolder
from clover_gui.pipeline.diagnostics import diagnostics_text, gather_findings
from clover_gui.pipeline.repairing import put_folder_in_order
from clover_gui.pipeline.wishes import wishes_of
from clover_gui.planning.plan import Wishes
from clover_gui.settings import Settings, models_folder
from clover_gui.ui.chat.makers_values import MakersValues
from clover_gui.ui.chat.presenter import ChatPresenter
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.memory.memory_watch import MemoryWatch
from clover_gui.ui.memory.panel_presenter import MemoryPanelPresenter
from clover_gui.ui.model_flow import ModelFlow
from clover_gui.ui.model_notices import REFIT
from clover_gui.ui.saving_notices import say_how_opened, watch_saving
from clover_gui.ui.settings.engine_presenter import EnginePresenter
from clover_gui.ui.setup.hand_memory import HandMemory
from clover_gui.ui.setup.setup_display import ENGINE
from clover_gui.ui.setup.setup_presenter import SetupPresenter
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme


class Workspace:
    """``start`` once the window is painted, ``end`` before it closes."""

    def __init__(
        self,
        window: MainWindow,
        theme: Theme,
        tasks: TaskSet,
        data: DataFolder,
        settings: Callable[[], Settings],
        change_settings: Callable[[Settings], None],
    ) -> None:
        self._window = window
        self._theme = theme
        self._tasks = tasks
        self._data = data
        self._settings = settings
        self._change_settings = change_settings
        self.catalog = load_catalog()
        self.store: AsyncChatStore | None = None
        self.chat: ChatPresenter | None = None
        self._make_engine()
        self._make_model_parts()
        self._connect()

    def _make_engine(self) -> None:
        """The engine, and the choice of its libraries."""
        flavours = FlavourStore(self._data.engines)
        self.selection = FlavourSelection(flavours, lambda: self._settings().engine_flavour)
        self.engine = EngineClient(libraries=self.selection)
        self.engines = EnginePresenter(
            flavours,
            self.selection,
            self._tasks,
            self._settings,
            self._change_settings,
            describe=self.engine.describe,
            restart=lambda load: self.flow.change_engine(load),
            is_loaded=lambda: self.engine.loaded is not None,
        )

    def _make_model_parts(self) -> None:
        """What plans, loads and watches a model."""
        window, page = self._window, self._window.chat_page
        self.setup = SetupPresenter(
            window.setup_page,
            self.engine,
            self._tasks,
            self._data,
            self.catalog,
            self._wishes,
            self._manager,
            self._keep_graphics,
            lambda: EngineClient(libraries=SideChild(self.selection)),
            before_load=lambda: self.flow.stop_answer(),
            hand_memory=HandMemory(self._settings, self._change_settings),
        )
        self.memory = MemoryPanelPresenter(
            page.memory_panel, self.engine, self._tasks, self._wishes, lambda: self.setup.services
        )
        self._memory_watch = MemoryWatch(page.gauges, self._tasks, lambda: self.engine.pid)
        self.flow = ModelFlow(
            window,
            self._tasks,
            self.engine,
            self.catalog,
            self.setup,
            self.memory,
            self._memory_watch,
            lambda: self.chat,
            self._keep_path,
        )

    def _connect(self) -> None:
        window, page = self._window, self._window.chat_page
        self.engines.fell_back.connect(self.flow.notices.engine_fell_back)
        page.notice.action_triggered.connect(self._notice_action)
        window.setup_page.notice.action_triggered.connect(self._notice_action)
        window.setup_page.engine_requested.connect(self.engines.page_requested)
        page.memory_panel_toggled.connect(self._memory_panel_toggled)
        page.composer.answering_changed.connect(self.memory.set_answering)
        page.composer.answering_changed.connect(window.setup_page.set_answering)
        window.setup_page.back_requested.connect(window.show_chat)

    async def start(self, model: str, asked_for: bool) -> None:
        """Open the chats; load ``model`` (a file or a name) if there is one, else show the set-up page.

        ``asked_for``: the person named it just now, so a failure is worth its own words.
        """
        if self._settings().memory_panel:
            self._window.chat_page.open_memory_panel(take_focus=False)
        await self._open_chats()
        await put_folder_in_order(self._models_folder())
        await asyncio.to_thread(self.selection.sweep)
        path, missing = await asyncio.to_thread(self._resolve, model)
        if path is None and not asked_for:  # the folder has moved, as on a stick in another machine
            path, _error = await asyncio.to_thread(self._resolve, Path(model).name)
        if path is not None:
            self.setup.start_as_last_time(path)
            if not asked_for:
                self._window.show_chat()
            return
        self.setup.look(None)
        if missing is not None:
            self.flow.notices.not_found(missing)

    async def _open_chats(self) -> None:
        page = self._window.chat_page
        self.store = await AsyncChatStore.open(self._data.chats)
        watch_saving(self.store, page.notice)
        presets = await PresetBook.open(self._data.presets)
        self.chat = ChatPresenter(
            page,
            self._theme,
            self.engine,
            self.store,
            self._tasks,
            recover=self.flow.recover,
            makers=MakersValues(self.catalog, self._loaded_model),
            default_thinking=self._settings().thinking,
            presets=presets,
        )
        self.chat.answer_finished.connect(self.flow.answered)
        await self.chat.start()
        self.chat.model_changed()
        say_how_opened(self.store, presets, page.notice)

    async def end(self) -> None:
        """Stop and save the running answer, then end the engine and the store."""
        await self.engines.end()
        await self.setup.end()
        if self.chat is not None:
            await self.chat.end()
        await self._memory_watch.end()
        await self.memory.end()
        await self.engine.close()
        if self.store is not None:
            await self.store.close()

    def open_file(self, path: Path) -> None:
        """A file that the person picked: show what it is and how it fits."""
        self.flow.open_file(path)

    def retranslate(self) -> None:
        """Fill the pages again in the language in force."""
        self.flow.retranslate()
        if self.chat is not None:
            self.chat.retranslate()
        self.memory.refresh()
        if self._window.pages.currentWidget() is self._window.setup_page:
            self.setup.look_again()

    async def diagnostics(self, log: Sequence[str]) -> str:
        """The report for a problem; ``log`` is that of the window."""
        findings = await gather_findings(
            self.engine, self.flow.ready, self._settings(), self._models_folder(), log
        )
        return await asyncio.to_thread(diagnostics_text, findings)

    # ------------------------------------------------------------ what the parts ask for

    def _notice_action(self, key: str) -> None:
        if key == REFIT:
            self.flow.load_with_new_plan()
        elif key == ENGINE:
            self.engines.page_requested.emit()

    def _loaded_model(self) -> ModelFile:
        assert self.flow.ready is not None
        return self.flow.ready.model

    def _resolve(self, model: str) -> tuple[Path | None, CloverError | None]:
        """The file, or why there is none; neither where none was named."""
        if not model:
            return None, None
        try:
            return resolve_model(model, self._models_folder()), None
        except CloverError as error:
            return None, error

    def _manager(self) -> DownloadManager:
        settings = self._settings()
        kept = load_token(self._data.access_token)
        hub = settings_as_they_are(settings.hub_endpoint, settings.proxy, kept)
        return DownloadManager(self._models_folder(), hub)

    # ------------------------------------------------------------ settings

    def _models_folder(self) -> Path:
        return models_folder(self._settings(), self._data)

    def _wishes(self) -> Wishes:
        return wishes_of(self._settings())

    def _keep_graphics(self, graphics: str) -> None:
        self._change_settings(replace(self._settings(), graphics=graphics))

    def _keep_path(self, path: Path) -> None:
        self._change_settings(replace(self._settings(), model_path=str(path)))

    def _memory_panel_toggled(self, is_open: bool) -> None:
        self.memory.set_open(is_open)
        self._change_settings(replace(self._settings(), memory_panel=is_open))
