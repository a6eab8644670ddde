"""What every page of the settings is: a title, widgets, and what it changes when the person agrees.

Must not know: the dialog, the other pages.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from clover_gui.settings import Settings


class SettingsPage(QWidget):
    """Add widgets with ``add``; override ``apply_to`` if the page has settings. The dialog lets it scroll."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("settingsPage")
        self.title = title
        """Short, for the list of pages; in the language in force."""
        self._column = QVBoxLayout(self)
        # At the end, so that everything stands at the top; an alignment would forget wrapped lines.
        self._column.addStretch(1)

    def wrong_field(self) -> QWidget | None:
        """A field with a value that cannot be saved; the page itself says what is wrong with it."""
        return None

    def apply_to(self, settings: Settings) -> Settings:
        """The settings with this page's values; called once, when the person saves."""
        return settings

    def event(self, event: QEvent) -> bool:
        """A scroll area does not ask how high wrapped text is at this width, so the page says it."""
        result = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            needed = self._column.totalHeightForWidth(self.width())
            if needed >= 0 and needed != self.minimumHeight():
                self.setMinimumHeight(needed)
        return result

    def add(self, widget: QWidget) -> None:
        """Put it below what is there."""
        self._column.insertWidget(self._column.count() - 1, widget)

    def add_field(self, caption: str, field: QWidget, note: str = "", problem: QLabel | None = None) -> None:
        """A caption above its field, and below it what is wrong with it, if that is so, and what it means."""
        label = QLabel(caption)
        label.setBuddy(field)
        if not field.accessibleName():
            field.setAccessibleName(caption)
        self.add(label)
        self.add(field)
        if problem is not None:
            self.add(problem)
        if note:
            field.setAccessibleDescription(note)
            self.add(note_label(note))
        self.add_gap()

    def add_heading(self, text: str) -> None:
        """A line above several fields that belong together."""
        label = QLabel(text)
        label.setObjectName("cardTitle")
        label.setWordWrap(True)
        self.add(label)

    def add_gap(self) -> None:
        """Half a line of nothing."""
        self._column.insertSpacing(self._column.count() - 1, self.fontMetrics().height() // 2)


def note_label(text: str = "") -> QLabel:
    """A quiet line of plain text that may be long, and that can be copied."""
    label = QLabel(text)
    label.setObjectName("note")
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    return label
