"""The selected part of a document as plain text that keeps list marks, boxes and table columns."""

from __future__ import annotations

from typing import cast

from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCursor, QTextList, QTextTable


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
        out.append(part.selectedText().replace("\u2028", "\n").replace("\u2029", "\n"))
        previous, block = block, block.next()
    return "".join(out)


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
