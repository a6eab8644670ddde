"""What all read-only texts in messages share: wheel and keys go to the page, one small menu.

Must not know: messages, Markdown.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QTextEdit

from clover_gui.i18n import _

KEYBOARD_REASONS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
"""Focus that came by these is shown by a ring; a click needs none."""

_PAGE_KEYS = (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_END_KEYS = (Qt.Key.Key_Home, Qt.Key.Key_End)


def is_page_key(event: QKeyEvent) -> bool:
    """Whether a key scrolls the conversation rather than the text that has the focus."""
    if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
        return False
    control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    return event.key() in _PAGE_KEYS or (control and event.key() in _END_KEYS)


def show_text_menu(widget: QTextEdit | QPlainTextEdit, at: QPoint, link: str = "") -> None:
    """Copy, select all and, over a link, copy its address. ``at`` is a global position."""
    menu = QMenu(widget)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    copy = QAction(_("Copy"), menu)
    copy.setEnabled(widget.textCursor().hasSelection())
    copy.triggered.connect(widget.copy)
    menu.addAction(copy)
    select = QAction(_("Select all"), menu)
    select.triggered.connect(widget.selectAll)
    menu.addAction(select)
    if link:
        address = QAction(_("Copy link address"), menu)
        address.triggered.connect(lambda: QGuiApplication.clipboard().setText(link))
        menu.addAction(address)
    menu.popup(at)
