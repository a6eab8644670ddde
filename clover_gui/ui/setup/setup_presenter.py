"""The set-up page's conductor: looks at machine, engine and models, plans, and loads when asked to.

Runs the same pipeline as the terminal: up to the plan as soon as a model is chosen, and whole when the
person starts (memory is measured anew then).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from clover_gui.catalog.entry import CatalogEntry
from clover_gui.catalog.index import Catalog, find_models
from clover_gui.download.download import Download
from clover_gui.download.manager import DownloadManager
from clover_gui.download.progress import Phase, Status
from clover_gui.engine.client import EngineClient
from clover_gui.engine.engine import Engine
from clover_gui.errors import CloverError, DoesNotFitError, EngineMissing
from clover_gui.explain import cure_text
from clover_gui.explain.download_words import download_note_text, status_text
from clover_gui.i18n import _, file_size
from clover_gui.paths import DataFolder
from clover_gui.pipeline.dry_run import DryEngine
from clover_gui.pipeline.engine_install import install_engine, installer
from clover_gui.pipeline.obtain import ModelOffer, Runnable, download, look_up
from clover_gui.pipeline.prepare import (
    Planned,
    ReadyToChat,
    RepairDone,
    RepairWish,
    Services,
    SpeechChecked,
    StageEvent,
    look_around,
    prepare,
)
from clover_gui.pipeline.preview import preview
from clover_gui.pipeline.repairing import undo_repair, was_repaired
from clover_gui.planning.cure import Cure
from clover_gui.planning.plan import Wishes
from clover_gui.ui.setup.choices import FETCH, model_choices
from clover_gui.ui.setup.plan_controls import PlanWishes
from clover_gui.ui.setup.setup_display import SetupDisplay
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.setup.words import (
    install_text,
    offer_rows,
)
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
        keep_graphics: Callable[[str], None] = lambda _graphics: None,
        make_engine: Callable[[], DryEngine] = EngineClient,
    ) -> None:
        """``wishes`` are those of the settings; ``keep_graphics`` keeps a choice of a graphics card there.
        ``make_engine`` makes the engines for dry runs."""
        super().__init__(page)
        self._page = page
        self._engine = engine
        self._tasks = tasks
        self._data = data
        self._catalog = catalog
        self._wishes = wishes
        self._manager = manager
        self._keep_graphics = keep_graphics
        self._make_engine = make_engine
        self._display = SetupDisplay(page, self._progress, lambda: self._wishes_now().graphics)
        self._work: asyncio.Task[None] | None = None
        self._path: Path | None = None
        self._own_files: list[Path] = []
        self._can_start = False
        self._started = False
        self._kept_services: Services | None = None
        self._offer: ModelOffer | None = None
        self._entry: CatalogEntry | None = None
        self._download: Download | None = None
        self._by_hand = PlanWishes()
        self._cure: Cure | None = None
        page.model_card.model_chosen.connect(self._chosen)
        page.start_requested.connect(self.start)
        page.cancel_requested.connect(self.cancel)
        page.pause_requested.connect(self._pause)
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
        return self._download is not None

    @property
    def can_start(self) -> bool:
        return self._can_start

    @property
    def by_hand(self) -> PlanWishes:
        """What was set by hand for the chosen file."""
        return self._by_hand

    def look(self, preferred: Path | None) -> None:
        """Look for models, then at machine and engine, and plan ``preferred`` or the first that is here."""
        self._offer = self._entry = None
        self._run(lambda: self._look(preferred), busy=False)

    def change_engine(self, load: Path | None = None) -> None:
        """The engine takes other libraries from now on: start it, and load ``load`` or look again."""

        async def work() -> None:
            await self._engine.close()
            self._kept_services = None  # what it knows of dry runs is that of the other engine
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
        self._path, self._offer, self._entry = None, None, entry
        self._run(lambda: self._look_up(entry), busy=False)

    def choose(self, path: Path) -> None:
        """Choose a model file and see how it fits. Also for a file of one's own."""
        self._path, self._offer, self._entry = path, None, None
        self._by_hand = PlanWishes()
        self._page.plan_card.controls.reset()
        self._run(lambda: self._plan(path), busy=False)

    def open_own_file(self, path: Path) -> None:
        """Add a file that is not in any known place, and choose it."""
        if path not in self._own_files:
            self._own_files.append(path)
        self._path, self._offer, self._entry = path, None, None
        self._run(lambda: self._look(path), busy=False)

    def start(self, path: Path | None = None) -> None:
        """Load the chosen model (or this one), bringing and repairing it first where needed."""
        chosen = path or self._path
        if path is None and self._offer is not None:
            offer = self._offer
            self._run(lambda: self._fetch_and_load(offer), busy=True)
        elif chosen is not None:
            self._path = chosen
            self._run(lambda: self._load(chosen), busy=True)
        elif self._entry is not None:  # the hub could not be asked: once more
            self.choose_download(self._entry)

    def load_again(self, path: Path, by_hand: PlanWishes) -> None:
        """Load this file with these settings, which then stand on the page as well."""
        self._offer = self._entry = None
        self._take(by_hand)
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
        return self._path is not None or self._offer is not None or self._entry is not None

    def _start_text(self) -> str:
        """What the button does, where it is more than loading a file."""
        if self._offer is None:
            return _("Try again") if self._path is None and self._entry is not None else ""
        return _("Download {size} and start").format(size=file_size(self._offer.source.size_bytes))

    def _models_folder(self) -> Path:
        return self._manager().folder

    @property
    def services(self) -> Services:
        """Dry runs and measurements; one for the whole run of the program."""
        if self._kept_services is None:
            self._kept_services = Services.for_folder(self._data.root, self._make_engine)
        return self._kept_services

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
            self._cure = None
            self._display.forget_failure()
            self._page.set_busy(busy, can_start=False)
            try:
                await work()
            except CloverError as error:
                self._show_failure(error)
                # What was begun may be tried again; a file that cannot be planned may not.
                asked_in_vain = self._entry is not None and self._path is None
                self._can_start = (busy and self._has_choice) or asked_in_vain
            except asyncio.CancelledError:
                self._page.show_progress("", hidden=True)
                self._page.set_busy(False, can_start=self._has_choice, start_text=self._start_text())
                if asyncio.current_task() is self._work:
                    self.given_up.emit()
                raise
            self._page.show_progress("", hidden=True)
            self._page.set_busy(False, can_start=self._can_start, start_text=self._start_text())
            self.settled.emit()

        self._work = self._tasks.start(run(), "set-up")

    async def _look(self, preferred: Path | None) -> None:
        found = await asyncio.to_thread(find_models, self._models_folder(), None, self._catalog)
        here = [model.path for model in found] + self._own_files
        if preferred is not None and preferred not in here:
            self._own_files.append(preferred)
            here.append(preferred)
        self._path = preferred or (here[0] if here else None)
        choices = await asyncio.to_thread(model_choices, self._catalog, found, self._own_files)
        self._page.model_card.show_choices(choices, str(self._path or ""))
        if self._path is not None:
            await self._plan(self._path)
        else:
            await self._with_engine(self._look_around)

    async def _look_around(self) -> None:
        looking = look_around(self._engine, self._models_folder(), self._wishes_now().graphics)
        async with contextlib.aclosing(looking) as stages:
            async for stage in stages:
                self._show(stage)

    async def _plan(self, path: Path, *, keep: bool = False) -> None:
        """See how a file fits. ``keep`` leaves what is shown until the new plan is there."""
        if not keep:
            self._display.clear_plan()

        async def plan() -> None:
            stages = prepare(self._engine, path, self._models_folder(), self._wishes_now(), self.services)
            async with contextlib.aclosing(stages):
                async for stage in stages:
                    self._show(stage)
                    if isinstance(stage, Planned):
                        return

        try:
            await self._with_engine(plan)
        except DoesNotFitError as error:
            self._show_refusal(error)
            await self._offer_cure()
            return
        self._page.plan_card.undo_button.setVisible(await was_repaired(path))
        self._can_start = True

    async def _offer_cure(self) -> None:
        """Look for the one change to what was set by hand with which it would fit."""
        if (facts := self._display.facts) is not None:
            found = await preview(self._engine, *facts, self._wishes_now(), self.services)
            self._cure = found.cure
            if found.cure is not None:
                self._page.plan_card.show_cure(cure_text(found.cure))

    def _apply_cure(self) -> None:
        if self._cure is not None:
            wishes = self._by_hand.cured(self._cure, self._wishes())
            self._page.plan_card.controls.show_wishes(wishes)
            self._wishes_changed(wishes)

    def _wishes_changed(self, wishes: PlanWishes) -> None:
        """The person moved something: plan again and show at once what it does."""
        self._take(wishes)
        path = self._path
        if path is not None:
            self._run(lambda: self._plan(path, keep=True), busy=False)

    def _take(self, wishes: PlanWishes) -> None:
        self._by_hand = wishes
        if wishes.graphics is not None:
            self._keep_graphics(wishes.graphics)

    def _wishes_now(self) -> Wishes:
        return self._by_hand.over(self._wishes())

    def _undo_wished(self) -> None:
        path = self._path
        if path is not None:
            self._run(lambda: self._undo(path), busy=True)

    async def _undo(self, path: Path) -> None:
        self._progress(_("Bringing back the original file…"), None)
        await undo_repair(self._engine, path)
        await self._plan(path)

    async def _load(self, path: Path) -> None:
        async def load() -> None:
            stages = prepare(
                self._engine,
                path,
                self._models_folder(),
                self._wishes_now(),
                self.services,
                repair=RepairWish.ALLOW,
            )
            async with contextlib.aclosing(stages):
                async for stage in stages:
                    self._show(stage)
                    if isinstance(stage, ReadyToChat):
                        self.ready.emit(stage)

        self._progress(_("Looking at the machine and the file…"), None)
        await self._with_engine(load)
        self._can_start = True

    async def _look_up(self, entry: CatalogEntry) -> None:
        self._offer = None
        self._display.clear_plan()
        self._progress(_("Asking {host} for the model…").format(host=self._manager().hub.settings.host), None)

        async def ask() -> None:
            info = await self._engine.describe()
            manager = self._manager()
            offer = await look_up(manager, entry, info.architectures)
            if offer.offer.already_there:
                self._path = offer.offer.path
                return
            self._offer = offer
            self._page.plan_card.show_rows(offer_rows(offer, str(manager.folder)))

        await self._with_engine(ask)
        if self._path is not None:
            await self._plan(self._path)
        elif self._offer is not None:
            missing = self._offer.offer.missing_bytes
            if missing:
                text = _("{missing} more must be free on this disk.").format(missing=file_size(missing))
                self._page.plan_card.show_notes([(text, True)])
            self._can_start = not missing and self._offer.runnable is not Runnable.NOT

    async def _fetch_and_load(self, offer: ModelOffer) -> None:
        self._download = download(self._manager(), offer, self._show_download)
        self._page.show_pause(True, paused=False)
        try:
            downloaded = await self._download.run()
        finally:
            self._download = None
            self._page.show_pause(False, paused=False)
        self._path, self._offer, self._entry = downloaded.path, None, None
        await self._load(downloaded.path)

    def _pause(self) -> None:
        if self._download is None:
            return
        if self._download.status.phase is Phase.PAUSED:
            self._download.resume()
        else:
            self._download.pause()

    def _show_download(self, status: Status) -> None:
        text = " ".join(filter(None, (status_text(status), download_note_text(status.note))))
        self._progress(text, status.fraction)
        self._page.show_pause(self._download is not None, paused=status.phase is Phase.PAUSED)

    async def _with_engine(self, work: Work) -> None:
        """Do the work; where the engine is missing, bring it here first (once)."""
        try:
            await work()
        except EngineMissing as error:
            if installer() is None:
                raise
            self._display.show_engine(error)
            await self._install()
            await self._engine.close()
            await work()

    async def _install(self) -> None:
        self._page.set_busy(True, can_start=False)
        self._progress(_("The engine is not here yet and is being prepared…"), None)
        async with contextlib.aclosing(install_engine()) as steps:
            async for step in steps:
                self._progress(*install_text(step))

    # ------------------------------------------------------------ what is shown

    def _show(self, stage: StageEvent) -> None:
        """One step of the pipeline: on the page, and what it means for the next."""
        self._display.show(stage)
        if isinstance(stage, RepairDone):
            self._path = stage.path
        elif isinstance(stage, SpeechChecked):
            self.checked.emit(stage.check)

    def _show_refusal(self, error: DoesNotFitError) -> None:
        self._display.show_refusal(error)
        self.failed.emit(error)

    def _show_failure(self, error: CloverError) -> None:
        self._display.show_failure(error)
        self.failed.emit(error)

    def _progress(self, text: str, fraction: float | None) -> None:
        self._page.show_progress(text, fraction)
        self.progressed.emit(text, fraction)
