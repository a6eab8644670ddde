"""The living parts behind the window: engine, chat store, and the presenters of its pages.

Leads from set-up to chat and back; brings the engine back after it died.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from clover_gui.catalog.index import load_catalog, resolve_model
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.events import AnswerEnded
from clover_gui.chat.presets import PresetBook
from clover_gui.download.access_token import load_token
from clover_gui.download.hub_settings import hub_settings
from clover_gui.download.manager import DownloadManager
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import EngineInfo, Sampling
from clover_gui.errors import CloverError, ModelFileMissing
from clover_gui.explain import (
    describe_measure,
    describe_model,
    describe_plan,
    explain,
    refit_text,
    store_text,
)
from clover_gui.explain.repair_hints import speech_text
from clover_gui.explain.sampling_words import presets_text, source_text
from clover_gui.flavours.selection import FlavourSelection, SideChild
from clover_gui.flavours.store import FlavourStore
from clover_gui.hardware.machine import Machine
from clover_gui.i18n import _, capped
from clover_gui.patching.check import SpeechCheck
from clover_gui.paths import DataFolder
from clover_gui.pipeline.diagnostics import Findings, diagnostics_text
from clover_gui.pipeline.prepare import MachineProbed, ReadyToChat, look_around
from clover_gui.pipeline.repairing import put_folder_in_order
from clover_gui.pipeline.sampling_defaults import PRECISE, default_sampling, preset_for, preset_modes
from clover_gui.planning.fit_watch import RefitOffer
from clover_gui.planning.plan import KvType, Wishes
from clover_gui.settings import Settings, models_folder
from clover_gui.ui.chat.presenter import ChatPresenter
from clover_gui.ui.load_notices import load_notices
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.memory.memory_watch import MemoryWatch
from clover_gui.ui.memory.panel_presenter import MemoryPanelPresenter
from clover_gui.ui.settings.engine_presenter import EnginePresenter
from clover_gui.ui.setup.plan_controls import PlanWishes
from clover_gui.ui.setup.setup_display import ENGINE
from clover_gui.ui.setup.setup_presenter import SetupPresenter
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.notice_bar import NoticeKind

REFIT = "refit"


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
        self._ready: ReadyToChat | None = None
        self._speech_notice: tuple[str, NoticeKind] | None = None
        engines = FlavourStore(data.engines)
        self.selection = FlavourSelection(engines, lambda: settings().engine_flavour)
        self.engine = EngineClient(libraries=self.selection)
        self.engines = EnginePresenter(
            engines,
            self.selection,
            tasks,
            settings,
            change_settings,
            describe=self.engine.describe,
            restart=self._restart_engine,
            is_loaded=lambda: self.engine.loaded is not None,
        )
        self.catalog = load_catalog()
        self.setup = SetupPresenter(
            window.setup_page,
            self.engine,
            tasks,
            data,
            self.catalog,
            self._wishes,
            self._manager,
            self._keep_graphics,
            lambda: EngineClient(libraries=SideChild(self.selection)),
        )
        page = window.chat_page
        self.memory = MemoryPanelPresenter(
            page.memory_panel, self.engine, tasks, self._wishes, lambda: self.setup.services
        )
        self._memory_watch = MemoryWatch(page.gauges, tasks, lambda: self.engine.pid)
        self.store: AsyncChatStore | None = None
        self.chat: ChatPresenter | None = None
        self.setup.ready.connect(self._model_ready)
        self.setup.progressed.connect(self._show_load_progress)
        self.setup.failed.connect(self._load_failed)
        self.setup.checked.connect(self._speech_checked)
        self.setup.given_up.connect(self._load_over)
        self.setup.settled.connect(self._load_over)
        self.memory.reload_requested.connect(self._load_again)
        self._memory_watch.refit_offered.connect(self._offer_refit)
        self.engines.fell_back.connect(self._engine_fell_back)
        page.notice.action_triggered.connect(self._notice_action)
        window.setup_page.notice.action_triggered.connect(self._notice_action)
        window.setup_page.engine_requested.connect(self.engines.page_requested)
        page.model_requested.connect(self._choose_model)
        page.memory_panel_toggled.connect(self._memory_panel_toggled)
        page.composer.answering_changed.connect(self.memory.set_answering)
        window.setup_page.back_requested.connect(window.show_chat)

    async def start(self, model: str, asked_for: bool) -> None:
        """Open the chats; load ``model`` (a file or a name) if there is one, else show the set-up page.

        ``asked_for``: the person named it just now, so a failure is worth its own words.
        """
        if self._settings().memory_panel:
            self._window.chat_page.open_memory_panel(take_focus=False)
        self.store = await AsyncChatStore.open(self._data.chats)
        self._watch_saving(self.store)
        presets = await PresetBook.open(self._data.presets)
        self.chat = ChatPresenter(
            self._window.chat_page,
            self._theme,
            self.engine,
            self.store,
            self._tasks,
            recover=self._recover,
            sampling=self._sampling,
            precise=self._precise_sampling,
            source=self._sampling_source,
            default_thinking=self._settings().thinking,
            presets=presets,
        )
        self.chat.answer_finished.connect(self._answered)
        await self.chat.start()
        self.chat.model_changed()
        opened = self.store.opened
        texts = (
            store_text(
                opened.condition,
                opened.reason,
                opened.set_aside,
                chats=opened.salvaged.chats,
                messages=opened.salvaged.messages,
            ),
            presets_text(presets.set_aside),
        )
        if text := " ".join(filter(None, texts)):
            self._window.chat_page.notice.show_notice(text, NoticeKind.WARNING)
        await put_folder_in_order(self._models_folder())
        await asyncio.to_thread(self.selection.sweep)
        path = await asyncio.to_thread(self._resolve, model)
        if path is None and not asked_for:  # the folder has moved, as on a stick in another machine
            path = await asyncio.to_thread(self._resolve, Path(model).name)
        if path is not None:
            self.setup.start(path)
            if not asked_for:
                self._window.show_chat()
            return
        self.setup.look(None)
        if model:
            words = explain(ModelFileMissing(Path(model)))
            self._window.setup_page.notice.show_notice(
                f"{words.sentence} {words.next_step}", NoticeKind.WARNING
            )

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
        self._window.show_setup()
        self.setup.open_own_file(path)

    def retranslate(self) -> None:
        """Fill the pages again in the language in force."""
        if self._ready is not None:
            self._show_model(self._ready)
        if self.chat is not None:
            self.chat.retranslate()
        self.memory.refresh()
        if self._window.pages.currentWidget() is self._window.setup_page:
            self.setup.look_again()

    def _watch_saving(self, store: AsyncChatStore) -> None:
        """Say when chats are not saved and when they are again, not only at the next start."""
        notice = self._window.chat_page.notice

        def failed(error: CloverError) -> None:
            words = explain(error)
            again = _("It is tried again by itself.")
            text = f"{words.sentence} {words.next_step} {again}"
            notice.show_notice(text, NoticeKind.ERROR, about="saving")

        def put_back(path: Path) -> None:
            text = _(
                "The folder with your chats was removed while the program ran. It was made again, and all"
                " chats are in it: {folder}"
            ).format(folder=capped(str(path.parent), 120))
            notice.show_notice(text, NoticeKind.WARNING)

        store.save_failed = failed
        store.put_back = put_back
        store.saved_again = lambda: notice.show_notice(_("Everything is saved again."), about="saving")

    # ------------------------------------------------------------ models

    def _resolve(self, model: str) -> Path | None:
        if not model:
            return None
        try:
            return resolve_model(model, self._models_folder())
        except CloverError:
            return None

    def _models_folder(self) -> Path:
        return models_folder(self._settings(), self._data)

    def _manager(self) -> DownloadManager:
        settings = self._settings()
        try:
            kept = load_token(self._data.access_token)
            hub = hub_settings(settings.hub_endpoint, settings.proxy, kept=kept)
        except ValueError:  # an address that is none: the usual hub, and its failure says the rest
            hub = hub_settings()
        return DownloadManager(self._models_folder(), hub)

    def _wishes(self) -> Wishes:
        settings = self._settings()
        return Wishes(
            context=settings.context or None,
            kv_type=KvType(settings.kv_type) if settings.kv_type else None,
            reserve_bytes=settings.reserve_mb << 20 if settings.reserve_mb >= 0 else None,
            graphics=settings.graphics,
        )

    def _keep_graphics(self, graphics: str) -> None:
        self._change_settings(replace(self._settings(), graphics=graphics))

    def _sampling(self, thinking: bool | None) -> Sampling:
        assert self._ready is not None
        return default_sampling(self.catalog, self._ready.model, thinking=bool(thinking))

    def _precise_sampling(self) -> Sampling | None:
        """The makers' values for code and facts, if they give any."""
        assert self._ready is not None
        model = self._ready.model
        if PRECISE not in preset_modes(self.catalog, model):
            return None
        return default_sampling(self.catalog, model, thinking=True, precise=True)

    def _sampling_source(self, thinking: bool, precise: bool) -> str:
        """Where the makers' values stand."""
        assert self._ready is not None
        preset = preset_for(self.catalog, self._ready.model, thinking=thinking, precise=precise)
        return source_text(preset.source)

    def _choose_model(self) -> None:
        page = self._window.setup_page
        page.back_button.setVisible(True)
        self._window.show_setup()
        self.setup.look(self._ready.model.path if self._ready else None)

    def _model_ready(self, ready: ReadyToChat) -> None:
        self._ready = ready
        self._change_settings(replace(self._settings(), model_path=str(ready.model.path)))
        self._show_model(ready)
        assert self.chat is not None
        self.chat.model_changed()
        page = self._window.chat_page
        page.notice.withdraw("load")
        self._say_about_load(ready)
        self.memory.model_loaded(ready, self.setup.by_hand)
        self._memory_watch.start(ready)
        self._window.show_chat()

    def _say_about_load(self, ready: ReadyToChat) -> None:
        said = load_notices(ready)
        if self._speech_notice is not None:
            said.append(self._speech_notice)
            self._speech_notice = None
        notice = self._window.chat_page.notice
        if not said:
            notice.withdraw("loaded")
            return
        is_warning = any(kind is NoticeKind.WARNING for _text, kind in said)
        kind = NoticeKind.WARNING if is_warning else NoticeKind.INFO
        text = "\n".join(text for text, _kind in said)
        notice.show_notice(text, kind, about="loaded", lasting=True)

    def _speech_checked(self, check: SpeechCheck) -> None:
        """After a repair: say whether the model talks sense."""
        kind = NoticeKind.INFO if check.passes else NoticeKind.WARNING
        text = _("The file was repaired. Asked for the capital of Australia it says: {answer}").format(
            answer=check.answer
        )
        self._speech_notice = (f"{text} {speech_text(check.verdict.value)}", kind)

    def _show_model(self, ready: ReadyToChat) -> None:
        entry = self.catalog.entry_for(ready.model.path, ready.model.name, ready.model.architecture)
        name = entry.title if entry else capped(ready.model.name) or capped(ready.model.path.stem)
        details = [*describe_model(ready.model), *describe_plan(ready.plan, ready.model.layer_count)]
        if ready.measured is not None:
            details += [
                describe_measure(device.name, device.planned_bytes, device.measured_bytes)
                for device in ready.measured.devices
            ]
        self._window.chat_page.show_model(name, "\n".join(details))
        self._window.show_model_title(name)

    def _show_load_progress(self, text: str, _fraction: float | None) -> None:
        """Also on the chat page, where old chats can be read meanwhile."""
        self.memory.going_on(text)
        page = self._window.chat_page
        if self._window.pages.currentWidget() is page:
            page.notice.show_notice(text, about="load", lasting=True)

    def _load_failed(self, error: CloverError) -> None:
        """A failure on the way to a model leads to the set-up page, which says what to do."""
        page = self._window.chat_page
        if self.engine.loaded is not None:  # it is still the model of before
            if page.notice.says("load"):
                words = explain(error)
                page.notice.show_notice(f"{words.sentence} {words.next_step}", NoticeKind.ERROR, about="load")
        else:
            page.notice.withdraw("load")
            page.show_model("", "")
            self._window.show_setup()
            self._tasks.start(self._look_after_failure(error), "look after a failed load")

    async def _look_after_failure(self, error: CloverError) -> None:
        page = self._window.setup_page
        if not page.model_card.choices:
            self.setup.look(None)
            words = explain(error)
            await asyncio.sleep(0)
            page.notice.show_notice(f"{words.sentence} {words.next_step}", NoticeKind.ERROR)

    async def _recover(self) -> None:
        """Load the last model again; used after the engine died."""
        settings = self.engine.last_settings
        if settings is not None:
            await self.engine.load(settings)
            assert self.chat is not None
            self.chat.model_changed()
            if self._ready is not None:
                self.memory.model_loaded(self._ready, self.memory.loaded_by_hand)

    async def diagnostics(self, log: Sequence[str]) -> str:
        """The report for a problem; looks at machine and engine again where no model is loaded."""
        machine: Machine | None = self._ready.machine if self._ready is not None else None
        engine: EngineInfo | CloverError | None = None
        try:
            if machine is not None:
                engine = await self.engine.describe()
            else:
                async with contextlib.aclosing(look_around(self.engine, self._models_folder())) as stages:
                    async for stage in stages:
                        if isinstance(stage, MachineProbed):
                            machine = stage.machine
                        else:
                            engine = stage.info
        except CloverError as error:
            engine = error
        findings = Findings(
            machine,
            engine,
            self._ready,
            self.engine.last_settings,
            self._settings(),
            log,
            self.engine.log_lines,
        )
        return await asyncio.to_thread(diagnostics_text, findings)

    # ------------------------------------------------------------ memory

    def _memory_panel_toggled(self, is_open: bool) -> None:
        self.memory.set_open(is_open)
        self._change_settings(replace(self._settings(), memory_panel=is_open))

    def _answered(self, result: AnswerEnded | CloverError) -> None:
        """Every answer teaches how fast this plan is here; a far slower one is worth an offer."""
        ready = self._ready
        if not isinstance(result, AnswerEnded) or ready is None or result.message.stats is None:
            return
        stats = result.message.stats
        self._memory_watch.answered(stats.tokens_written, stats.write_seconds)
        measurements = self.setup.services.measurements
        measurements.learn_speed(ready.model, ready.plan, stats.tokens_written, stats.write_seconds)
        self._tasks.start(asyncio.to_thread(measurements.save), "save measurements")

    def _offer_refit(self, offer: RefitOffer) -> None:
        notice = self._window.chat_page.notice
        notice.show_notice(refit_text(offer), NoticeKind.WARNING, (REFIT, _("Load again")), about=REFIT)

    def _notice_action(self, key: str) -> None:
        if key == REFIT:
            self._load_again(self.memory.loaded_by_hand)
        elif key == ENGINE:
            self.engines.page_requested.emit()

    def _engine_fell_back(self, text: str) -> None:
        """The chosen engine could not be used: said wherever the person is."""
        for page in (self._window.setup_page, self._window.chat_page):
            action = (ENGINE, _("Choose another engine…"))
            page.notice.show_notice(text, NoticeKind.WARNING, action, about=ENGINE)

    def _restart_engine(self, load: bool) -> None:
        """Other libraries were chosen; with ``load`` the model is loaded again with them."""
        if not load or self._ready is None:
            self.setup.change_engine()
        else:
            self._tasks.start(self._stop_and_change(self._ready.model.path), "change engine")

    async def _stop_and_change(self, path: Path) -> None:
        if self.chat is not None:
            await self.chat.stop_and_wait()
        self.setup.change_engine(path)

    def _load_again(self, by_hand: PlanWishes) -> None:
        """The same model with these settings; what is being written is stopped and kept first."""
        if self._ready is not None:
            self._tasks.start(self._stop_and_load(self._ready.model.path, by_hand), "load again")

    async def _stop_and_load(self, path: Path, by_hand: PlanWishes) -> None:
        if self.chat is not None:
            await self.chat.stop_and_wait()
        self.setup.load_again(path, by_hand)

    def _load_over(self) -> None:
        """Whatever was begun on the way to a model has ended, with it or without."""
        if self.engine.loaded is None:
            self.memory.model_gone()
            self._memory_watch.stop()
        else:
            self.memory.load_ended()
