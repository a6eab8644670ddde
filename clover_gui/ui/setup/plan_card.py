"""How the chosen model fits: where its parts go, with the numbers, drawn as bars."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QWidget

from clover_gui.i18n import _, size
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.plan import FitPlan, Need
from clover_gui.ui.gauges.segment_bar import Segment, SegmentBar
from clover_gui.ui.setup.card import Card
from clover_gui.ui.setup.plan_controls import PlanControls
from clover_gui.ui.theme import Theme


class PlanCard(Card):
    """Rows of facts, one bar for each memory, a legend, and the way back from a repair."""

    undo_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._theme = theme
        self._plan: FitPlan | None = None
        self._gpu_caption, self._ram_caption = QLabel(), QLabel()
        self._gpu_value, self._ram_value = QLabel(), QLabel()
        self._gpu_bar, self._ram_bar = SegmentBar(), SegmentBar()
        bars = QGridLayout()
        bars.setColumnStretch(1, 1)
        bars.setHorizontalSpacing(self.fontMetrics().height())
        for row, widgets in enumerate(
            (
                (self._gpu_caption, self._gpu_bar, self._gpu_value),
                (self._ram_caption, self._ram_bar, self._ram_value),
            )
        ):
            widgets[0].setObjectName("rowCaption")
            for column, widget in enumerate(widgets):
                bars.addWidget(widget, row, column)
        self.body.addLayout(bars)
        self.controls = PlanControls()
        self._legend = QHBoxLayout()
        self._legend_labels: list[QLabel] = []
        self.body.addLayout(self._legend)
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
        theme.changed.connect(self._draw)
        self.retranslate()

    def show_plan(self, plan: FitPlan | None) -> None:
        """Draw the bars of a plan; None hides them (nothing chosen, or it does not fit)."""
        self._plan = plan
        self._draw()

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

    def _draw(self) -> None:
        plan = self._plan
        gpu_shown = plan is not None and plan.gpu.total > 0
        for widget in (self._gpu_caption, self._gpu_bar, self._gpu_value):
            widget.setVisible(gpu_shown)
        for widget in (self._ram_caption, self._ram_bar, self._ram_value):
            widget.setVisible(plan is not None)
        for label in self._legend_labels:
            label.setVisible(False)
        if plan is None:
            return
        self._gpu_caption.setText(_("Graphics memory"))
        self._ram_caption.setText(_("RAM"))
        if gpu_shown:
            self._bar(self._gpu_bar, self._gpu_value, plan.gpu, plan.gpu_available_bytes)
        self._bar(self._ram_bar, self._ram_value, plan.ram, plan.ram_available_bytes)
        self._show_legend()

    def _bar(self, bar: SegmentBar, value: QLabel, need: Need, available: int) -> None:
        total = max(1, available, need.total)
        parts = tuple(Segment(amount / total, color) for _name, amount, color in self._parts(need) if amount)
        bar.show_segments(parts, QColor(self._theme.colors.gauge_free))
        value.setText(
            _("{need} of {free} free").format(need=size(need.total), free=size(available))
            if available
            else size(need.total)
        )
        text = ", ".join(f"{name} {size(amount)}" for name, amount, _color in self._parts(need) if amount)
        bar.setToolTip(text)
        bar.setAccessibleName(text)

    def _parts(self, need: Need) -> tuple[tuple[str, int, QColor], ...]:
        colors = self._theme.colors
        return (
            (_("model"), need.weights, QColor(colors.gauge_ours)),
            (_("context"), need.kv + need.recurrent, QColor(colors.gauge_writing)),
            (_("working space"), need.compute + need.overhead + need.output, QColor(colors.gauge_others)),
        )

    def _show_legend(self) -> None:
        parts = self._parts(Need(1, 1, 0, 1, 0))
        if not self._legend_labels:
            self._legend_labels = [QLabel() for _part in parts]
            for label in self._legend_labels:
                label.setObjectName("note")
                self._legend.addWidget(label)
            self._legend.addStretch(1)
        for label, (name, _amount, color) in zip(self._legend_labels, parts, strict=True):
            label.setText(f'<span style="color:{color.name()}">■</span> {name}')
            label.setVisible(True)
