"""The strip of gauges below the chat: speed, context, graphics memory, RAM. It shows; it measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QWidget

from clover_gui.chat.context import WARN_SHARE
from clover_gui.i18n import _, number, size
from clover_gui.planning.plan import FitPlan, Need
from clover_gui.ui.gauges.gauge import Gauge
from clover_gui.ui.gauges.memory_parts import MemoryPart, in_use, segments
from clover_gui.ui.gauges.readings import ContextReading, MemoryLevel, MemoryReading, SpeedReading
from clover_gui.ui.gauges.segment_bar import Segment, SegmentBar
from clover_gui.ui.gauges.sparkline import Sparkline
from clover_gui.ui.shortcuts import Keys, native
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.elided_label import ElidedLabel

GAUGE_EM = 15
"""In one row each has at least so much."""
MINIMUM_EM = 24


class GaugeStrip(QWidget):
    """Four gauges side by side; each ``show_…`` replaces the reading of one. ``memory_requested``: one of the
    memory gauges was pressed."""

    memory_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("gaugeStrip")
        self._theme = theme
        self._speed_curve = Sparkline()
        self._context_bar, self._vram_bar, self._ram_bar = SegmentBar(), SegmentBar(), SegmentBar()
        # Shares of the whole pool that are in use, over the last minute.
        self._vram_curve, self._ram_curve = Sparkline(top=1.0), Sparkline(top=1.0)
        self._speed_note = ElidedLabel()
        self._speed_note.setObjectName("gaugeCaption")
        self.speed = Gauge(_beside(self._speed_note, self._speed_curve))
        self.context = Gauge(self._context_bar)
        self.vram = Gauge(_with_curve(self._vram_bar, self._vram_curve))
        self.ram = Gauge(_with_curve(self._ram_bar, self._ram_curve))
        for gauge in (self.vram, self.ram):
            gauge.make_active()
            gauge.activated.connect(self.memory_requested)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(self.fontMetrics().height())
        self._places: tuple[tuple[int, int, int], ...] = ()
        self._has_card = True
        self._place()
        self._last_speed = SpeedReading()
        self._last_context = ContextReading()
        self._last_memory: MemoryReading | None = None
        self._plan: FitPlan | None = None
        theme.changed.connect(self.refresh)
        self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def minimumSizeHint(self) -> QSize:
        return QSize(round(MINIMUM_EM * self._theme.em), super().minimumSizeHint().height())

    def _place(self) -> None:
        """All in one row, or in two where the window is narrow; without a graphics card there is one less."""
        gauges = (self.speed, self.context, *((self.vram,) if self._has_card else ()), self.ram)
        columns = len(gauges) if self.width() >= len(gauges) * GAUGE_EM * self._theme.em else 2
        places = tuple((index // columns, index % columns, 1) for index in range(len(gauges)))
        if len(gauges) % columns:  # the last one takes what is left of its row
            places = (*places[:-1], (*places[-1][:2], columns))
        if places == self._places:
            return
        for column in range(4):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        self._grid.removeWidget(self.vram)
        self.vram.setVisible(self._has_card)
        for gauge, (row, column, width) in zip(gauges, places, strict=True):
            self._grid.addWidget(gauge, row, column, 1, width)
        self._places = places

    def _show_card(self, has_card: bool) -> None:
        if has_card != self._has_card:
            self._has_card = has_card
            self._place()

    def show_speed(self, reading: SpeedReading) -> None:
        """Speed now and on average while writing, and of the last reading of a prompt."""
        self._last_speed = reading
        if reading.now is not None:
            self._speed_curve.add(reading.now)
        shown = reading.now if reading.now is not None else reading.average
        value = _("{rate} tok/s").format(rate=number(shown, 1)) if shown is not None else "–"
        lines = [_("Tokens per second: a token is a word or a piece of one.")]
        if reading.now is not None:
            lines.append(_("Writing now: {rate} tok/s").format(rate=number(reading.now, 1)))
        if reading.average is not None:
            lines.append(
                _("Writing, average of this answer: {rate} tok/s").format(rate=number(reading.average, 1))
            )
        if reading.reading is not None:
            lines.append(_("Reading the prompt: {rate} tok/s").format(rate=number(reading.reading, 0)))
        parts = []
        if reading.average is not None:
            parts.append(_("average {rate}").format(rate=number(reading.average, 1)))
        if reading.reading is not None:
            parts.append(_("read {rate}").format(rate=number(reading.reading)))
        self._speed_note.setText(" · ".join(parts))
        self.speed.show_text(_("Speed"), value, "\n".join(lines))

    def show_context(self, reading: ContextReading) -> None:
        """How much of the context is filled."""
        self._last_context = reading
        colors = self._theme.colors
        share = (reading.used or 0) / reading.total if reading.total else 0.0
        color = QColor(colors.warning if share >= WARN_SHARE else colors.gauge_context)
        self._context_bar.show_segments((Segment(share, color),), QColor(colors.gauge_free))
        if not reading.total:
            self.context.show_text(
                _("Context"), "–", _("Shows how much of the chat the model can still hold.")
            )
            return
        if reading.used is None:
            value = _("{used} of {total}").format(used="–", total=number(reading.total))
            details = _("How much of this chat the model holds is known again with the next answer.")
            self.context.show_text(_("Context"), value, details)
            return
        used = number(reading.used)
        value = _("{used} of {total}").format(used=used, total=number(reading.total))
        details = _("The model holds {used} of at most {total} tokens of this chat.").format(
            used=used, total=number(reading.total)
        )
        self.context.show_text(_("Context"), value, details, used)

    def show_plan(self, plan: FitPlan | None) -> None:
        """What is loaded: the bars then divide our part as the plan did. None: nothing is loaded."""
        self._plan = plan
        self._vram_curve.clear()
        self._show_memory(self._last_memory)

    def show_memory(self, reading: MemoryReading | None) -> None:
        """Both memory pools; None before the first look."""
        if reading is not None:
            self._ram_curve.add(reading.ram.used / max(1, reading.ram.total))
            if reading.vram is not None:
                self._vram_curve.add(reading.vram.used / max(1, reading.vram.total))
        self._show_memory(reading)

    def _show_memory(self, reading: MemoryReading | None) -> None:
        self._last_memory = reading
        if reading is None:
            for bar in (self._ram_bar, self._vram_bar):
                bar.show_segments((), QColor(self._theme.colors.gauge_free))
            self._show_text(self.ram, _("RAM"), "–", "")
            self._show_text(self.vram, _("Graphics memory"), "–", "")
            return
        plan = self._plan
        ram, ram_need = reading.ram, plan.ram if plan else None
        if plan is not None and any(share.unified for share in plan.devices):
            ram, ram_need = _with_gpu_part(ram, plan), plan.ram + plan.gpu
        self._show_level(self.ram, self._ram_bar, _("RAM"), ram, ram_need)
        self._vram_curve.setVisible(reading.vram is not None)
        self._show_card(reading.vram is not None or (plan is not None and bool(plan.devices)))
        if reading.vram is None:
            self._vram_bar.show_segments((), QColor(self._theme.colors.gauge_free))
            if plan is not None and plan.devices:
                self._show_no_reading(plan)
                return
            self._show_text(
                self.vram,
                _("Graphics memory"),
                _("none"),
                _("No graphics card is used: the processor does the work."),
            )
        else:
            need = plan.gpu if plan is not None and plan.devices else None
            self._show_level(
                self.vram, self._vram_bar, _("Graphics memory"), reading.vram, need, reading.cards
            )

    def _show_no_reading(self, plan: FitPlan) -> None:
        """A card holds the model, and nobody tells how full it is."""
        planned = size(plan.gpu.total)
        if plan.devices[0].unified:
            details = _("The graphics card uses the RAM: {planned} of it were planned for it.").format(
                planned=planned
            )
            self._show_text(self.vram, _("Graphics memory"), _("part of the RAM"), details)
            return
        details = _(
            "The driver does not tell how full the graphics memory is; {planned} were planned. The card may"
            " be asleep or lost."
        ).format(planned=planned)
        self._show_text(self.vram, _("Graphics memory"), "–", details)

    def _show_text(self, gauge: Gauge, caption: str, value: str, details: str, short: str = "") -> None:
        """With what pressing the gauge does."""
        more = _("Press it to see and change what lies where ({keys}).").format(keys=native(Keys.MEMORY))
        gauge.show_text(caption, value, "\n".join(filter(None, (details, more))), short)

    def refresh(self) -> None:
        """Write all texts and colours again, after a change of theme or language."""
        self._speed_curve.set_color(QColor(self._theme.colors.gauge_writing))
        last = self._last_speed
        self.show_speed(SpeedReading(None, last.average or last.now, last.reading))
        self.show_context(self._last_context)
        for curve in (self._vram_curve, self._ram_curve):
            curve.set_color(QColor(self._theme.colors.gauge_ours))
        self._show_memory(self._last_memory)

    def reset_speed(self) -> None:
        """Forget the curve, for example when another model was loaded."""
        self._speed_curve.clear()
        self.show_speed(SpeedReading())

    def _show_level(
        self,
        gauge: Gauge,
        bar: SegmentBar,
        caption: str,
        level: MemoryLevel,
        need: Need | None,
        cards: Sequence[MemoryLevel] = (),
    ) -> None:
        colors = self._theme.colors
        parts = in_use(level.ours or 0, need) if not level.ours_mapped else _in_ram(level, need)
        parts[MemoryPart.OTHERS] = level.others
        bar.show_segments(segments(parts, level.total, colors), QColor(colors.gauge_free))
        value = _("{used} of {total}").format(used=size(level.used), total=size(level.total))
        lines = []
        if level.ours is None:
            lines.append(_("In use by all programs together: {used}").format(used=size(level.used)))
        else:
            lines.append(_("Clover: {ours}").format(ours=size(level.ours)))
            if level.ours_mapped:
                lines.append(
                    _("Model file held in memory, given back when others need it: {mapped}").format(
                        mapped=size(level.ours_mapped)
                    )
                )
            lines.append(_("Other programs: {others}").format(others=size(level.others)))
        lines.append(_("Free: {free}").format(free=size(level.free)))
        if len(cards) > 1:
            lines += [
                _("Card {number}: {used} of {total}").format(
                    number=number(place), used=size(card.used), total=size(card.total)
                )
                for place, card in enumerate(cards, 1)
            ]
        self._show_text(gauge, caption, value, "\n".join(lines), size(level.used))


def _with_gpu_part(level: MemoryLevel, plan: FitPlan) -> MemoryLevel:
    """Where the GPU works in the RAM, its part may not be counted with our processes: at least what was
    planned is ours, as far as it is in use at all."""
    if level.ours is None:
        return level
    planned = plan.gpu.total + plan.ram.total - plan.ram.weights - plan.ram.copies
    return replace(level, ours=max(level.ours, min(level.ours + level.others, planned)))


def _in_ram(level: MemoryLevel, need: Need | None) -> dict[MemoryPart, int]:
    """The mapped file is the model as well; of the rest the parts are divided as planned."""
    rest = replace(need, weights=max(0, need.weights - level.ours_mapped)) if need is not None else Need()
    if not (level.ours or 0) > rest.weights:  # a mapped model is not private memory
        rest = replace(rest, weights=0)
    parts = in_use(level.ours or 0, rest)
    parts[MemoryPart.MODEL] = parts.get(MemoryPart.MODEL, 0) + level.ours_mapped
    return parts


def _with_curve(bar: SegmentBar, curve: Sparkline) -> QWidget:
    """A bar and what it was over the last minute in one row."""
    row = QWidget()
    layout = QHBoxLayout(row)
    layout.setContentsMargins(0, 0, 0, 0)
    bar.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    layout.addWidget(bar, 2)
    layout.addWidget(curve, 1)
    return row


def _beside(label: QLabel, curve: Sparkline) -> QWidget:
    """A small text and a curve in one row."""
    row = QWidget()
    layout = QHBoxLayout(row)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(label)
    layout.addWidget(curve, 1)
    return row
