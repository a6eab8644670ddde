"""Shows how far a move of the models is, and what came of it. Must not know: how files are moved."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QProgressBar, QVBoxLayout, QWidget

from clover_gui.i18n import _, capped, file_size
from clover_gui.storage.carrying import MoveProgress
from clover_gui.ui.settings.settings_page import note_label
from clover_gui.ui.theme import Theme

_STEPS = 1000


class MoveDialog(QDialog):
    """Opened with ``open()``. While files are carried it can only be stopped, not closed."""

    stop_requested = Signal()
    retry_requested = Signal()
    given_up = Signal()

    def __init__(self, target: Path, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("moveDialog")
        self.setWindowTitle(_("Moving the models"))
        self._working = True
        self.heading = QLabel(_("The models are being moved"))
        self.heading.setObjectName("cardTitle")
        self.heading.setWordWrap(True)
        self.text = note_label(_("To {folder}").format(folder=capped(str(target), 200)))
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(_("Progress"))
        self.status = note_label(_("Looking at what is there…"))
        self.hint = note_label(
            _("Each file is copied, read back and compared. The old ones go only after that.")
        )
        self.buttons = QDialogButtonBox()
        role = QDialogButtonBox.ButtonRole
        self.stop_button = self.buttons.addButton(_("Stop"), role.ActionRole)
        self.retry_button = self.buttons.addButton(_("Try again"), role.ActionRole)
        self.leave_button = self.buttons.addButton(_("Leave them where they are"), role.ActionRole)
        self.close_button = self.buttons.addButton(QDialogButtonBox.StandardButton.Close)
        self.stop_button.clicked.connect(self._stop)
        self.retry_button.clicked.connect(self.retry_requested)
        self.leave_button.clicked.connect(self.given_up)
        self.close_button.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        for widget in (self.heading, self.text, self.bar, self.status, self.hint, self.buttons):
            layout.addWidget(widget)
        self.setMinimumWidth(theme.space(26))
        self.show_working()

    @property
    def is_working(self) -> bool:
        return self._working

    def show_working(self) -> None:
        """Files are being carried."""
        self._working = True
        self.bar.show()
        self.hint.show()
        self.heading.setText(_("The models are being moved"))
        self._offer(self.stop_button)
        self.stop_button.setEnabled(True)

    def show_progress(self, progress: MoveProgress) -> None:
        """How far it is."""
        self.bar.setRange(0, _STEPS)
        self.bar.setValue(int(progress.fraction * _STEPS))
        # Every byte is counted twice: copied, and read back.
        self.status.setText(
            _("{name}: {done} of {total} in all").format(
                name=capped(progress.name),
                done=file_size(progress.done_bytes / 2),
                total=file_size(progress.total_bytes / 2),
            )
        )

    def show_done(self, text: str) -> None:
        """It is over, one way or the other."""
        self._end(_("The models"), text)
        self._offer(self.close_button)

    def show_failure(self, title: str, text: str, *, can_go_on: bool) -> None:
        """It failed; with ``can_go_on`` it can be tried again from where it stopped."""
        self._end(title, text)
        self._offer(*((self.retry_button, self.leave_button) if can_go_on else (self.close_button,)))

    def reject(self) -> None:
        """Escape: while it works, that is the wish to stop; in between, to leave it for later."""
        if self._working:
            self._stop()
        else:
            super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._working:
            event.ignore()
            self._stop()
        else:
            super().closeEvent(event)

    def _end(self, title: str, text: str) -> None:
        self._working = False
        self.heading.setText(title)
        self.status.setText(text)
        self.status.setAccessibleName(text)
        self.bar.hide()
        self.hint.hide()
        self.adjustSize()

    def _offer(self, *offered: QWidget) -> None:
        for button in (self.stop_button, self.retry_button, self.leave_button, self.close_button):
            button.setVisible(button in offered)
        offered[0].setFocus()

    def _stop(self) -> None:
        self.stop_button.setEnabled(False)
        self.status.setText(_("Stopping…"))
        self.stop_requested.emit()
