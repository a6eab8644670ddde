"""How the chosen model fits: where its parts go, with the numbers, drawn as bars."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from clover_gui.i18n import _
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.plan import FitPlan
from clover_gui.ui.memory.memory_bars import MemoryBars
from clover_gui.ui.memory.pools import missing_pool, pools_of
from clover_gui.ui.setup.card import Card
from clover_gui.ui.setup.plan_controls import PlanControls
from clover_gui.ui.theme import Theme


class PlanCard(Card):
    """Rows of facts, one bar for each memory, a legend, and the way back from a repair."""

    undo_requested = Signal()
    cure_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._plan: FitPlan | None = None
        self._refused: tuple[str, int, int] | None = None
        self._bars = MemoryBars(theme)
        self.controls = PlanControls()
        self.cure_button = QPushButton()
        self.cure_button.clicked.connect(self.cure_requested)
        self.cure_button.hide()
        cure = QHBoxLayout()
        cure.addWidget(self.cure_button)
        cure.addStretch(1)
        self.body.addWidget(self._bars)
        self.body.addLayout(cure)
        self.body.addWidget(self.controls)
        self.controls.hide()
        self.undo_button = QPushButton()
        self.undo_button.setProperty("kind", "quiet")
        self.undo_button.clicked.connect(self.undo_requested)
        self.undo_button.hide()
        last = QHBoxLayout()
        last.addWidget(self.undo_button)
        last.addStretch(1)
        self.body.addLayout(last)
        self.retranslate()

    def show_plan(self, plan: FitPlan | None) -> None:
        """Draw the bars of a plan; None hides them (nothing chosen)."""
        self._plan, self._refused = plan, None
        self.cure_button.hide()
        self._draw()

    def show_refusal(self, where: str, needed: int, available: int) -> None:
        """Draw what is missing, in red; ``where`` is "gpu" or "ram"."""
        self._plan, self._refused = None, (where, needed, available)
        self.cure_button.hide()
        self._draw()

    def show_cure(self, text: str) -> None:
        """The one change with which it would fit, on a button that makes it."""
        self.cure_button.setText(text.replace("&", "&&"))
        self.cure_button.show()

    def show_controls(self, model: ModelFile | None, plan: FitPlan | None) -> None:
        """What can be set by hand for this model; None hides it."""
        self.controls.setVisible(model is not None)
        if model is not None:
            self.controls.show_model(model, plan)

    def retranslate(self) -> None:
        """Write the card's own texts again."""
        self.title_label.setText(_("How it fits"))
        self.controls.retranslate()
        self.undo_button.setText(_("Undo the repair"))
        self.undo_button.setToolTip(_("Bring back the file bit by bit as it was published"))
        self._draw()

    @property
    def bars(self) -> tuple[tuple[str, str, str], ...]:
        """What the bars say: name, value and details of each that is shown."""
        return self._bars.texts

    def _draw(self) -> None:
        if self._refused is not None:
            self._bars.show_pools((missing_pool(*self._refused),))
        else:
            self._bars.show_pools(pools_of(self._plan) if self._plan is not None else ())
