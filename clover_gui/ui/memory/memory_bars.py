"""Bars of what lies where, with figures and the names of the colours. It shows; it computes nothing.

In a row (name, bar, figures; one legend for all) or stacked for a narrow panel, where each bar has the
figures of all its parts below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from clover_gui.i18n import _, size
from clover_gui.ui.gauges.memory_parts import MemoryPart, part_color, part_name, segments
from clover_gui.ui.gauges.segment_bar import SegmentBar
from clover_gui.ui.memory.pools import Pool
from clover_gui.ui.theme import Theme

_THICK_TENTHS = 6
_STACKED_ROWS = 4  # name and value, bar, figures, distance


@dataclass(frozen=True, slots=True)
class _Row:
    name: QLabel
    bar: SegmentBar
    value: QLabel
    figures: QLabel

    @property
    def widgets(self) -> tuple[QWidget, ...]:
        return self.name, self.bar, self.value, self.figures


class MemoryBars(QWidget):
    """``show_pools`` replaces what is shown."""

    def __init__(self, theme: Theme, *, stacked: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._stacked = stacked
        self._pools: tuple[Pool, ...] = ()
        self._rows: list[_Row] = []
        self._grid = QGridLayout()
        self._grid.setColumnStretch(1, 1)
        self._grid.setHorizontalSpacing(self.fontMetrics().height())
        self.legend = _legend_label()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(self._grid)
        layout.addWidget(self.legend)
        theme.changed.connect(self.refresh)

    def show_pools(self, pools: Sequence[Pool]) -> None:
        """Draw these; none hides everything."""
        self._pools = tuple(pools)
        self.refresh()

    def refresh(self) -> None:
        """Draw again, after a change of colours."""
        while len(self._rows) < len(self._pools):
            self._rows.append(self._add_row(len(self._rows)))
        for index, row in enumerate(self._rows):
            for widget in row.widgets:
                widget.setVisible(index < len(self._pools) and (self._stacked or widget is not row.figures))
            if index < len(self._pools):
                self._show_pool(self._pools[index], row)
        shown = {part for pool in self._pools for part in pool.shown_parts} - {MemoryPart.FREE}
        if MemoryPart.MISSING in shown:
            shown = {MemoryPart.MISSING}
        self.legend.setText(self._swatches((part, "") for part in MemoryPart if part in shown))
        self.legend.setVisible(bool(shown) and not self._stacked)

    @property
    def texts(self) -> tuple[tuple[str, str, str], ...]:
        """What the bars say: name, value and details of each that is shown."""
        return tuple(
            (row.name.text(), row.value.text(), row.bar.toolTip())
            for row in self._rows
            if not row.bar.isHidden()
        )

    def _add_row(self, index: int) -> _Row:
        bar = SegmentBar(_THICK_TENTHS) if self._stacked else SegmentBar()
        row = _Row(QLabel(), bar, QLabel(), _legend_label())
        row.name.setObjectName("rowCaption")
        row.name.setTextFormat(Qt.TextFormat.PlainText)
        if self._stacked:
            bar.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            row.value.setAlignment(Qt.AlignmentFlag.AlignRight)
            top = _STACKED_ROWS * index
            self._grid.addWidget(row.name, top, 0)
            self._grid.addWidget(row.value, top, 1)
            self._grid.addWidget(row.bar, top + 1, 0, 1, 2)
            self._grid.addWidget(row.figures, top + 2, 0, 1, 2)
            if index:
                self._grid.setRowMinimumHeight(top - 1, self.fontMetrics().height() // 3)
        else:
            for column, widget in enumerate((row.name, row.bar, row.value)):
                self._grid.addWidget(widget, index, column)
            row.figures.setParent(self)
        return row

    def _show_pool(self, pool: Pool, row: _Row) -> None:
        colors = self._theme.colors
        parts = dict(pool.parts)
        if not pool.is_refused:
            parts[MemoryPart.OTHERS] = pool.total - pool.free
        total = max(1, pool.total, sum(parts.values()))
        row.bar.show_segments(segments(parts, total, colors), QColor(colors.gauge_free))
        row.name.setText(pool.name)
        row.value.setText(
            _("{need} of {free} free").format(need=size(pool.need), free=size(pool.free))
            if pool.free
            else size(pool.need)
        )
        shown = pool.shown_parts
        details = [_detail(part, shown[part]) for part in MemoryPart if part in shown]
        row.bar.setToolTip(", ".join(details))
        row.bar.setAccessibleName(f"{pool.name}: {', '.join(details)}")
        row.figures.setText(self._swatches((part, size(shown[part])) for part in MemoryPart if part in shown))
        row.figures.setAccessibleName(", ".join(details))

    def _swatches(self, parts: Iterable[tuple[MemoryPart, str]]) -> str:
        """A coloured square, the name and a figure of each part, wrapped between parts only."""
        texts = []
        for part, figure in parts:
            color = part_color(part, self._theme.colors).name(QColor.NameFormat.HexArgb)
            words = f"{part_name(part)} {figure}".strip().replace(" ", "&nbsp;")
            texts.append(f'<span style="color:{color}">■</span>&nbsp;{words}')
        return "&nbsp;&nbsp; ".join(texts)


def _detail(part: MemoryPart, amount: int) -> str:
    if part is MemoryPart.FREE:
        return _("left free {size}").format(size=size(amount))
    return f"{part_name(part)} {size(amount)}"


def _legend_label() -> QLabel:
    label = QLabel()
    label.setObjectName("note")
    label.setWordWrap(True)
    return label
