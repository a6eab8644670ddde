"""What the set-up page shows of each step: machine, engine, file, plan, progress, failures.

Gets the pipeline's events and errors and fills the page; decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clover_gui.engine.protocol import EngineInfo
from clover_gui.engine.start_fault import FaultKind, fault_of
from clover_gui.errors import (
    CloverError,
    DoesNotFitError,
    EngineDied,
    EngineError,
    EngineMissing,
    EngineStartFailed,
)
from clover_gui.explain import (
    advice_text,
    describe_disk,
    describe_engine,
    describe_memory,
    describe_plan,
    describe_processor,
    explain,
    fitting_text,
    left_out_text,
    likely_causes,
    note_text,
    replan_text,
    suggestion_text,
    warning_text,
)
from clover_gui.hardware.machine import Machine
from clover_gui.i18n import _
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.advice import CURED_BY_ENGINE, Advice, AdviceLevel, advise
from clover_gui.pipeline.device_list import device_rows
from clover_gui.pipeline.gpu_choice import usable_gpus
from clover_gui.pipeline.prepare import (
    EngineDescribed,
    Examined,
    Loading,
    MachineProbed,
    ModelRead,
    PlanChecked,
    Planned,
    ReadyToChat,
    Repairing,
    Replanned,
    StageEvent,
)
from clover_gui.planning.plan import FitPlan
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.setup.words import Rows, load_text, model_rows, repair_notes, repair_text, speed_text
from clover_gui.ui.widgets.notice_bar import NoticeKind

Notes = list[tuple[str, bool]]
ENGINE = "engine"
"""The key of a notice's button that leads to the page "Engine"."""


class SetupDisplay:
    """``progress`` is called with a text and a fraction (None: no end known); ``graphics`` tells which card
    the person has chosen (``Wishes.graphics``)."""

    def __init__(
        self,
        page: SetupPage,
        progress: Callable[[str, float | None], None],
        graphics: Callable[[], str] = lambda: "",
    ) -> None:
        self._page = page
        self._progress = progress
        self._graphics = graphics
        self._engine: EngineInfo | None = None
        self._machine: Machine | None = None
        self._model: ModelFile | None = None
        self._file_rows: Rows = ()
        self._file_notes: Notes = []
        self._plan_rows: Rows = ()
        self._plan_notes: Notes = []
        self._failure_shown = False

    @property
    def facts(self) -> tuple[Machine, EngineInfo, ModelFile] | None:
        """What the plan that is shown was made from; None before all of it is known."""
        if self._machine is None or self._engine is None or self._model is None:
            return None
        return self._machine, self._engine, self._model

    def clear_plan(self) -> None:
        """Nothing is chosen yet, or something else."""
        card = self._page.plan_card
        self._file_rows, self._file_notes = (), []
        self._plan_rows, self._plan_notes = (), []
        self._model = None
        self._write()
        card.show_plan(None)
        card.undo_button.hide()
        card.show_controls(None, None)

    def show_away(self, rows: Rows, notes: Notes) -> None:
        """The chosen model is not here: what is known of it, beside the plan that is made for it ahead."""
        self._file_rows, self._file_notes = rows, notes
        self._write()

    def _write(self) -> None:
        card = self._page.plan_card
        card.show_rows((*self._file_rows, *self._plan_rows))
        card.show_notes((*self._file_notes, *self._plan_notes))

    def show(self, stage: StageEvent) -> None:
        """One step of the pipeline."""
        match stage:
            case MachineProbed(machine=machine):
                self._machine, self._engine = machine, None
                self._show_machine(machine, None)
            case EngineDescribed(info=info):
                self.show_engine(info)
            case ModelRead(model=model, ahead=ahead):
                self._model = model
                if not ahead:
                    self.show_away(model_rows(model), [])
            case Examined(examination=examination):
                self._file_notes = repair_notes(examination)
            case Planned(plan=plan):
                self._show_plan(plan)
            case _:
                self._show_work(stage)

    def _show_work(self, stage: StageEvent) -> None:
        match stage:
            case PlanChecked(plan=plan):
                self._show_plan(plan)
            case Replanned(plan=plan, reason=reason):
                self._show_plan(plan)
                text = replan_text(reason, stage.before, plan)
                self._page.notice.show_notice(text)
                self._progress(text, None)
            case Repairing():
                self._progress(*repair_text(stage))
            case Loading(progress=progress):
                self._progress(*load_text(progress))
            case ReadyToChat():
                self._page.show_progress("", hidden=True)

    def show_engine(self, engine: EngineInfo | EngineError) -> None:
        """The engine, or why there is none, beside the machine."""
        self._engine = engine if isinstance(engine, EngineInfo) else None
        if self._machine is not None:
            self._show_machine(self._machine, engine)
            gpus = usable_gpus(self._machine, self._engine) if self._engine is not None else ()
            self._page.plan_card.controls.show_graphics(gpus, self._graphics())

    def show_refusal(self, error: DoesNotFitError) -> None:
        """Nothing fits as it is wished: say on the card what is missing and what would cure it."""
        words = explain(error)
        cures = [text for word in error.suggestions if (text := suggestion_text(word))]
        card = self._page.plan_card
        fitting = fitting_text(error.fitting_context, error.fitting_file_bytes)
        card.show_refusal(error.where, error.needed_bytes, error.available_bytes)
        lines = (words.sentence, *fitting, *(cures or [words.next_step]))
        self._plan_rows, self._plan_notes = (), [(line, True) for line in lines]
        self._write()
        card.show_controls(self._model, None)

    def show_failure(self, error: CloverError) -> None:
        """One sentence and a next step above the cards."""
        # What an engine says of a file, another build of it would say as well.
        cured = isinstance(error, EngineMissing | EngineStartFailed) or _no_instruction(error)
        action = (ENGINE, _("Choose another engine…")) if cured else None
        self._page.notice.show_notice(explain(error).text, NoticeKind.ERROR, action, about="failure")
        self._failure_shown = True
        if isinstance(error, EngineError) and self._model is None:
            self.show_engine(error)

    def forget_failure(self) -> None:
        """Something else is begun: what failed before is no longer said. Other notices stay."""
        if self._failure_shown:
            self._failure_shown = False
            self._page.notice.withdraw("failure")

    def _show_plan(self, plan: FitPlan) -> None:
        assert self._model is not None
        card = self._page.plan_card
        placement = describe_plan(plan, self._model.layer_count)[0]
        rows = [(_("Placement"), placement)]  # the context stands in the controls
        if plan.speed is not None:
            rows.append((_("Speed"), speed_text(plan.speed)))
        card.show_plan(plan)
        if self._machine is not None:
            self._show_machine_rows(self._machine, self._engine, plan)
        lines = [*(warning_text(word) for word in plan.warnings), left_out_text(plan.left_out)]
        self._plan_rows, self._plan_notes = tuple(rows), [(line, False) for line in lines if line]
        self._write()
        card.show_controls(self._model, plan)

    def _show_machine(self, machine: Machine, engine: EngineInfo | EngineError | None) -> None:
        self._show_machine_rows(machine, engine)
        advice = advise(machine, engine, installer="") if engine is not None else []
        self._page.engine_button.setVisible(any(one.key in CURED_BY_ENGINE for one in advice))
        notes: Notes = _advice_notes(advice)
        said = ("no-driver", "device-lost")  # by the advice
        notes += [(note_text(note), False) for note in machine.notes if note.kind not in said]
        lost = any(note.kind == "device-lost" for note in machine.notes)
        if not lost and (causes := likely_causes(machine)):
            about = _("If there is a graphics card in this machine, this may be why it is not found:")
            notes.append(("\n".join((about, *(f"• {cause}" for cause in causes))), False))
        self._page.machine_card.show_notes(notes)

    def _show_machine_rows(
        self, machine: Machine, engine: EngineInfo | EngineError | None, plan: FitPlan | None = None
    ) -> None:
        """The parts of the machine; devices that are not used, or get nothing of the plan, are greyed."""
        info = engine if isinstance(engine, EngineInfo) else None
        devices = device_rows(machine, info, self._graphics(), plan)
        rows = [
            *((_("Graphics") if index == 0 else "", row.text) for index, row in enumerate(devices)),
            (_("RAM"), describe_memory(machine.memory)),
            (_("Processor"), describe_processor(machine.processor)),
            (_("Disk"), describe_disk(machine.disk)),
        ]
        if engine is not None:
            rows.append((_("Engine"), "\n".join(describe_engine(engine))))
        greyed = [index for index, row in enumerate(devices) if not row.used]
        self._page.machine_card.show_rows(rows, greyed)


def _no_instruction(error: CloverError) -> bool:
    """The engine is not made for this processor."""
    return isinstance(error, EngineDied) and fault_of(error).kind is FaultKind.ILLEGAL_INSTRUCTION


def _advice_notes(advice: Sequence[Advice]) -> Notes:
    """The sentences; what another engine could cure has its own button, so that no command is named."""
    return [
        (advice_text(one.key, one.facts), one.level is not AdviceLevel.NOTE)
        for one in advice
        if one.key != "no-gpu"  # the row of the graphics says so already
    ]
