"""The selected part of a document as plain text that keeps list marks, boxes and table columns."""

from __future__ import annotations

from typing import cast

from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCursor, QTextList, QTextTable

from clover_gui.ui.widgets.markdown import ALONE

OBJECT = "\ufffc"
"""What Qt keeps in place of an image, which here is a formula."""


def selected_text(cursor: QTextCursor) -> str:
    """Paragraphs are parted by blank lines, list items by line breaks, table cells by tabs."""
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    document = cursor.document()
    if start == end:
        return ""
    out: list[str] = []
    block = document.findBlock(start)
    previous: QTextBlock | None = None
    while block.isValid() and block.position() < end:
        if previous is not None:
            out.append(_between(previous, block))
        first = max(0, start - block.position())
        if first == 0:
            out.append(_mark(block))
        part = QTextCursor(block)
        part.setPosition(block.position() + first)
        last = min(end, block.position() + block.length() - 1)
        part.setPosition(last, QTextCursor.MoveMode.KeepAnchor)
        text = part.selectedText().replace("\u2028", "\n").replace("\u2029", "\n")
        out.append(_with_formulas(block, first, text) if OBJECT in text else text)
        previous, block = block, block.next()
    return "".join(out)


def _with_formulas(block: QTextBlock, first: int, text: str) -> str:
    """The sources of the formulas in place of their pictures; ``text`` begins at ``first`` in the block."""
    # Positions count UTF-16 units, as Qt does.
    units = text.encode("utf-16-le")
    out: list[str] = []
    copied = 0
    walk = block.begin()
    while not walk.atEnd():
        fragment = walk.fragment()
        form = fragment.charFormat()
        at = 2 * (fragment.position() - block.position() - first)
        if form.isImageFormat() and 0 <= at < len(units):
            # Equal formulas side by side are one fragment.
            out.append(units[copied:at].decode("utf-16-le", "replace"))
            count = min(fragment.length(), (len(units) - at) // 2)
            out.append(form.toImageFormat().name() * count)
            copied = at + 2 * count
        walk += 1
    out.append(units[copied:].decode("utf-16-le", "replace"))
    return "".join(out).replace(ALONE, "")


def _mark(block: QTextBlock) -> str:
    items = _list_of(block)
    if items is None:
        return ""
    indent = "  " * max(0, items.format().indent() - 1)
    marker = block.blockFormat().marker()
    if marker == QTextBlockFormat.MarkerType.Checked:
        return f"{indent}[x] "
    if marker == QTextBlockFormat.MarkerType.Unchecked:
        return f"{indent}[ ] "
    text = items.itemText(block)
    return f"{indent}{text if text[:1].isalnum() else '-'} "


def _between(previous: QTextBlock, block: QTextBlock) -> str:
    before, after = QTextCursor(previous), QTextCursor(block)
    table = _table_of(after)
    if table is not None and _table_of(before) is not None:
        same_row = table.cellAt(before).row() == table.cellAt(after).row()
        return "\t" if same_row else "\n"
    if _list_of(block) and _list_of(previous):
        return "\n"
    return "\n\n" if block.blockFormat().topMargin() > 0 or table is not None else "\n"


def _list_of(block: QTextBlock) -> QTextList | None:
    return cast("QTextList | None", block.textList())


def _table_of(cursor: QTextCursor) -> QTextTable | None:
    return cast("QTextTable | None", cursor.currentTable())
