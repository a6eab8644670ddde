"""Errors reach the person through one dialog with a report that can be copied.

``ErrorReporter`` catches what nobody caught (slots, threads, tasks, the event loop); known failures
(CloverError) come with their own sentence and next step, anything else is called what it is: a fault
of this program.
"""

from __future__ import annotations

import logging
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from clover_gui import __version__
from clover_gui.errors import CloverError
from clover_gui.i18n import _

if TYPE_CHECKING:
    from clover_gui.explain import Explanation

log = logging.getLogger(__name__)

SHOWN_MS = 60_000


class ErrorReporter(QObject):
    """Shows errors, one dialog at a time; further ones are logged and counted meanwhile."""

    _arrived = Signal(object)

    def __init__(self, recent_log: Callable[[], list[str]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._recent_log = recent_log
        self._window: QWidget | None = None
        self._dialog: QMessageBox | None = None
        # Queued, so that an error of another thread is shown by the window's thread.
        self._arrived.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def set_window(self, window: QWidget) -> None:
        self._window = window

    @property
    def dialog(self) -> QMessageBox | None:
        """The open dialog, if any."""
        return self._dialog

    def install(self) -> None:
        """Take over the interpreter's hooks for uncaught errors in slots and threads."""

        def on_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            if issubclass(kind, KeyboardInterrupt):
                sys.__excepthook__(kind, error, trace)
            else:
                self.report(error.with_traceback(trace))

        def on_thread_error(arguments: threading.ExceptHookArgs) -> None:
            if arguments.exc_value is not None:
                self.report(arguments.exc_value)

        sys.excepthook = on_error
        threading.excepthook = on_thread_error

    def report(self, error: BaseException) -> None:
        """Log the error and show it; may be called from any thread."""
        log.error("uncaught error", exc_info=error)
        self._arrived.emit(error)

    def last_words(self, error: BaseException) -> None:
        """The program cannot go on: say why in a dialog of its own, without the event loop that has ended."""
        log.critical("the window ended by an error", exc_info=error)
        words = unexpected(error)
        show_and_wait(words.title, f"{words.sentence}\n{words.detail}")

    def _show(self, error: BaseException) -> None:
        if self._dialog is not None:
            return
        from clover_gui.explain import explain  # not needed for the first picture

        explanation = explain(error) if isinstance(error, CloverError) else unexpected(error)
        box = QMessageBox(self._window)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setWindowTitle(explanation.title)
        box.setText(explanation.sentence)
        box.setInformativeText(explanation.next_step)
        report = self.report_text(error, explanation)
        box.setDetailedText(report)
        copy = box.addButton(_("Copy report"), QMessageBox.ButtonRole.ActionRole)
        copy.clicked.disconnect()  # the button copies; it does not close the dialog
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(report))
        box.addButton(_("Close"), QMessageBox.ButtonRole.AcceptRole)
        box.finished.connect(self._closed)
        self._dialog = box
        box.open()

    def _closed(self) -> None:
        self._dialog = None

    def report_text(self, error: BaseException, explanation: Explanation) -> str:
        """What a person can send: versions, the failure with its causes, the last log lines."""
        lines = [
            f"Clover {__version__}, Python {platform.python_version()}, Qt {qVersion()}",
            platform.platform(),
            f"{explanation.title}: {explanation.sentence}",
        ]
        if explanation.detail:
            lines.append(explanation.detail)
        lines += ["", *(line.rstrip() for line in traceback.format_exception(error))]
        lines += ["", *self._recent_log()]
        return "\n".join(lines)


def show_and_wait(title: str, text: str) -> None:
    """A message where no event loop runs: on the screen (closing by itself in the end) and on stderr."""
    sys.stderr.write(f"{title}: {text}\n")
    box = QMessageBox(QMessageBox.Icon.Warning, title, text)
    box.setTextFormat(Qt.TextFormat.PlainText)
    QTimer.singleShot(SHOWN_MS, box.reject)
    box.exec()


def unexpected(error: BaseException) -> Explanation:
    """Words for an error that nobody foresaw."""
    from clover_gui.explain import Explanation

    return Explanation(
        title=_("Unexpected error"),
        sentence=_("Something in this program went wrong: {kind}.").format(kind=type(error).__name__),
        next_step=_("Your chats are saved. You can go on; if it happens again, restart and copy the report."),
        detail=str(error)[:2000],
    )
