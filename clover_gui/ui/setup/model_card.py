"""The choice of a model: what is on this machine already, and a file of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QRadioButton, QVBoxLayout, QWidget

from clover_gui.i18n import _
from clover_gui.ui.setup.card import Card, text_label


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One line of the list. ``key`` is handed back when it is chosen; "" cannot be chosen.

    ``page_url`` can be opened in the browser.
    """

    key: str
    title: str
    summary: str
    note: str = ""
    page_url: str = ""


class ModelCard(Card):
    """Radio buttons, at most one of them checked."""

    model_chosen = Signal(str)
    open_file_requested = Signal()
    page_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self._clicked)
        self._choices: list[ModelChoice] = []
        self._list = QVBoxLayout()
        self.body.addLayout(self._list)
        self.open_button = QPushButton()
        self.open_button.clicked.connect(self.open_file_requested)
        row = QHBoxLayout()
        row.addWidget(self.open_button)
        row.addStretch(1)
        self.body.addLayout(row)
        self.retranslate()

    def show_choices(self, choices: Sequence[ModelChoice], selected_key: str) -> None:
        """Fill the list; the choice with ``selected_key`` is checked (no signal)."""
        for button in self._group.buttons():
            self._group.removeButton(button)
        while (item := self._list.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._choices = list(choices)
        for index, choice in enumerate(choices):
            self._list.addWidget(self._row(index, choice, choice.key == selected_key))

    @property
    def selected_key(self) -> str:
        """The path that is chosen, or ""."""
        index = self._group.checkedId()
        return self._choices[index].key if index >= 0 else ""

    @property
    def choices(self) -> tuple[ModelChoice, ...]:
        return tuple(self._choices)

    def retranslate(self) -> None:
        """Write the card's own texts again."""
        self.title_label.setText(_("Model"))
        self.open_button.setText(_("Open another file…"))
        self.open_button.setToolTip(_("Choose a GGUF file on this machine (Ctrl+O)"))

    def _row(self, index: int, choice: ModelChoice, checked: bool) -> QWidget:
        row = QWidget()
        layout = QVBoxLayout(row)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(self.fontMetrics().height() // 6)
        button = QRadioButton(choice.title.replace("&", "&&"))
        button.setEnabled(bool(choice.key))
        button.setChecked(checked and bool(choice.key))
        button.setAccessibleDescription(f"{choice.summary} {choice.note}".strip())
        self._group.addButton(button, index)
        first = QHBoxLayout()
        first.addWidget(button, 1)
        if choice.page_url:
            link = QPushButton(_("Open its page"))
            link.setProperty("kind", "aside")
            link.setToolTip(choice.page_url)
            link.setAccessibleName(_("Open the page of {model}").format(model=choice.title))
            link.clicked.connect(lambda: self.page_requested.emit(choice.page_url))
            first.addWidget(link)
        layout.addLayout(first)
        text = " ".join(filter(None, (choice.summary, choice.note)))
        if text:
            label = text_label(text, "note")
            label.setContentsMargins(self.fontMetrics().height() * 3 // 2, 0, 0, 0)
            layout.addWidget(label)
        return row

    def _clicked(self, index: int) -> None:
        self.model_chosen.emit(self._choices[index].key)
