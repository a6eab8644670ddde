"""The side panel of the chat: what lies where in the memory, what could be changed, and what that would do.

A view only: ``panel_presenter.py`` fills it, and it tells by signals what the person wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from clover_gui.i18n import _
from clover_gui.ui.memory.memory_bars import MemoryBars
from clover_gui.ui.memory.pools import Pool
from clover_gui.ui.setup.card import text_label
from clover_gui.ui.setup.plan_controls import PlanControls
from clover_gui.ui.shortcuts import Keys, native
from clover_gui.ui.theme import Theme

MINIMUM_EM, WIDTH_EM, MAXIMUM_EM = 22, 26, 34


@dataclass(frozen=True, slots=True)
class PanelContent:
    """What the panel says of one set of settings. ``refusal`` (in red) and ``cure`` (the text of the button
    that applies it) are "" where it fits; ``notes`` are quiet lines."""

    state: str
    pools: tuple[Pool, ...]
    speed: str = ""
    notes: tuple[str, ...] = ()
    refusal: str = ""
    cure: str = ""


class MemoryPanel(QFrame):
    """Filled by ``show_…``; hidden and shown by the page it stands on."""

    close_requested = Signal()
    model_requested = Signal()
    cure_requested = Signal()
    reload_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memoryPanel")
        self._theme = theme
        self._doing = ""
        self.title_label = QLabel()
        self.title_label.setObjectName("cardTitle")
        self.close_button = QPushButton()
        self.close_button.setProperty("kind", "icon")
        self.close_button.clicked.connect(self.close_requested)
        self.empty_label = text_label(name="note")
        self.choose_button = QPushButton()
        self.choose_button.clicked.connect(self.model_requested)
        self.state_label = text_label(name="note")
        self.bars = MemoryBars(theme, stacked=True)
        self.speed_label = text_label(name="rowValue")
        self.notes_label = text_label(name="note")
        self.refusal_label = text_label()
        self.refusal_label.setProperty("kind", "danger")
        self.cure_button = QPushButton()
        self.cure_button.clicked.connect(self.cure_requested)
        self.controls = PlanControls(narrow=True)
        self.loaded_title = QLabel()
        self.loaded_title.setObjectName("rowCaption")
        self.loaded_label = text_label(name="rowValue")
        self.foot_label = text_label(name="note")
        self.reload_button = QPushButton()
        self.reload_button.setProperty("kind", "primary")
        self.reload_button.clicked.connect(self.reload_requested)
        self._place()
        theme.changed.connect(self._recolour)
        self._recolour()
        self.retranslate()
        self.show_nothing()

    def _place(self) -> None:
        gap = self._theme.space(0.6)
        head = QHBoxLayout()
        head.addWidget(self.title_label)
        head.addStretch(1)
        head.addWidget(self.close_button)
        self._empty = _column(self.empty_label, self.choose_button, spacing=gap)
        self._body = _column(
            self.state_label,
            self.bars,
            self.speed_label,
            self.notes_label,
            self.refusal_label,
            self.cure_button,
            self.controls,
            self.loaded_title,
            self.loaded_label,
            spacing=gap,
        )
        content = _column(self._empty, self._body, spacing=gap)
        content.setObjectName("memoryContent")
        layout = content.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.setContentsMargins(0, 0, gap, 0)
        layout.addStretch(1)
        area = QScrollArea()
        area.setObjectName("memoryArea")
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(content)
        self._foot = _column(self.foot_label, self.reload_button, spacing=gap // 2)
        self._foot.setContentsMargins(0, 0, gap, 0)  # in one line with what stands beside the scroll bar
        root = QVBoxLayout(self)
        root.setContentsMargins(gap, gap // 2, gap, gap)
        root.setSpacing(gap)
        root.addLayout(head)
        root.addWidget(area, 1)
        root.addWidget(self._foot)
        self.setMinimumWidth(self._theme.space(MINIMUM_EM))

    # ------------------------------------------------------------ what is shown

    def show_nothing(self, doing: str = "") -> None:
        """No model is loaded; ``doing`` says what goes on to get one."""
        self._doing = doing
        self._write_empty()
        self._empty.show()
        self._body.hide()
        self._foot.hide()

    def show_content(self, content: PanelContent) -> None:
        """Bars, speed and words for one set of settings."""
        self._empty.hide()
        self._body.show()
        self._foot.show()
        self.bars.show_pools(content.pools)
        for label, text in (
            (self.state_label, content.state),
            (self.speed_label, content.speed),
            (self.notes_label, "\n".join(content.notes)),
            (self.refusal_label, content.refusal),
        ):
            label.setText(text)
            label.setVisible(bool(text))
        self.cure_button.setText(content.cure.replace("&", "&&"))
        self.cure_button.setVisible(bool(content.cure))

    def show_loaded(self, lines: Sequence[str]) -> None:
        """Planned against measured of what is loaded now."""
        self.loaded_label.setText("\n".join(lines))
        for label in (self.loaded_title, self.loaded_label):
            label.setVisible(bool(lines))

    def show_foot(self, note: str, *, can_reload: bool) -> None:
        """The sentence above the button, and whether the button can be pressed."""
        self.foot_label.setText(note)
        self.foot_label.setVisible(bool(note))
        self.reload_button.setEnabled(can_reload)
        self.reload_button.setAccessibleDescription(note)

    def take_focus(self) -> None:
        """To the first thing that can be done here."""
        (self.choose_button if self._body.isHidden() else self.controls.context).setFocus()

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that is said now."""
        if self._body.isHidden():
            return (self.empty_label.text(),)
        labels = (self.state_label, self.speed_label, self.notes_label, self.refusal_label, self.loaded_label)
        said = [label.text() for label in (*labels, self.foot_label) if not label.isHidden()]
        said += [" ".join(bar) for bar in self.bars.texts]
        return (*said, *([] if self.cure_button.isHidden() else [self.cure_button.text()]))

    def retranslate(self) -> None:
        """Write the panel's own texts again in the language in force."""
        self.title_label.setText(_("Memory"))
        self.setAccessibleName(_("Memory"))
        self.close_button.setAccessibleName(_("Close the memory panel"))
        keys = native(Keys.MEMORY)
        self.close_button.setToolTip(_("Close the memory panel (Esc; {keys})").format(keys=keys))
        self._write_empty()
        self.choose_button.setText(_("Choose a model"))
        self.loaded_title.setText(_("Loaded now"))
        self.reload_button.setText(_("Load again with these settings"))
        self.controls.retranslate()
        self.bars.refresh()

    def _write_empty(self) -> None:
        nothing = _("No model is loaded. With one, this shows where its parts lie.")
        self.empty_label.setText(self._doing or nothing)
        self.choose_button.setVisible(not self._doing)

    def _recolour(self) -> None:
        self.close_button.setIcon(self._theme.icon("close"))


def _column(*widgets: QWidget, spacing: int) -> QWidget:
    holder = QWidget()
    layout = QVBoxLayout(holder)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for widget in widgets:
        layout.addWidget(widget)
    return holder
