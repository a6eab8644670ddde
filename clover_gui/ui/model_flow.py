"""The way of a model between set-up and chat: ready, failed, loaded again, recovered, another engine.

Tells chat page, memory panel and gauges what became of it. Must not know how a model is prepared
(``setup/``), nor what is written in the chats.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from clover_gui.catalog.index import Catalog
from clover_gui.chat.events import AnswerEnded
from clover_gui.engine.client import EngineClient
from clover_gui.errors import CloverError
from clover_gui.explain import describe_measure, describe_model, describe_plan
from clover_gui.i18n import capped
from clover_gui.pipeline.own_file import refusal_of
from clover_gui.pipeline.prepare import ReadyToChat
from clover_gui.ui.chat.presenter import ChatPresenter
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.memory.memory_watch import MemoryWatch
from clover_gui.ui.memory.panel_presenter import MemoryPanelPresenter
from clover_gui.ui.model_notices import ModelNotices
from clover_gui.ui.setup.plan_controls import PlanWishes
from clover_gui.ui.setup.setup_presenter import SetupPresenter
from clover_gui.ui.tasks import TaskSet


class ModelFlow:
    """``chat`` gives the chat's presenter once it is there; ``keep_path`` is told the file of every load."""

    def __init__(
        self,
        window: MainWindow,
        tasks: TaskSet,
        engine: EngineClient,
        catalog: Catalog,
        setup: SetupPresenter,
        memory: MemoryPanelPresenter,
        memory_watch: MemoryWatch,
        chat: Callable[[], ChatPresenter | None],
        keep_path: Callable[[Path], None],
    ) -> None:
        self._window = window
        self._tasks = tasks
        self._engine = engine
        self._catalog = catalog
        self._setup = setup
        self._memory = memory
        self._memory_watch = memory_watch
        self._chat = chat
        self._keep_path = keep_path
        self._ready: ReadyToChat | None = None
        self.notices = ModelNotices(window)
        setup.ready.connect(self._model_ready)
        setup.progressed.connect(self._show_progress)
        setup.failed.connect(self._load_failed)
        setup.checked.connect(self.notices.speech_checked)
        setup.given_up.connect(self._load_over)
        setup.settled.connect(self._load_over)
        memory.reload_requested.connect(self._load_again)
        memory_watch.refit_offered.connect(self.notices.offer_refit)
        window.chat_page.model_requested.connect(self.choose_model)

    @property
    def ready(self) -> ReadyToChat | None:
        """The model that was loaded last in this window, with its plan; None before the first one."""
        return self._ready

    def choose_model(self) -> None:
        """Leave the chat for the set-up page, with the present model chosen there."""
        self._leave_chat()
        self._setup.look(self._ready.model.path if self._ready else None)

    def open_file(self, path: Path) -> None:
        """A file that the person picked: show what it is and how it fits. What is written in the chat goes
        on; what is no model is said where the person is."""
        self._tasks.start(self._open_file(path), "open a file")

    async def _open_file(self, path: Path) -> None:
        if (refusal := await refusal_of(path)) is not None:
            self.notices.cannot_open(refusal)
            return
        self._leave_chat()
        self._setup.open_own_file(path)

    def _leave_chat(self) -> None:
        """To the set-up page, from which there is a way back."""
        if self._window.pages.currentWidget() is self._window.chat_page:
            self._window.setup_page.back_button.setVisible(True)
        self._window.show_setup()

    def load_with_new_plan(self) -> None:
        """The same model and wishes, planned for the memory there is now."""
        self._load_again(self._memory.loaded_by_hand)

    def change_engine(self, load: bool) -> None:
        """Other libraries were chosen; with ``load`` the model is loaded again with them."""
        if not load or self._ready is None:
            self._setup.change_engine()
        else:
            self._tasks.start(self._stop_and_change(self._ready.model.path), "change engine")

    async def recover(self) -> None:
        """Load the last model again; used after the engine died."""
        settings = self._engine.last_settings
        if settings is not None:
            await self._engine.load(settings)
            self._tell_chat()
            if self._ready is not None:
                self._memory.model_loaded(self._ready, self._memory.loaded_by_hand)

    def answered(self, result: AnswerEnded | CloverError) -> None:
        """Every answer teaches how fast this plan is here; a far slower one is worth an offer."""
        ready = self._ready
        if not isinstance(result, AnswerEnded) or ready is None or result.message.stats is None:
            return
        stats = result.message.stats
        self._memory_watch.answered(stats.tokens_written, stats.write_seconds)
        measurements = self._setup.services.measurements
        measurements.learn_speed(ready.model, ready.plan, stats.tokens_written, stats.write_seconds)
        self._tasks.start(asyncio.to_thread(measurements.save), "save measurements")

    def retranslate(self) -> None:
        """Say again in the language in force which model is loaded."""
        if self._ready is not None:
            self._show_model(self._ready)

    # ------------------------------------------------------------ what became of a load

    def _model_ready(self, ready: ReadyToChat) -> None:
        self._ready = ready
        self._keep_path(ready.model.path)
        self._show_model(ready)
        self._tell_chat()
        self.notices.loaded(ready)
        self._memory.model_loaded(ready, self._setup.by_hand, as_last_time=self._setup.as_last_time)
        self._memory_watch.start(ready)
        self._window.show_chat()

    def _tell_chat(self) -> None:
        chat = self._chat()
        assert chat is not None
        chat.model_changed()

    def _show_model(self, ready: ReadyToChat) -> None:
        entry = self._catalog.entry_for(ready.model.path, ready.model.name, ready.model.architecture)
        name = entry.title if entry else capped(ready.model.name) or capped(ready.model.path.stem)
        details = [*describe_model(ready.model), *describe_plan(ready.plan, ready.model.layer_count)]
        if ready.measured is not None:
            details += [
                describe_measure(device.name, device.planned_bytes, device.measured_bytes)
                for device in ready.measured.devices
            ]
        self._window.chat_page.show_model(name, "\n".join(details))
        self._window.show_model_title(name)

    def _show_progress(self, text: str, _fraction: float | None) -> None:
        self._memory.going_on(text)
        self.notices.loading(text)

    def _load_failed(self, error: CloverError) -> None:
        """A failure on the way to a model leads to the set-up page, which says what to do."""
        if self._engine.loaded is not None:  # it is still the model of before
            self.notices.failed_beside_chat(error)
            return
        page = self._window.chat_page
        page.notice.withdraw("load")
        page.show_model("", "")
        self._window.show_setup()
        self._tasks.start(self._look_after_failure(error), "look after a failed load")

    async def _look_after_failure(self, error: CloverError) -> None:
        if not self._window.setup_page.model_card.choices:
            self._setup.look(None)
            await asyncio.sleep(0)
            self.notices.failed(error)

    def _load_over(self) -> None:
        """Whatever was begun on the way to a model has ended, with it or without."""
        if self._engine.loaded is None:
            self._memory.model_gone()
            self._memory_watch.stop()
        else:
            self._memory.load_ended()

    # ------------------------------------------------------------ once more

    def _load_again(self, by_hand: PlanWishes) -> None:
        """The same model with these settings; what is being written is stopped and kept first."""
        if self._ready is not None:
            self._tasks.start(self._stop_and_load(self._ready.model.path, by_hand), "load again")

    async def _stop_and_load(self, path: Path, by_hand: PlanWishes) -> None:
        await self.stop_answer()
        self._setup.load_again(path, by_hand)

    async def _stop_and_change(self, path: Path) -> None:
        await self.stop_answer()
        self._setup.change_engine(path)

    async def stop_answer(self) -> None:
        """Stop what is being written, and keep it."""
        chat = self._chat()
        if chat is not None:
            await chat.stop_and_wait()
