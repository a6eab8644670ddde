"""What is selected in the texts of a message, and the order in which the keyboard reaches its parts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget

from clover_gui.ui.widgets.code_parts import CodeHeader, CodeText
from clover_gui.ui.widgets.prose_view import ProseView


def selection_in(widget: QWidget) -> str:
    """The selected text in the first text inside ``widget`` that has one; "" for none."""
    for prose in widget.findChildren(ProseView):
        if prose.textCursor().hasSelection() and not prose.isHidden():
            return prose.selected_text()
    for code in widget.findChildren(CodeText):
        if code.textCursor().hasSelection():
            return code.selected_text()
    return ""


def tab_stops(widget: QWidget) -> list[QWidget]:
    """What the Tab key reaches inside ``widget``, from top to bottom."""
    children = widget.findChildren(QWidget)
    stops = [child for child in children if child.focusPolicy() & Qt.FocusPolicy.TabFocus]

    def place(child: QWidget) -> tuple[int, int]:
        # The header of code slides with what can be seen; in the order it stays above its code.
        header = child.parentWidget()
        block = header.parentWidget() if isinstance(header, CodeHeader) else None
        at = (block or child).mapTo(widget, QPoint(0, 0))
        return at.y(), at.x()

    return sorted(stops, key=place)


def chain_tab_stops(first: QWidget, widgets: Iterable[QWidget]) -> None:
    """Tab goes from ``first`` through the parts of the widgets in their order, whenever each was built."""
    stops = [first, *(stop for widget in widgets for stop in tab_stops(widget))]
    for before, after in pairwise(stops):
        if before.nextInFocusChain() is not after:
            QWidget.setTabOrder(before, after)
