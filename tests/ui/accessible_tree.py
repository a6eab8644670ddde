"""What a screen reader sees: the accessible tree of a widget."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QWidget


def unnamed(widget: QWidget) -> list[str]:
    """What can have the focus and can be seen, but has no name."""
    root = QAccessible.queryAccessibleInterface(widget)
    return [
        f"{node.role().name} in {widget.objectName()}: {node.object()}"
        for node in _nodes(root)
        if node.state().focusable
        and not node.state().invisible
        and not node.text(QAccessible.Text.Name).strip()
    ]


def _nodes(node: QAccessibleInterface | None) -> Iterator[QAccessibleInterface]:
    if node is None or not node.isValid():
        return
    yield node
    for number in range(node.childCount()):
        yield from _nodes(node.child(number))
