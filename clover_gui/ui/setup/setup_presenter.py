"""The set-up page's conductor: what is chosen there, and which work goes on about it.

As soon as a model is chosen the pipeline runs up to the plan, and whole when the person starts (memory is
measured anew then). The pipeline itself is run by ``stage_runner.py``, how it fits is in ``fitting.py``, the
list of models in ``model_list.py``, downloads are in ``model_fetch.py``, a missing engine in
``engine_supply.py``, what is shown in ``setup_display.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from clover_gui.catalog.entry import CatalogEntry
from clover_gui.catalog.index import Catalog
from clover_gui.download.manager import DownloadManager
from clover_gui.engine.engine import Engine
from clover_gui.errors import CloverError, DoesNotFitError
from clover_gui.i18n import _
from clover_gui.paths import DataFolder
from clover_gui.pipeline.dry_run import DryEngine
from clover_gui.pipeline.obtain import ModelOffer
from clover_gui.pipeline.prepare import (
    ReadyToChat,
    RepairDone,
    Services,
    SpeechChecked,
    StageEvent,
)
from clover_gui.pipeline.repairing import undo_repair, was_repaired
from clover_gui.planning.plan import Wishes
from clover_gui.ui.setup.choices import FETCH
from clover_gui.ui.setup.engine_supply import EngineSupply
from clover_gui.ui.setup.fitting import Fitting
from clover_gui.ui.setup.hand_memory import HandMemory
from clover_gui.ui.setup.hand_wishes import HandWishes
from clover_gui.ui.setup.model_fetch import ModelFetch
from clover_gui.ui.setup.model_list import ModelList
from clover_gui.ui.setup.plan_controls import PlanWishes
from clover_gui.ui.setup.setup_display import SetupDisplay
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.setup.stage_runner import StageRunner
from clover_gui.ui.tasks import TaskSet

Work = Callable[[], Awaitable[None]]


class SetupPresenter(QObject):
    """``ready`` carries ReadyToChat; ``progressed`` a text and a fraction (None: no end known);
    ``failed`` the CloverError of a look, a plan or a load."""

    ready = Signal(object)
    progressed = Signal(str, object)
    failed = Signal(object)
    checked = Signal(object)
    settled = Signal()
    given_up = Signal()
    """What was going on was stopped, and nothing came in its place."""

    def __init__(
        self,
        page: SetupPage,
        engine: Engine,
        tasks: TaskSet,
        data: DataFolder,
        catalog: Catalog,
        wishes: Callable[[], Wishes],
        manager: Callable[[], DownloadManager],
        keep_graphics: Callable[[str], None],
        make_engine: Callable[[], DryEngine],
        before_load: Callable[[], Awaitable[None]],
        hand_memory: HandMemory,
    ) -> None:
        """``wishes`` are those of the settings; ``keep_graphics`` keeps a choice of a graphics card there.
        ``make_engine`` makes the engines for dry runs; ``before_load`` ends what the loaded model does;
        ``hand_memory`` keeps what is set by hand for each file."""
        super().__init__(page)
        self._page = page
        self._engine = engine
        self._tasks = tasks
        self._catalog = catalog
        self._manager = manager
        self._before_load = before_load
        self._wishes = HandWishes(page.plan_card, wishes, keep_graphics, hand_memory)
        self._display = SetupDisplay(page, self._progress, lambda: self._wishes.now().graphics)
        self._supply = EngineSupply(page, engine, self._display, self._progress)
        self._fetch = ModelFetch(page, engine, manager, self._display, self._progress)
        self._stages = StageRunner(
            engine, data, self._models_folder, self._wishes.now, make_engine, self._show
        )
        self._list = ModelList(page.model_card, catalog, self._models_folder)
        self._fitting = Fitting(
            engine, self._stages, self._supply, self._display, self._fetch, self._wishes, self.failed.emit
        )
        self._work: asyncio.Task[None] | None = None
        self._path: Path | None = None
        self._can_start = False
        self._started = False
        page.model_card.model_chosen.connect(self._chosen)
        page.start_requested.connect(self.start)
        page.cancel_requested.connect(self.cancel)
        page.plan_card.undo_requested.connect(self._undo_wished)
        page.plan_card.cure_requested.connect(self._apply_cure)
        page.plan_card.controls.changed.connect(self._wishes_changed)
        page.look_again_requested.connect(self.look_again)
        page.set_busy(False, can_start=False)

    # ------------------------------------------------------------ what the person can do

    @property
    def path(self) -> Path | None:
        """The chosen file."""
        return self._path

    @property
    def is_loading(self) -> bool:
        """Something that was started goes on; a mere look or plan does not count."""
        return self._started and self._work is not None and not self._work.done()

    @property
    def is_downloading(self) -> bool:
        return self._fetch.is_downloading

    @property
    def can_start(self) -> bool:
        return self._can_start

    @property
    def by_hand(self) -> PlanWishes:
        """What was set by hand for the chosen file."""
        return self._wishes.values

    @property
    def as_last_time(self) -> bool:
        """It was found in the settings, and nothing was touched since."""
        return self._wishes.as_last_time

    def look(self, preferred: Path | None) -> None:
        """Look for models, then at machine and engine, and plan ``preferred`` or the first that is here."""
        self._fetch.choose(None)
        self._run(lambda: self._look(preferred), busy=False)

    def change_engine(self, load: Path | None = None) -> None:
        """The engine takes other libraries from now on: start it, and load ``load`` or look again."""

        async def work() -> None:
            await self._engine.close()
            self._stages.forget_services()
            await (self._look(self._path) if load is None else self._load(load))

        self._path = load or self._path
        self._run(work, busy=load is not None)

    def look_again(self) -> None:
        """Everything once more, with the same choice."""
        self.look(self._path)

    def _chosen(self, key: str) -> None:
        entry = self._catalog.entry(key.removeprefix(FETCH)) if key.startswith(FETCH) else None
        if entry is not None:
            self.choose_download(entry)
        else:
            self.choose(Path(key))

    def choose_download(self, entry: CatalogEntry) -> None:
        """Choose a model that is not here: ask the hub what it would mean to bring it."""
        self._path = None
        self._fetch.choose(entry)
        self._wishes.recall(None)
        self._run(lambda: self._look_up(entry), busy=False)

    def choose(self, path: Path) -> None:
        """Choose a model file and see how it fits. Also for a file of one's own."""
        self._path = path
        self._fetch.choose(None)
        self._wishes.recall(path)
        self._run(lambda: self._plan(path), busy=False)

    def open_own_file(self, path: Path) -> None:
        """Add a file that is not in any known place, and choose it; what is no model is said and left out."""
        self._fetch.choose(None)
        self._run(lambda: self._look(path), busy=False)

    def start(self, path: Path | None = None) -> None:
        """Load the chosen model (or this one), bringing and repairing it first where needed."""
        chosen = path or self._path
        offer, entry = self._fetch.offer, self._fetch.entry
        if path is None and offer is not None:
            self._run(lambda: self._fetch_and_load(offer), busy=True)
        elif chosen is not None:
            self._path = chosen
            self._run(lambda: self._load(chosen), busy=True)
        elif entry is not None:  # the hub could not be asked: once more
            self.choose_download(entry)

    def start_as_last_time(self, path: Path) -> None:
        """Load this file with what was set by hand for it last time."""
        self._wishes.recall(path)
        self.start(path)

    def load_again(self, path: Path, by_hand: PlanWishes) -> None:
        """Load this file with these settings, which then stand on the page as well."""
        self._fetch.choose(None)
        self._wishes.take(by_hand)
        self._page.plan_card.controls.show_wishes(by_hand)
        self.start(path)

    def cancel(self) -> None:
        """Stop a load or the building of the engine."""
        if self._work is not None:
            self._work.cancel()

    async def end(self) -> None:
        """Stop whatever runs and wait for it."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    @property
    def _has_choice(self) -> bool:
        return self._path is not None or self._fetch.entry is not None

    def _models_folder(self) -> Path:
        return self._manager().folder

    @property
    def services(self) -> Services:
        """Dry runs and measurements; one for the whole run of the program."""
        return self._stages.services

    # ------------------------------------------------------------ the work

    def _run(self, work: Work, *, busy: bool) -> None:
        previous = self._work
        self._can_start = False
        self._started = busy

        async def run() -> None:
            if previous is not None and not previous.done():
                previous.cancel()
                await asyncio.gather(previous, return_exceptions=True)
            self._can_start = False  # the previous one may have come to its end meanwhile
            self._wishes.forget_cure()
            self._display.forget_failure()
            self._page.set_busy(busy, can_start=False)
            try:
                await work()
            except CloverError as error:
                self._display.show_failure(error)
                self.failed.emit(error)
                # What was begun may be tried again; a file that cannot be planned may not.
                can_ask_again = self._fetch.entry is not None and self._path is None
                self._can_start = (busy and self._has_choice) or can_ask_again
            except asyncio.CancelledError:
                self._show_idle(can_start=self._has_choice)
                if asyncio.current_task() is self._work:
                    self.given_up.emit()
                raise
            self._show_idle(can_start=self._can_start)
            self.settled.emit()

        self._work = self._tasks.start(run(), "set-up")

    def _show_idle(self, *, can_start: bool) -> None:
        self._page.show_progress("", hidden=True)
        is_here = self._path is not None and self._fetch.offer is None
        self._page.set_busy(
            False, can_start=can_start, start_text="" if is_here else self._fetch.start_text()
        )

    async def _look(self, preferred: Path | None) -> None:
        former = self._path
        self._path, refusal = await self._list.fill(preferred, former)
        if self._path != former:
            self._wishes.recall(self._path)
        if self._path is not None:
            await self._plan(self._path)
        else:
            await self._supply.work_with_engine(self._stages.look_around)
        if refusal is not None:
            self._display.show_failure(refusal)

    async def _plan(self, path: Path, *, keep: bool = False) -> None:
        """See how a file fits. ``keep`` leaves what is shown until the new plan is there."""
        if not keep:
            self._display.clear_plan()
        if await self._fitting.plan(path):
            self._page.plan_card.undo_button.setVisible(await was_repaired(path))
            self._can_start = True

    async def _plan_ahead(self, entry: CatalogEntry, *, ask: bool) -> None:
        """See how a model would fit that is not here; it can be brought in any case."""
        self._path = await self._fitting.plan_ahead(entry, ask=ask)
        if self._path is not None:
            await self._plan(self._path)
        else:
            self._can_start = self._fetch.can_start or self._fetch.asked_in_vain

    def _apply_cure(self) -> None:
        if (wishes := self._wishes.cured()) is not None:
            self._wishes_changed(wishes)

    def _wishes_changed(self, wishes: PlanWishes) -> None:
        """The person moved something: plan again and show at once what it does."""
        self._wishes.take(wishes)
        path, entry = self._path, self._fetch.entry
        if path is not None:
            self._run(lambda: self._plan(path, keep=True), busy=False)
        elif entry is not None:
            unasked = self._fetch.offer is None and not self._fetch.asked_in_vain
            self._run(lambda: self._plan_ahead(entry, ask=unasked), busy=False)

    def _undo_wished(self) -> None:
        path = self._path
        if path is not None:
            self._run(lambda: self._undo(path), busy=True)

    async def _undo(self, path: Path) -> None:
        self._progress(_("Bringing back the original file…"), None)
        await undo_repair(self._engine, path)
        await self._plan(path)

    async def _load(self, path: Path) -> None:
        await self._before_load()
        self._progress(_("Looking at the machine and the file…"), None)
        try:
            await self._supply.work_with_engine(lambda: self._stages.load(path))
        except DoesNotFitError:
            if not self._wishes.give_way():
                raise
            await self._stages.load(path)  # less is free than last time: as the program chooses
        self._can_start = True

    async def _look_up(self, entry: CatalogEntry) -> None:
        """What a model that is not here would be: the plan at once where its shape is known, then the hub."""
        self._display.clear_plan()
        self._fetch.show_known()
        await self._plan_ahead(entry, ask=True)

    async def _fetch_and_load(self, offer: ModelOffer) -> None:
        self._path = await self._fetch.fetch(offer)
        self._fetch.choose(None)
        await self._load(self._path)

    # ------------------------------------------------------------ what is shown

    def _show(self, stage: StageEvent) -> None:
        """One step of the pipeline: on the page, and what it means for the next."""
        self._display.show(stage)
        if isinstance(stage, RepairDone):
            self._path = stage.path
        elif isinstance(stage, SpeechChecked):
            self.checked.emit(stage.check)
        elif isinstance(stage, ReadyToChat):
            self._wishes.loaded(stage.model.path)
            self.ready.emit(stage)

    def _progress(self, text: str, fraction: float | None) -> None:
        self._page.show_progress(text, fraction)
        self.progressed.emit(text, fraction)
