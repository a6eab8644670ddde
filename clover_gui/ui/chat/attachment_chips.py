"""The files that will go with the message, as chips above the text field: name, tokens, a way to remove it.

Must not know: how files are read and counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from clover_gui.chat.message import Attachment
from clover_gui.i18n import _, capped, file_size, ngettext, number
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import IconButton
from clover_gui.ui.widgets.flow_layout import FlowLayout

NAME_LIMIT = 36


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

    removed = Signal()

    def __init__(self, theme: Theme, attachment: Attachment, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "chip")
        text = chip_text(attachment)
        self.label = QLabel(text)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setToolTip(capped(attachment.name, 120))
        self.remove_button = IconButton(
            theme, "close", _("Remove {name}").format(name=capped(attachment.name, NAME_LIMIT))
        )
        self.remove_button.clicked.connect(self.removed)
        layout = QHBoxLayout(self)
        gap = theme.space(0.3)
        layout.setContentsMargins(2 * gap, 0, gap // 2, 0)
        layout.setSpacing(gap // 2)
        layout.addWidget(self.label)
        layout.addWidget(self.remove_button)


class AttachmentChips(QWidget):
    """All of them; hidden when there is none. ``removed`` carries the place of a file, from 0."""

    removed = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.chips: list[AttachmentChip] = []
        self._layout = FlowLayout(theme.space(0.3), self)
        theme.changed.connect(self._restyle)
        self.hide()

    def show_attachments(self, attachments: Sequence[Attachment]) -> None:
        for chip in self.chips:
            self._layout.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self.chips = []
        for place, attachment in enumerate(attachments):
            chip = AttachmentChip(self._theme, attachment, self)
            chip.removed.connect(lambda place=place: self.removed.emit(place))
            self._layout.addWidget(chip)
            self.chips.append(chip)
        self.setVisible(bool(attachments))
        self.updateGeometry()

    def _restyle(self) -> None:
        for chip in self.chips:
            chip.remove_button.restyle()
