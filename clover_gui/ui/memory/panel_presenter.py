"""The memory panel's conductor: plans what the person tries out, and says what it would do.

Nothing is loaded here; ``reload_requested`` asks for it. Must not know: the chat, the window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from clover_gui.engine.engine import Engine
from clover_gui.errors import CloverError
from clover_gui.explain import (
    cure_text,
    describe_measure,
    describe_plan,
    describe_speed,
    explain,
    left_out_text,
    warning_text,
)
from clover_gui.i18n import _
from clover_gui.pipeline.gpu_choice import usable_gpus
from clover_gui.pipeline.measured import Measured
from clover_gui.pipeline.prepare import ReadyToChat
from clover_gui.pipeline.preview import Preview, is_other, preview
from clover_gui.pipeline.services import Services
from clover_gui.planning.plan import FitPlan, Wishes
from clover_gui.ui.announce import announce
from clover_gui.ui.memory.memory_panel import MemoryPanel, PanelContent
from clover_gui.ui.memory.pools import missing_pool, pools_of
from clover_gui.ui.setup.plan_controls import PlanWishes
from clover_gui.ui.tasks import TaskSet


class MemoryPanelPresenter(QObject):
    """``general`` are the wishes of the settings, over which those of the panel go. ``reload_requested``
    carries the PlanWishes to load the present model with."""

    reload_requested = Signal(object)
    shown = Signal()
    """What is set in the panel was planned and is said."""

    def __init__(
        self,
        panel: MemoryPanel,
        engine: Engine,
        tasks: TaskSet,
        general: Callable[[], Wishes],
        services: Callable[[], Services],
    ) -> None:
        super().__init__(panel)
        self._panel = panel
        self._engine = engine
        self._tasks = tasks
        self._general = general
        self._services = services
        self._ready: ReadyToChat | None = None
        self._by_hand = self._loaded_by_hand = PlanWishes()
        self._shown: Preview | None = None
        self._planning: asyncio.Task[None] | None = None
        self._open = self._answering = self._loading = False
        panel.controls.changed.connect(self._changed)
        panel.cure_requested.connect(self._apply_cure)
        panel.reload_requested.connect(self._reload)

    @property
    def loaded_by_hand(self) -> PlanWishes:
        """What was set by hand for the model as it is loaded now."""
        return self._loaded_by_hand

    # ------------------------------------------------------------ what happens elsewhere

    def model_loaded(self, ready: ReadyToChat, by_hand: PlanWishes, *, as_last_time: bool = False) -> None:
        """A model is there; ``by_hand`` is what was set for it, ``as_last_time``: in an earlier run."""
        self._ready, self._loading = ready, False
        self._by_hand = self._loaded_by_hand = by_hand
        controls = self._panel.controls
        gpus = usable_gpus(ready.machine, ready.info) if ready.info is not None else ()
        controls.show_wishes(by_hand, as_last_time=as_last_time)
        controls.show_graphics(gpus, ready.wishes.graphics)
        self.refresh()

    def model_gone(self) -> None:
        """Nothing is loaded any more."""
        self._stop_planning()
        self._ready, self._shown, self._loading = None, None, False
        self._panel.show_nothing()

    def going_on(self, text: str) -> None:
        """Something is done to get a model."""
        if self._ready is None:
            self._panel.show_nothing(text)

    def load_ended(self) -> None:
        """What was asked for did not come about; the model is still the one before."""
        if self._loading:
            self._loading = False
            self.refresh()

    def set_open(self, is_open: bool) -> None:
        """Whether the panel is seen: only then is anything planned."""
        self._open = is_open
        self.refresh()

    def set_answering(self, answering: bool) -> None:
        """Whether an answer is being written."""
        self._answering = answering
        self._show_foot()

    def refresh(self) -> None:
        """Plan and write everything again."""
        self._stop_planning()
        ready = self._ready
        if ready is None or not self._open:
            return
        self._panel.show_loaded(_measured_lines(ready.measured))
        wishes = self._by_hand.over(self._general())
        if wishes == ready.wishes or ready.info is None:
            self._show(Preview(wishes, ready.plan))
        else:
            self._planning = self._tasks.start(self._plan(ready, wishes), "memory panel")

    async def end(self) -> None:
        """Stop planning and wait for it."""
        task = self._planning
        self._stop_planning()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    # ------------------------------------------------------------ what the person does

    def _changed(self, by_hand: PlanWishes) -> None:
        self._by_hand = by_hand
        self.refresh()

    def _apply_cure(self) -> None:
        shown = self._shown
        if shown is None or shown.cure is None:
            return
        self._by_hand = self._by_hand.cured(shown.cure, self._general())
        self._panel.controls.show_wishes(self._by_hand)
        self.refresh()

    def _reload(self) -> None:
        if self._can_reload:
            self._loading = True
            self._show_foot()
            self.reload_requested.emit(self._by_hand)

    # ------------------------------------------------------------ planning

    def _stop_planning(self) -> None:
        if self._planning is not None:
            self._planning.cancel()
            self._planning = None

    async def _plan(self, ready: ReadyToChat, wishes: Wishes) -> None:
        assert ready.info is not None
        try:
            found = await preview(
                self._engine, ready.machine, ready.info, ready.model, wishes, self._services()
            )
        except CloverError as error:
            self._panel.show_content(PanelContent("", (), refusal=explain(error).sentence))
            return
        self._show(found)

    # ------------------------------------------------------------ what is shown

    @property
    def _can_reload(self) -> bool:
        shown, ready = self._shown, self._ready
        if shown is None or ready is None or shown.plan is None or self._loading:
            return False
        return is_other(shown.plan, ready.plan)

    def _show(self, found: Preview) -> None:
        ready = self._ready
        assert ready is not None
        self._shown = found
        self._panel.controls.show_model(ready.model, found.plan)
        if found.plan is not None:
            self._panel.show_content(self._fitting(found.plan, ready))
        else:
            content = _refused(found)
            self._panel.show_content(content)
            announce(self._panel, f"{content.refusal} {content.cure}".strip())
        self._show_foot()
        self.shown.emit()

    def _fitting(self, plan: FitPlan, ready: ReadyToChat) -> PanelContent:
        notes = [describe_plan(plan, ready.model.layer_count)[0]]
        notes += [warning_text(word) for word in plan.warnings]
        notes.append(left_out_text(plan.left_out))
        return PanelContent(
            _("As it would be with these settings") if is_other(plan, ready.plan) else _("As it is loaded"),
            pools_of(plan),
            describe_speed(plan.speed) if plan.speed is not None else "",
            tuple(note for note in notes if note),
        )

    def _show_foot(self) -> None:
        note = ""
        if self._loading:
            note = _("Loading…")
        elif self._can_reload and self._answering:
            note = _("The answer that is being written is stopped first; what is written stays.")
        self._panel.show_foot(note, can_reload=self._can_reload)


def _refused(found: Preview) -> PanelContent:
    error = found.refusal
    assert error is not None
    pool = missing_pool(error.where, error.needed_bytes, error.available_bytes)
    words = explain(error)
    if found.cure is not None:
        return PanelContent(
            _("As it would be with these settings"),
            (pool,),
            refusal=_("It does not fit. {reason}").format(reason=words.sentence),
            cure=cure_text(found.cure),
        )
    text = _("It does not fit. {reason}").format(reason=words.sentence)
    state = _("As it would be with these settings")
    return PanelContent(state, (pool,), refusal=f"{text} {words.next_step}")


def _measured_lines(measured: Measured | None) -> list[str]:
    if measured is None:
        return []
    lines = [
        describe_measure(device.name, device.planned_bytes, device.measured_bytes)
        for device in measured.devices
    ]
    lines.append(describe_measure(_("RAM"), measured.ram_planned_bytes, measured.ram_buffer_bytes))
    return lines + [warning_text(word) for word in measured.warnings]
