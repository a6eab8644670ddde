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

from clover_gui.catalog.entry import FoundModel
from clover_gui.catalog.index import Catalog, find_models
from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import EngineInfo, LoadProgress
from clover_gui.errors import CloverError, EngineError, EngineMissing
from clover_gui.explain import (
    advice_text,
    describe_disk,
    describe_engine,
    describe_gpus,
    describe_memory,
    describe_model,
    describe_plan,
    describe_processor,
    explain,
    note_text,
    warning_text,
)
from clover_gui.hardware.machine import Machine
from clover_gui.i18n import _, capped, duration, file_size, number
from clover_gui.model_file.summary import ModelFile
from clover_gui.paths import DataFolder
from clover_gui.pipeline.advice import AdviceLevel, advise, installer_command
from clover_gui.pipeline.engine_install import InstallProgress, install_engine, installer
from clover_gui.pipeline.prepare import (
    EngineDescribed,
    Loading,
    MachineProbed,
    ModelRead,
    Planned,
    ReadyToChat,
    StageEvent,
    look_around,
    prepare,
)
from clover_gui.planning.plan import Wishes
from clover_gui.ui.setup.model_card import ModelChoice
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.widgets.notice_bar import NoticeKind

Work = Callable[[], Awaitable[None]]


class SetupPresenter(QObject):
    """``ready`` carries ReadyToChat; ``progressed`` a text and a fraction (None: no end known);
    ``failed`` the CloverError of a look, a plan or a load."""

    ready = Signal(object)
    progressed = Signal(str, object)
    failed = Signal(object)
    settled = Signal()

    def __init__(
        self,
        page: SetupPage,
        engine: Engine,
        tasks: TaskSet,
        data: DataFolder,
        catalog: Catalog,
        wishes: Callable[[], Wishes],
    ) -> None:
        super().__init__(page)
        self._page = page
        self._engine = engine
        self._tasks = tasks
        self._data = data
        self._catalog = catalog
        self._wishes = wishes
        self._work: asyncio.Task[None] | None = None
        self._machine: Machine | None = None
        self._model: ModelFile | None = None
        self._path: Path | None = None
        self._own_files: list[Path] = []
        self._can_start = False
        self._installing = False
        page.model_card.model_chosen.connect(lambda key: self.choose(Path(key)))
        page.start_requested.connect(self.start)
        page.cancel_requested.connect(self.cancel)
        page.look_again_requested.connect(self.look_again)
        page.set_busy(False, can_start=False)

    # ------------------------------------------------------------ what the person can do

    @property
    def path(self) -> Path | None:
        """The chosen file."""
        return self._path

    @property
    def can_start(self) -> bool:
        return self._can_start

    def look(self, preferred: Path | None) -> None:
        """Look for models, then at machine and engine, and plan ``preferred`` or the first that is here."""
        self._run(lambda: self._look(preferred), busy=False)

    def look_again(self) -> None:
        self.look(self._path)

    def choose(self, path: Path) -> None:
        """Choose a model file and see how it fits. Also for a file of one's own."""
        self._path = path
        self._run(lambda: self._plan(path), busy=False)

    def open_own_file(self, path: Path) -> None:
        """Add a file that is not in any known place, and choose it."""
        if path not in self._own_files:
            self._own_files.append(path)
        self._path = path
        self._run(lambda: self._look(path), busy=False)

    def start(self, path: Path | None = None) -> None:
        """Load the chosen model (or this one)."""
        chosen = path or self._path
        if chosen is not None:
            self._path = chosen
            self._run(lambda: self._load(chosen), busy=True)

    def cancel(self) -> None:
        """Stop a load or the building of the engine."""
        if self._work is not None:
            self._work.cancel()

    async def end(self) -> None:
        """Stop whatever runs and wait for it."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    # ------------------------------------------------------------ the work

    def _run(self, work: Work, *, busy: bool) -> None:
        previous = self._work
        self._can_start = False

        async def run() -> None:
            if previous is not None and not previous.done():
                previous.cancel()
                await asyncio.gather(previous, return_exceptions=True)
            self._page.notice.hide()
            self._page.set_busy(busy, can_start=False)
            try:
                await work()
            except CloverError as error:
                self._show_failure(error)
            except asyncio.CancelledError:
                self._page.show_progress("", hidden=True)
                self._page.set_busy(False, can_start=self._path is not None)
                raise
            self._page.show_progress("", hidden=True)
            self._page.set_busy(False, can_start=self._can_start)
            self.settled.emit()

        self._work = self._tasks.start(run(), "set-up")

    async def _look(self, preferred: Path | None) -> None:
        found = await asyncio.to_thread(find_models, self._data.models, None, self._catalog)
        here = [model.path for model in found] + self._own_files
        if preferred is not None and preferred not in here:
            self._own_files.append(preferred)
            here.append(preferred)
        self._path = preferred or (here[0] if here else None)
        self._page.model_card.show_choices(self._choices(found), str(self._path or ""))
        if self._path is not None:
            await self._plan(self._path)
        else:
            await self._with_engine(self._look_around)

    async def _look_around(self) -> None:
        async with contextlib.aclosing(look_around(self._engine, self._data.root)) as stages:
            async for stage in stages:
                self._show(stage)

    async def _plan(self, path: Path) -> None:
        self._page.plan_card.show_plan(None)
        self._page.plan_card.show_rows(())

        async def plan() -> None:
            stages = prepare(self._engine, path, self._data.root, self._wishes())
            async with contextlib.aclosing(stages):
                async for stage in stages:
                    self._show(stage)
                    if isinstance(stage, Planned):
                        return

        await self._with_engine(plan)
        self._can_start = True

    async def _load(self, path: Path) -> None:
        async def load() -> None:
            stages = prepare(self._engine, path, self._data.root, self._wishes())
            async with contextlib.aclosing(stages):
                async for stage in stages:
                    self._show(stage)
                    if isinstance(stage, ReadyToChat):
                        self.ready.emit(stage)

        self._progress(_("Looking at the machine and the file…"), None)
        await self._with_engine(load)
        self._can_start = True

    async def _with_engine(self, work: Work) -> None:
        """Do the work; where the engine is missing, bring it here first (once)."""
        try:
            await work()
        except EngineMissing as error:
            if installer() is None:
                raise
            self._show_engine(error)
            await self._install()
            await self._engine.close()
            await work()

    async def _install(self) -> None:
        self._page.set_busy(True, can_start=False)
        self._progress(_("The engine is not here yet and is being prepared…"), None)
        async with contextlib.aclosing(install_engine()) as steps:
            async for step in steps:
                self._progress(*_install_text(step))

    # ------------------------------------------------------------ what is shown

    def _show(self, stage: StageEvent) -> None:
        match stage:
            case MachineProbed(machine=machine):
                self._machine = machine
                self._show_machine(machine, None)
            case EngineDescribed(info=info):
                self._show_engine(info)
            case ModelRead(model=model):
                self._model = model
                self._page.plan_card.show_rows(_model_rows(model))
            case Planned(plan=plan):
                assert self._model is not None
                lines = describe_plan(plan, self._model.layer_count)
                context = _("{count} tokens").format(count=number(plan.context))
                rows = (*_model_rows(self._model), (_("Placement"), lines[0]), (_("Context"), context))
                self._page.plan_card.show_rows(rows)
                self._page.plan_card.show_plan(plan)
                self._page.plan_card.show_notes([(warning_text(word), False) for word in plan.warnings])
            case Loading(progress=progress):
                self._progress(*_load_text(progress))
            case ReadyToChat():
                self._page.show_progress("", hidden=True)

    def _show_machine(self, machine: Machine, engine: EngineInfo | EngineError | None) -> None:
        rows = [
            (_("Graphics"), "\n".join(describe_gpus(machine))),
            (_("RAM"), describe_memory(machine.memory)),
            (_("Processor"), describe_processor(machine.processor)),
            (_("Disk"), describe_disk(machine.disk)),
        ]
        notes: list[tuple[str, bool]] = []
        if engine is not None:
            rows.append((_("Engine"), "\n".join(describe_engine(engine))))
            command = installer_command(installer())
            for advice in advise(machine, engine, installer=command):
                if advice.key == "no-gpu":
                    continue  # the row above says so already
                text = advice_text(advice.key, advice.facts)
                if advice.command:
                    text += "\n" + _("The command for it: {command}").format(command=advice.command)
                notes.append((text, advice.level is not AdviceLevel.NOTE))
        notes += [(note_text(note), False) for note in machine.notes if note.kind != "no-driver"]
        self._page.machine_card.show_rows(rows)
        self._page.machine_card.show_notes(notes)

    def _show_engine(self, engine: EngineInfo | EngineError) -> None:
        if self._machine is not None:
            self._show_machine(self._machine, engine)

    def _show_failure(self, error: CloverError) -> None:
        explanation = explain(error)
        self._page.notice.show_notice(f"{explanation.sentence} {explanation.next_step}", NoticeKind.ERROR)
        if isinstance(error, EngineError) and self._machine is not None and self._model is None:
            self._show_engine(error)
        self.failed.emit(error)

    def _progress(self, text: str, fraction: float | None) -> None:
        self._page.show_progress(text, fraction)
        self.progressed.emit(text, fraction)

    def _choices(self, found: tuple[FoundModel, ...]) -> list[ModelChoice]:
        by_entry = {model.entry.id: model for model in found if model.entry is not None}
        choices = []
        for entry in self._catalog.entries:
            here = by_entry.get(entry.id)
            if here is not None:
                note = _("{size}, on this machine.").format(size=file_size(here.size_bytes))
            else:
                note = _("About {size}, not on this machine yet. Needs {needs}.").format(
                    size=file_size(entry.size_bytes), needs=_(entry.needs)
                )
            choices.append(
                ModelChoice(
                    key=str(here.path) if here else "",
                    title=entry.title,
                    summary=_(entry.summary),
                    note=note.strip(),
                    page_url=entry.page_url,
                )
            )
        known = {choice.key for choice in choices}
        stray = [model.path for model in found if str(model.path) not in known] + self._own_files
        for path in dict.fromkeys(path for path in stray if str(path) not in known):
            choices.append(ModelChoice(str(path), capped(path.name), capped(str(path.parent), 120)))
        return sorted(choices, key=lambda choice: not choice.key)


def _model_rows(model: ModelFile) -> tuple[tuple[str, str], ...]:
    name, *more = describe_model(model)
    return ((_("File"), name), (_("Structure"), "; ".join(more)))


def _load_text(progress: LoadProgress) -> tuple[str, float | None]:
    texts = {
        "reading": _("Reading the model file…"),
        "context": _("Making room for the chat…"),
        "warm-up": _("Warming up…"),
    }
    text = texts.get(progress.stage, _("Loading the model…"))
    if progress.fraction is not None and progress.stage == "reading":
        text += " " + _("{percent} %").format(percent=number(100 * progress.fraction))
    return text, progress.fraction


def _install_text(step: InstallProgress) -> tuple[str, float | None]:
    texts = {
        "look": _("Looking for an engine that fits this machine…"),
        "wait": _("The engine is already being set up elsewhere; waiting for it…"),
        "wheel": _("Looking for a ready-made engine…"),
        "download": _("Fetching the engine's source…"),
        "compile": _("Building the engine for this machine; this is needed only once…"),
        "install": _("Installing the engine…"),
        "verify": _("Trying the engine…"),
    }
    text = texts.get(step.step, _("Preparing the engine…"))
    if not step.total:
        return text, None
    text += " " + _("{done} of {total} parts").format(done=number(step.done), total=number(step.total))
    if step.seconds_left is not None:
        text += ", " + _("about {time} left").format(time=duration(step.seconds_left))
    return text, step.done / step.total
