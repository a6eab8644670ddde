"""A link in an answer opens only after the person has seen where it leads."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox, QWidget

from clover_gui.i18n import _, capped

ALLOWED_SCHEMES = ("http", "https", "mailto")
SHOWN_CHARACTERS = 400


def ask_to_open(address: str, parent: QWidget) -> QMessageBox | None:
    """Show the whole address and open it in the browser if the person agrees. None: never opened."""
    url = QUrl(address, QUrl.ParsingMode.StrictMode)
    if not url.isValid() or url.scheme().lower() not in ALLOWED_SCHEMES:
        return None
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.Question)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle(_("Open a link"))
    box.setText(_("This link leads to {host}.").format(host=capped(url.host() or url.path(), 100)))
    # Percent- and punycode, so that look-alike letters cannot pretend to be another address.
    box.setInformativeText(capped(bytes(url.toEncoded().data()).decode("ascii", "replace"), SHOWN_CHARACTERS))
    open_button = box.addButton(_("Open in the browser"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(_("Cancel"), QMessageBox.ButtonRole.RejectRole)
    open_button.clicked.connect(lambda: QDesktopServices.openUrl(url))
    box.open()
    return box
