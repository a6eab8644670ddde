"""The living parts behind the window: engine, chat store, the two presenters, and the memory gauges.

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
    template_text,
)
from clover_gui.explain.repair_hints import speech_text
from clover_gui.hardware.machine import Machine
from clover_gui.i18n import _, capped
from clover_gui.patching.check import SpeechCheck
from clover_gui.paths import DataFolder
from clover_gui.pipeline.diagnostics import Findings, diagnostics_text
from clover_gui.pipeline.prepare import MachineProbed, ReadyToChat, look_around
from clover_gui.pipeline.repairing import put_folder_in_order
from clover_gui.pipeline.sampling_defaults import PRECISE, default_sampling, preset_modes
from clover_gui.planning.fit_watch import FitWatch, RefitOffer
from clover_gui.planning.plan import KvType, Wishes
from clover_gui.settings import Settings
from clover_gui.ui.chat.presenter import ChatPresenter
from clover_gui.ui.gauges.memory_poll import poll_memory
from clover_gui.ui.gauges.readings import MemoryReading
from clover_gui.ui.main_window import MainWindow
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
        self._polling: asyncio.Task[None] | None = None
        self._speech_notice: tuple[str, NoticeKind] | None = None
        self._fit_watch: FitWatch | None = None
        self.engine = EngineClient()
        self.catalog = load_catalog()
        self.setup = SetupPresenter(
            window.setup_page, self.engine, tasks, data, self.catalog, self._wishes, self._manager
        )
        self.store: AsyncChatStore | None = None
        self.chat: ChatPresenter | None = None
        self.setup.ready.connect(self._model_ready)
        self.setup.progressed.connect(self._show_load_progress)
        self.setup.failed.connect(self._load_failed)
        self.setup.checked.connect(self._speech_checked)
        window.chat_page.notice.action_triggered.connect(self._notice_action)
        window.chat_page.model_requested.connect(self._choose_model)
        window.setup_page.back_requested.connect(window.show_chat)

    async def start(self, model: str, asked_for: bool) -> None:
        """Open the chats; load ``model`` (a file or a name) if there is one, else show the set-up page.

        ``asked_for``: the person named it just now, so a failure is worth its own words.
        """
        self.store = await AsyncChatStore.open(self._data.chats)
        self.chat = ChatPresenter(
            self._window.chat_page,
            self._theme,
            self.engine,
            self.store,
            self._tasks,
            recover=self._recover,
            sampling=self._sampling,
            precise=self._precise_sampling,
            default_thinking=self._settings().thinking,
        )
        self.chat.answer_finished.connect(self._answered)
        await self.chat.start()
        self.chat.model_changed()
        opened = self.store.opened
        if text := store_text(opened.condition, opened.reason, opened.set_aside):
            self._window.chat_page.notice.show_notice(text, NoticeKind.WARNING)
        await put_folder_in_order(self._models_folder())
        path = await asyncio.to_thread(self._resolve, model)
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
        await self.setup.end()
        if self.chat is not None:
            await self.chat.end()
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
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
        if self._window.pages.currentWidget() is self._window.setup_page:
            self.setup.look_again()

    # ------------------------------------------------------------ models

    def _resolve(self, model: str) -> Path | None:
        if not model:
            return None
        try:
            return resolve_model(model, self._models_folder())
        except CloverError:
            return None

    def _models_folder(self) -> Path:
        chosen = self._settings().models_folder
        folder = Path(chosen).expanduser() if chosen else self._data.models
        return folder if folder.is_absolute() else self._data.models

    def _manager(self) -> DownloadManager:
        settings = self._settings()
        try:
            hub = hub_settings(settings.hub_endpoint, settings.proxy)
        except ValueError:  # an address that is none: the usual hub, and its failure says the rest
            hub = hub_settings()
        return DownloadManager(self._models_folder(), hub)

    def _wishes(self) -> Wishes:
        settings = self._settings()
        return Wishes(
            context=settings.context or None,
            kv_type=KvType(settings.kv_type) if settings.kv_type else None,
            reserve_bytes=settings.reserve_mb << 20 if settings.reserve_mb >= 0 else None,
        )

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
        if page.notice.property("about") == "load":
            page.notice.hide()
        if text := template_text(ready.loaded.template, ready.loaded.template_error):
            page.notice.show_notice(text, NoticeKind.WARNING)
        if self._speech_notice is not None:
            page.notice.show_notice(*self._speech_notice)
            self._speech_notice = None
        self._watch_memory(ready)
        self._window.show_chat()

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
        page = self._window.chat_page
        if self._window.pages.currentWidget() is page:
            page.notice.setProperty("about", "load")
            page.notice.show_notice(text)

    def _load_failed(self, error: CloverError) -> None:
        """A failure on the way to a model leads to the set-up page, which says what to do."""
        if self.engine.loaded is None:
            self._window.chat_page.notice.hide()
            self._window.chat_page.show_model("", "")
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

    # ------------------------------------------------------------ gauges

    def _watch_memory(self, ready: ReadyToChat) -> None:
        if self._polling is not None:
            self._polling.cancel()
        self._window.chat_page.gauges.show_plan(ready.plan)
        self._fit_watch = FitWatch(ready.plan)
        self._polling = self._tasks.start(
            poll_memory(ready.gpus, lambda: self.engine.pid, self._memory_read), "memory gauges"
        )

    def _memory_read(self, reading: MemoryReading) -> None:
        self._window.chat_page.gauges.show_memory(reading)
        if self._fit_watch is not None:
            self._offer_refit(self._fit_watch.memory(reading.least_available_vram))

    def _answered(self, result: AnswerEnded | CloverError) -> None:
        """Every answer teaches how fast this plan is here; a far slower one is worth an offer."""
        ready = self._ready
        if not isinstance(result, AnswerEnded) or ready is None or result.message.stats is None:
            return
        stats = result.message.stats
        if self._fit_watch is not None:
            self._offer_refit(self._fit_watch.answer(stats.tokens_written, stats.write_seconds))
        measurements = self.setup.services.measurements
        measurements.learn_speed(ready.model, ready.plan, stats.tokens_written, stats.write_seconds)
        self._tasks.start(asyncio.to_thread(measurements.save), "save measurements")

    def _offer_refit(self, offer: RefitOffer | None) -> None:
        if offer is not None:
            notice = self._window.chat_page.notice
            notice.show_notice(refit_text(offer), NoticeKind.WARNING, (REFIT, _("Load again")))

    def _notice_action(self, key: str) -> None:
        if key == REFIT and self._ready is not None:
            self.setup.start(self._ready.model.path)
