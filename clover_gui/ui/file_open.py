"""Files that macOS hands to a running program: a double click there is an event, not an argument.

Knows no model and no window; whoever makes it connects ``file_opened``.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QFileOpenEvent


class FileOpenWatcher(QObject):
    """An event filter for the application; ``file_opened`` carries an absolute file name."""

    file_opened = Signal(str)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.FileOpen and isinstance(event, QFileOpenEvent):
            if event.file():
                self.file_opened.emit(event.file())
            return True
        return super().eventFilter(watched, event)
