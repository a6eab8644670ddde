"""What a screen reader sees: the accessible tree of a widget; and what the Tab key reaches in it."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QRadioButton, QWidget

from clover_gui.ui.gauges.gauge import Gauge

Role = QAccessible.Role

_CONTROLS = frozenset(
    (
        Role.Button,
        Role.ButtonMenu,
        Role.CheckBox,
        Role.ComboBox,
        Role.EditableText,
        Role.Link,
        Role.List,
        Role.ListItem,
        Role.MenuItem,
        Role.PageTab,
        Role.ProgressBar,
        Role.RadioButton,
        Role.Slider,
        Role.SpinBox,
        Role.Table,
        Role.Tree,
    )
)
"""Roles that tell a person what can be done with what has the focus."""
_OTHERS_FOR_READING = frozenset(
    (Role.StaticText, Role.Document, Role.Paragraph, Role.Graphic, Role.Indicator)
)


def unnamed(widget: QWidget) -> list[str]:
    """What can have the focus and can be seen, but has no name."""
    # An empty label shows nothing; it can have the focus only because its text could be copied.
    return [
        _said(node)
        for node in _seen(widget)
        if node.state().focusable and not _name(node) and node.role() is not Role.StaticText
    ]


def only_symbols(widget: QWidget) -> list[str]:
    """Names without a letter or digit, which a screen reader does not say or says as "bullet"."""
    nodes = (node for node in _seen(widget) if node.state().focusable or node.role() in _CONTROLS)
    return [_said(node) for node in nodes if _name(node) and not any(map(str.isalnum, _name(node)))]


def odd_roles(widget: QWidget) -> list[str]:
    """What can have the focus, but does not say what it is. What scrolls and a gauge are areas for Qt."""
    known = _CONTROLS | _OTHERS_FOR_READING
    return [
        _said(node)
        for node in _seen(widget)
        if node.state().focusable
        and node.object() is not widget
        and node.role() not in known
        and not (node.role() is Role.Client and isinstance(node.object(), QAbstractScrollArea | Gauge))
    ]


def faults(widget: QWidget) -> list[str]:
    """Everything of the three above."""
    return [
        *(f"no name: {text}" for text in unnamed(widget)),
        *(f"only a symbol: {text}" for text in only_symbols(widget)),
        *(f"odd role: {text}" for text in odd_roles(widget)),
    ]


def tab_faults(window: QWidget, key: Qt.Key = Qt.Key.Key_Tab) -> list[str]:
    """Controls that Tab does not reach, or the one that it cannot leave. The window must be active."""
    wanted = {_stop(widget): widget for widget in window.findChildren(QWidget) if _is_stop(widget, window)}
    reached: list[object] = []
    for _press in range(3 * len(wanted) + 70):
        focused = QApplication.focusWidget()
        if focused is None:
            return ["nothing has the focus"]
        if wanted.keys() <= set(reached) and _stop(focused) == reached[0]:
            return []
        # A text with links is left after its links.
        if len(reached) > 60 and len(set(reached[-60:])) == 1:
            return [f"a trap: {_of(focused)}"]
        reached.append(_stop(focused))
        QTest.keyClick(focused, key)
    return [f"not reached: {_of(wanted[stop])}" for stop in wanted.keys() - set(reached)]


def _is_stop(widget: QWidget, window: QWidget) -> bool:
    shown = widget.isVisibleTo(window) and widget.isEnabled() and widget.window() is window
    tab = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    return shown and bool(tab) and widget.focusProxy() is None


def _stop(widget: QWidget) -> object:
    """Radio buttons of one group are one stop; the arrow keys go from one to the other."""
    if isinstance(widget, QRadioButton):
        return widget.group() or widget.parentWidget()
    return widget


def _of(widget: QWidget) -> str:
    text = widget.accessibleName() or widget.property("text") or ""
    return f"{type(widget).__name__} {widget.objectName()} {text!r}"


def _name(node: QAccessibleInterface) -> str:
    return node.text(QAccessible.Text.Name).strip()


def _said(node: QAccessibleInterface) -> str:
    found = node.object()
    parent = found.parent() if found is not None else None
    return f"{node.role().name} {_name(node)!r}: {found} in {parent}"


def _seen(widget: QWidget) -> Iterator[QAccessibleInterface]:
    root = QAccessible.queryAccessibleInterface(widget)
    return (node for node in _nodes(root) if not node.state().invisible)


def _nodes(node: QAccessibleInterface | None) -> Iterator[QAccessibleInterface]:
    if node is None or not node.isValid():
        return
    yield node
    for number in range(node.childCount()):
        yield from _nodes(node.child(number))
