"""A file that the system's file manager hands to the running program arrives as one signal."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from clover_gui.ui.file_open import FileOpenWatcher


def test_a_file_event_becomes_a_signal(qapp: QApplication, tmp_path: Path) -> None:
    receiver, watcher = QObject(), FileOpenWatcher()
    receiver.installEventFilter(watcher)
    files: list[str] = []
    watcher.file_opened.connect(files.append)
    QCoreApplication.sendEvent(receiver, QFileOpenEvent(str(tmp_path / "a model ü.gguf")))
    QCoreApplication.sendEvent(receiver, QEvent(QEvent.Type.User))
    assert files == [str(tmp_path / "a model ü.gguf")]
