"""Files of a message as chips: name and tokens; a press shows the text that the model is given.

Above the text field, those that will go with the next message, with a way to remove them; in the chat, those
that went with one.

Must not know: how files are read and counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from clover_gui.chat.message import Attachment
from clover_gui.i18n import _, capped, file_size, ngettext, number
from clover_gui.ui.chat.text_dialog import TextDialog
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import IconButton
from clover_gui.ui.widgets.flow_layout import FlowLayout

NAME_LIMIT = 36
FULL_NAME_LIMIT = 120


def chip_text(attachment: Attachment) -> str:
    """For example "report.pdf · 1,234 tokens"; the size until it is counted."""
    name = capped(attachment.name, NAME_LIMIT)
    if attachment.tokens:
        length = ngettext("{count} token", "{count} tokens", attachment.tokens).format(
            count=number(attachment.tokens)
        )
    else:
        length = file_size(len(attachment.text.encode("utf-8", "replace")))
    return f"{name} · {length}"


class AttachmentChip(QFrame):
    """One file."""

    opened = Signal()
    removed = Signal()

    def __init__(
        self, theme: Theme, attachment: Attachment, parent: QWidget | None = None, *, removable: bool = True
    ) -> None:
        super().__init__(parent)
        self.setProperty("kind", "chip")
        text = chip_text(attachment)
        # An ampersand would be taken for the mark of a key.
        self.open_button = QPushButton(text.replace("&", "&&"))
        self.open_button.setProperty("kind", "quiet")
        self.open_button.setAutoDefault(False)
        self.open_button.setToolTip(
            _("{name}: look at the text").format(name=capped(attachment.name, FULL_NAME_LIMIT))
        )
        self.open_button.setAccessibleName(_("Look at {file}").format(file=text))
        self.open_button.clicked.connect(self.opened)
        self.remove_button = IconButton(
            theme, "close", _("Remove {name}").format(name=capped(attachment.name, NAME_LIMIT))
        )
        self.remove_button.clicked.connect(self.removed)
        self.remove_button.setVisible(removable)
        layout = QHBoxLayout(self)
        gap = theme.space(0.3)
        layout.setContentsMargins(gap // 2, 0, gap // 2, 0)
        layout.setSpacing(0)
        layout.addWidget(self.open_button)
        layout.addWidget(self.remove_button)


class ReadingChip(QFrame):
    """A file that is still being read, and a way to do without it."""

    removed = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "chip")
        shown = capped(name, NAME_LIMIT)
        self.label = QLabel(_("{name} · reading…").format(name=shown))
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setProperty("kind", "muted")
        self.remove_button = IconButton(theme, "close", _("Remove {name}").format(name=shown))
        self.remove_button.clicked.connect(self.removed)
        layout = QHBoxLayout(self)
        gap = theme.space(0.3)
        layout.setContentsMargins(2 * gap, 0, gap // 2, 0)
        layout.setSpacing(gap)
        layout.addWidget(self.label)
        layout.addWidget(self.remove_button)


class AttachmentChips(QWidget):
    """All of them; hidden when there is none. ``removed`` carries the place of a file, from 0;
    ``reading_removed`` that of one among those being read."""

    removed = Signal(int)
    reading_removed = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, removable: bool = True) -> None:
        """Those that cannot be removed went with a message, which stands at the right."""
        super().__init__(parent)
        self._theme = theme
        self._removable = removable
        self.chips: list[AttachmentChip] = []
        self.reading: list[ReadingChip] = []
        """Behind them, files that are still being read."""
        self._layout = FlowLayout(theme.space(0.3), self, from_right=not removable)
        theme.changed.connect(self._restyle)
        self.hide()

    def show_attachments(self, attachments: Sequence[Attachment], reading: Sequence[str] = ()) -> None:
        """``reading``: names of files that are still being read."""
        for old in (*self.chips, *self.reading):
            self._layout.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.chips, self.reading = [], []
        for place, attachment in enumerate(attachments):
            chip = AttachmentChip(self._theme, attachment, self, removable=self._removable)
            chip.removed.connect(lambda place=place: self.removed.emit(place))
            chip.opened.connect(lambda attachment=attachment: self._show_text(attachment))
            self._layout.addWidget(chip)
            self.chips.append(chip)
        for place, name in enumerate(reading):
            waiting = ReadingChip(self._theme, name, self)
            waiting.removed.connect(lambda place=place: self.reading_removed.emit(place))
            self._layout.addWidget(waiting)
            self.reading.append(waiting)
        self.setVisible(bool(attachments or reading))
        self.updateGeometry()

    def fit(self, right: int, top: int, widest: int) -> int:
        """Without a layout around it: stand at the right of ``right``, below ``top``; the lower edge."""
        gap = self._theme.space(0.3)
        wanted = sum(chip.sizeHint().width() + gap for chip in self.chips) - gap
        width = min(wanted, widest)
        height = self._layout.heightForWidth(width)
        self.setGeometry(right - width, top, width, height)
        return top + height

    def _show_text(self, attachment: Attachment) -> None:
        TextDialog(attachment.name, attachment.text, self._theme, self.window()).open()

    def _restyle(self) -> None:
        for button in self.findChildren(IconButton):
            button.restyle()
