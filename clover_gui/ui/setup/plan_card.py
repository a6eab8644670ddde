"""How the chosen model fits: where its parts go, with the numbers, drawn as bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QWidget

from clover_gui.i18n import _, capped, size
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.plan import FitPlan
from clover_gui.ui.gauges.memory_parts import MemoryPart, part_color, part_name, parts_of, segments
from clover_gui.ui.gauges.segment_bar import SegmentBar
from clover_gui.ui.setup.card import Card
from clover_gui.ui.setup.plan_controls import PlanControls
from clover_gui.ui.theme import Theme

SHORTEST_NAME = 24


@dataclass(frozen=True, slots=True)
class Pool:
    """One memory with what would lie in it. ``total`` and ``free`` in bytes; red where ``parts`` are more."""

    name: str
    parts: Mapping[MemoryPart, int]
    free: int
    total: int

    @property
    def need(self) -> int:
        return sum(self.parts.values())


class PlanCard(Card):
    """Rows of facts, one bar for each memory, a legend, and the way back from a repair."""

    undo_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._theme = theme
        self._plan: FitPlan | None = None
        self._refused: tuple[str, int, int] | None = None
        self._bars = QGridLayout()
        self._bars.setColumnStretch(1, 1)
        self._bars.setHorizontalSpacing(self.fontMetrics().height())
        self._bar_rows: list[tuple[QLabel, SegmentBar, QLabel]] = []
        self.body.addLayout(self._bars)
        self.controls = PlanControls()
        self._legend = QLabel()
        self._legend.setObjectName("note")
        self._legend.setWordWrap(True)
        self.body.addWidget(self._legend)
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
        """Draw the bars of a plan; None hides them (nothing chosen)."""
        self._plan, self._refused = plan, None
        self._draw()

    def show_refusal(self, where: str, needed: int, available: int) -> None:
        """Draw what is missing, in red; ``where`` is "gpu" or "ram"."""
        self._plan, self._refused = None, (where, needed, available)
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

    @property
    def bars(self) -> tuple[tuple[str, str, str], ...]:
        """What the bars say: name, value and details of each that is shown."""
        return tuple(
            (name.text(), value.text(), bar.toolTip())
            for name, bar, value in self._bar_rows
            if not bar.isHidden()
        )

    def _draw(self) -> None:
        pools = self._pools()
        while len(self._bar_rows) < len(pools):
            row = len(self._bar_rows)
            widgets = (QLabel(), SegmentBar(), QLabel())
            widgets[0].setObjectName("rowCaption")
            for column, widget in enumerate(widgets):
                self._bars.addWidget(widget, row, column)
            self._bar_rows.append(widgets)
        for index, widgets in enumerate(self._bar_rows):
            for widget in widgets:
                widget.setVisible(index < len(pools))
            if index < len(pools):
                self._show_pool(pools[index], *widgets)
        self._show_legend(pools)

    def _pools(self) -> list[Pool]:
        if self._refused is not None:
            where, needed, available = self._refused
            name = _("Graphics memory") if where == "gpu" else _("RAM")
            over = max(0, needed - available)
            parts = {MemoryPart.MODEL: needed - over, MemoryPart.MISSING: over}
            return [Pool(name, parts, available, max(needed, available))]
        plan = self._plan
        if plan is None:
            return []
        pools = []
        ram = parts_of(plan.ram)
        for share in plan.devices:
            if share.unified:
                ram = {part: ram[part] + amount for part, amount in parts_of(share.need).items()}
                continue
            name = capped(share.name, SHORTEST_NAME) if len(plan.devices) > 1 else _("Graphics memory")
            total = max(share.total_bytes, share.available_bytes)
            pools.append(Pool(name, parts_of(share.need), share.available_bytes, total))
        name = _("RAM, shared with the GPU") if any(s.unified for s in plan.devices) else _("RAM")
        total = max(plan.ram_total_bytes, plan.ram_available_bytes)
        return [*pools, Pool(name, ram, plan.ram_available_bytes, total)]

    def _show_pool(self, pool: Pool, name: QLabel, bar: SegmentBar, value: QLabel) -> None:
        colors = self._theme.colors
        parts = dict(pool.parts)
        if MemoryPart.MISSING not in parts:
            parts[MemoryPart.OTHERS] = pool.total - pool.free
        total = max(1, pool.total, sum(parts.values()))
        bar.show_segments(segments(parts, total, colors), QColor(colors.gauge_free))
        name.setText(pool.name)
        value.setText(
            _("{need} of {free} free").format(need=size(pool.need), free=size(pool.free))
            if pool.free
            else size(pool.need)
        )
        if MemoryPart.MISSING in parts:  # the rest of the bar is only the part that would fit
            parts = {MemoryPart.MISSING: parts[MemoryPart.MISSING]}
        details = [f"{part_name(part)} {size(parts[part])}" for part in MemoryPart if parts.get(part)]
        left = pool.free - pool.need
        if left > 0:
            details.append(_("left free {size}").format(size=size(left)))
        bar.setToolTip(", ".join(details))
        bar.setAccessibleName(f"{pool.name}: {', '.join(details)}")

    def _show_legend(self, pools: list[Pool]) -> None:
        shown = {part for pool in pools for part, amount in pool.parts.items() if amount}
        if MemoryPart.MISSING in shown:
            shown = {MemoryPart.MISSING}
        if any(pool.total > pool.free and MemoryPart.MISSING not in pool.parts for pool in pools):
            shown.add(MemoryPart.OTHERS)
        colors = self._theme.colors
        texts = [
            f'<span style="color:{part_color(part, colors).name(QColor.NameFormat.HexArgb)}">■</span>&nbsp;'
            + part_name(part).replace(" ", "&nbsp;")
            for part in MemoryPart
            if part in shown
        ]
        self._legend.setText(" &nbsp; ".join(texts))
        self._legend.setVisible(bool(texts))
