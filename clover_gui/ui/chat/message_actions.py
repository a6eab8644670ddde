"""The row of small buttons at a message: edit, quote, continue, answer again, copy, versions.

It is one stop for the Tab key; the arrow keys go from button to button. Must not know: messages, their texts.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QWidget

from clover_gui.i18n import _, number
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import CopyButton, IconButton

_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class MessageActions(QWidget):
    """Buttons are hidden until they are offered; those offered are drawn on hover or focus only.

    The owner places it after ``fit``; ``changed`` says that another size is needed.
    """

    changed = Signal()
    previous_version_requested = Signal()
    next_version_requested = Signal()
    edit_requested = Signal()
    quote_requested = Signal()
    continue_requested = Signal()
    regenerate_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._versions = (1, 1)
        self.previous_button = IconButton(theme, "chevron-left", "", self)
        self.version_label = QLabel(self)
        self.version_label.setProperty("kind", "muted")
        self.next_button = IconButton(theme, "chevron-right", "", self)
        self.edit_button = IconButton(theme, "edit", "", self)
        self.quote_button = IconButton(theme, "quote", "", self)
        self.continue_button = IconButton(theme, "continue", "", self)
        self.regenerate_button = IconButton(theme, "regenerate", "", self)
        self.copy_button = CopyButton(theme, "", self)
        for button, signal in (
            (self.previous_button, self.previous_version_requested),
            (self.next_button, self.next_version_requested),
            (self.edit_button, self.edit_requested),
            (self.quote_button, self.quote_requested),
            (self.continue_button, self.continue_requested),
            (self.regenerate_button, self.regenerate_requested),
        ):
            button.clicked.connect(signal)
            button.hide()
        self.version_label.hide()
        for button in self._buttons():
            button.installEventFilter(self)
        self._set_stop(self.copy_button)
        self.reveal(False)

    def _buttons(self) -> list[IconButton]:
        """From left to right."""
        return [
            self.edit_button,
            self.quote_button,
            self.continue_button,
            self.regenerate_button,
            self.copy_button,
            # Always drawn: at the right, where the bubble or the edge of the text is.
            self.previous_button,
            self.next_button,
        ]

    def set_versions(self, current: int, total: int) -> None:
        """Which of how many versions is shown, from 1; with a single one there is nothing to choose."""
        assert 1 <= current <= total
        if (current, total) == self._versions:
            return
        self._versions = current, total
        several = total > 1
        for part in (self.previous_button, self.version_label, self.next_button):
            part.setVisible(several)
        self.previous_button.setEnabled(current > 1)
        self.next_button.setEnabled(current < total)
        self._name_versions()
        self._keep_stop()
        self.changed.emit()

    def offer(self, button: IconButton, offered: bool) -> None:
        """Show or hide one of the buttons."""
        if button.isHidden() == offered:
            button.setVisible(offered)
            self._keep_stop()
            self.changed.emit()

    def reveal(self, revealed: bool) -> None:
        """Draw the buttons, or only the one that has the focus. Those for versions are always drawn."""
        for button in self._buttons():
            if button not in (self.previous_button, self.next_button):
                button.set_revealed(revealed)

    def fit(self) -> QSize:
        """Place the buttons offered side by side, and return the size taken."""
        x = 0
        hint = self.copy_button.sizeHint()
        for button in self._buttons():
            if button is self.next_button and not self.version_label.isHidden():
                width = self.version_label.sizeHint().width()
                self.version_label.setGeometry(x, 0, width, hint.height())
                x += width
            if not button.isHidden():
                button.setGeometry(x, 0, hint.width(), hint.height())
                x += hint.width()
        self.resize(x, hint.height())
        return self.size()

    def restyle(self) -> None:
        self.version_label.setFont(self._theme.small_font())
        for button in self._buttons():
            button.restyle()

    def retranslate(self) -> None:
        self._name_versions()
        self.edit_button.set_label(_("Edit message"))
        self.quote_button.set_label(_("Quote"))
        self.continue_button.set_label(_("Continue the answer"))
        self.regenerate_button.set_label(_("Answer again"))
        self.copy_button.set_label(_("Copy message"))

    def _name_versions(self) -> None:
        current, total = (number(value) for value in self._versions)
        self.version_label.setText(f"{current}/{total}")
        place = _("version {current} of {total}").format(current=current, total=total)
        self.version_label.setAccessibleName(place)
        self.previous_button.set_label(_("Previous version"))
        self.next_button.set_label(_("Next version"))
        for button in (self.previous_button, self.next_button):
            button.setAccessibleDescription(place)

    # One stop for Tab

    def _set_stop(self, stop: IconButton) -> None:
        for button in self._buttons():
            on = button is stop
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if on else Qt.FocusPolicy.ClickFocus)

    def _keep_stop(self) -> None:
        """The stop moves on if its button has gone."""
        stop = next(b for b in self._buttons() if b.focusPolicy() == Qt.FocusPolicy.StrongFocus)
        if stop.isHidden() or not stop.isEnabled():
            self._set_stop(self.copy_button)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn and isinstance(watched, IconButton):
            self._set_stop(watched)
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            step = _STEPS.get(Qt.Key(event.key()), 0)
            if step and isinstance(watched, IconButton):
                usable = [b for b in self._buttons() if not b.isHidden() and b.isEnabled()]
                place = usable.index(watched) + step
                if 0 <= place < len(usable):
                    usable[place].setFocus(Qt.FocusReason.TabFocusReason)
                return True
        return super().eventFilter(watched, event)
