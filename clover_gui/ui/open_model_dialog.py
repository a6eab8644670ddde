"""The system's dialog for picking a model file from the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from clover_gui.i18n import _


def open_model_dialog(parent: QWidget, folder: Path, picked: Callable[[Path], None]) -> None:
    """Show it, beginning in ``folder``; ``picked`` is told the file, if one is chosen."""
    dialog = QFileDialog(parent, _("Open a model file"))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.setNameFilters([_("Model files (*.gguf)"), _("All files (*)")])
    dialog.setDirectory(str(folder))
    dialog.fileSelected.connect(lambda name: picked(Path(name)))
    dialog.open()
