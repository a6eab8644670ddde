"""A titled card of the setup page: rows of label and value, and quiet or warning lines below."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QVBoxLayout, QWidget


def text_label(text: str = "", name: str = "") -> QLabel:
    """A wrapping, selectable label that never interprets its text as markup."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if name:
        label.setObjectName(name)
    return label


class Card(QFrame):
    """Title, then rows, then notes. ``body`` takes further widgets."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.title_label = QLabel(title)
        self.title_label.setObjectName("cardTitle")
        self._rows = QGridLayout()
        self._rows.setColumnStretch(1, 1)
        self._rows.setHorizontalSpacing(self.fontMetrics().height())
        self._notes = QVBoxLayout()
        self.body = QVBoxLayout()
        layout = QVBoxLayout(self)
        layout.addWidget(self.title_label)
        layout.addLayout(self._rows)
        layout.addLayout(self.body)
        layout.addLayout(self._notes)
        self._row_labels: list[tuple[QLabel, QLabel]] = []

    def show_rows(self, rows: Sequence[tuple[str, str]], greyed: Collection[int] = ()) -> None:
        """Set the rows; labels are kept and reused, so that nothing flickers. ``greyed`` are numbers of rows
        whose value is shown as something that is not used."""
        while len(self._row_labels) < len(rows):
            index = len(self._row_labels)
            caption, value = text_label(name="rowCaption"), text_label(name="rowValue")
            caption.setWordWrap(False)
            caption.setAlignment(Qt.AlignmentFlag.AlignTop)
            self._rows.addWidget(caption, index, 0)
            self._rows.addWidget(value, index, 1)
            self._row_labels.append((caption, value))
        for index, (caption, value) in enumerate(self._row_labels):
            shown = index < len(rows)
            caption.setVisible(shown)
            value.setVisible(shown)
            if shown:
                caption.setText(rows[index][0])
                value.setText(rows[index][1])
                self._set_greyed(value, index in greyed)

    def _set_greyed(self, value: QLabel, greyed: bool) -> None:
        name = "note" if greyed else "rowValue"
        if value.objectName() != name:
            value.setObjectName(name)
            value.style().unpolish(value)
            value.style().polish(value)

    def show_notes(self, notes: Sequence[tuple[str, bool]]) -> None:
        """Lines below the rows: (text, is a warning)."""
        while (item := self._notes.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()  # it would stay in the picture until it is deleted
                widget.deleteLater()
        for text, warning in notes:
            label = text_label(text, "warningNote" if warning else "note")
            label.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            self._notes.addWidget(label)

    def texts(self) -> list[str]:
        """Everything that is shown, for tests and screen readers."""
        shown = [f"{a.text()}: {b.text()}" for a, b in self._row_labels if not b.isHidden()]
        for index in range(self._notes.count()):
            item = self._notes.itemAt(index)
            if item is not None and isinstance(label := item.widget(), QLabel):
                shown.append(label.text())
        return shown
