"""Colours for code by Pygments, in slices short enough for the window's thread.

While code is being written only its last lines are read again; when it is complete it is read once from
the beginning, so that the colours are those of the whole. Must not know: Markdown, messages.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache

from PySide6.QtCore import QTimer
from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from clover_gui.ui.colors import Colors

WHOLE_LIMIT = 3_000
"""Characters up to which the whole code is read at each change."""
HIGHLIGHT_LIMIT = 300_000
"""Characters above which complete code is not read again as a whole."""
SLICE_S = 0.006

Span = tuple[int, int, str]
"""Start and length in UTF-16 units, and the name of the colour."""


class CodeHighlighter(QSyntaxHighlighter):
    """Colours one document that holds code in one language; unknown languages stay plain."""

    def __init__(self, document: QTextDocument, language: str, colors: Colors) -> None:
        super().__init__(document)
        self._colors = colors
        self._language = language
        self._lines: list[list[Span]] = []
        self._read_lines = 0
        self._slices: Iterator[None] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._next_slice)

    @property
    def is_settled(self) -> bool:
        """Whether no reading is under way."""
        return self._slices is None

    def spans(self) -> list[list[Span]]:
        """What is coloured, line by line."""
        return [list(line) for line in self._lines]

    def extend(self, text: str) -> None:
        """The code is now ``text`` (it only grows); call before the document is changed."""
        if not _knows(self._language):
            return
        if len(text) <= WHOLE_LIMIT:
            before = self._lines
            self._lines = list(_spans_of(self._language, text))
            self._refresh(before)
        else:
            keep = max(0, self._read_lines - 1)
            start = 0
            for _line in range(keep):
                start = text.find("\n", start) + 1
            self._lines = [*self._lines[:keep], *_spans_of(self._language, text[start:])]
        self._read_lines = text.count("\n")

    def complete(self, text: str) -> None:
        """The code is complete: read it from the beginning, in slices. Call after the document is set."""
        if not _knows(self._language) or len(text) > HIGHLIGHT_LIMIT:
            return
        if len(text) <= WHOLE_LIMIT:
            self.extend(text)
            return
        self._slices = self._read_all(text)
        self._timer.start()

    def recolor(self, colors: Colors) -> None:
        """Take other colours."""
        self._colors = colors
        self.rehighlight()

    def _read_all(self, text: str) -> Iterator[None]:
        before, lines = self._lines, []
        started = time.perf_counter()
        for line in _spans_of(self._language, text):
            lines.append(line)
            if time.perf_counter() - started > SLICE_S:
                yield
                started = time.perf_counter()
        self._lines = lines
        for number, line in enumerate(lines):
            if number >= len(before) or before[number] != line:
                self.rehighlightBlock(self.document().findBlockByNumber(number))
            if time.perf_counter() - started > SLICE_S:
                yield
                started = time.perf_counter()

    def _next_slice(self) -> None:
        if self._slices is None or next(self._slices, self) is self:
            self._slices = None
            self._timer.stop()

    def _refresh(self, before: list[list[Span]]) -> None:
        for number, line in enumerate(self._lines):
            if number < len(before) and before[number] != line:
                self.rehighlightBlock(self.document().findBlockByNumber(number))
            elif number >= len(before) and line:
                block = self.document().findBlockByNumber(number)
                if block.isValid():
                    self.rehighlightBlock(block)

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if number < len(self._lines):
            for start, length, color in self._lines[number]:
                self.setFormat(start, length, _format(str(getattr(self._colors, color)), color))


@cache
def _format(value: str, name: str) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(QColor(value))
    made.setFontItalic(name == "code_comment")
    if name == "code_keyword":
        made.setFontWeight(QFont.Weight.DemiBold)
    return made


@cache
def _knows(language: str) -> bool:
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        find_lexer_class_by_name(language)
    except ClassNotFound:
        return False
    return True


def _spans_of(language: str, text: str) -> Iterator[list[Span]]:
    """The coloured spans of each line."""
    # Imported at the first code block: the window is on the screen before that.
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language)
    line: list[Span] = []
    column = 0
    for _index, token, value in lexer.get_tokens_unprocessed(text + "\n"):
        color = _color_of(token)
        for number, part in enumerate(value.split("\n")):
            if number:
                yield line
                line, column = [], 0
            length = len(part) if part.isascii() else len(part.encode("utf-16-le")) // 2
            if color and length:
                line.append((column, length, color))
            column += length


@cache
def _color_of(token: object) -> str:
    """The name of the colour for a Pygments token type, "" for plain text."""
    from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String

    colors = {
        Keyword: "code_keyword",
        Keyword.Constant: "code_number",
        Operator.Word: "code_keyword",
        Name.Function: "code_name",
        Name.Class: "code_name",
        Name.Decorator: "code_name",
        Name.Builtin: "code_name",
        Name.Tag: "code_name",
        Name.Attribute: "code_name",
        String: "code_string",
        Number: "code_number",
        Comment: "code_comment",
        Comment.Preproc: "code_keyword",
        Generic.Deleted: "danger",
        Generic.Inserted: "ok",
        Generic.Heading: "code_name",
        Generic.Subheading: "code_name",
    }
    kind = token
    while kind is not None:
        if kind in colors:
            return colors[kind]
        kind = getattr(kind, "parent", None)
    return ""
