"""Text shown exactly as it was typed: wrapped, selectable, nothing interpreted.

A long paste is shown by its beginning, with a button for the rest, which then comes in slices.
Must not know: who wrote it, where it stands.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QRect, QTimer, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from clover_gui.i18n import _, number
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.document_style import document_style
from clover_gui.ui.widgets.found_text import places_in
from clover_gui.ui.widgets.prose_view import ProseView

COLLAPSED = 4_000
"""Characters shown of a longer text."""
PIECE = 8_000
"""Characters in one document."""
SLICE_S = 0.010


class PlainBody(QWidget):
    """The owner gives it its width by ``fit`` and is told by ``height_changed`` when it has grown."""

    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._style = document_style(theme)
        self._text = ""
        self._name = ""
        self._width = 0
        self._views: list[ProseView] = []
        self._ranges: list[tuple[int, int]] = []
        """Which part of the text each view shows."""
        self._sought: tuple[str, int | None] = ("", None)
        self._also: tuple[str, ...] = ()
        self._rest = ""
        self._button: QPushButton | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._add_slice)

    def text(self) -> str:
        """The text, exactly as it was given."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show this text in place of what was there."""
        self._clear()
        # What was wide enough for the former text, perhaps one letter, would break this one in pieces.
        self._width = 0
        self._text = text
        if len(text) <= COLLAPSED:
            self._add(text)
        else:
            self._add(text[:COLLAPSED] + "…")
            self._button = QPushButton(self)
            self._button.setProperty("kind", "quiet")
            self._button.clicked.connect(self.show_all)
            self.retranslate()

    def _clear(self) -> None:
        self._timer.stop()
        for old in (*self._views, self._button):
            if old is not None:
                old.hide()
                old.deleteLater()
        self._views.clear()
        self._ranges.clear()
        self._button = None
        self._rest = ""

    @property
    def is_collapsed(self) -> bool:
        return self._button is not None

    def show_all(self) -> None:
        """Show the whole of a long text, piece by piece."""
        self._clear()
        self._rest = self._text
        self._add_slice()
        if self._rest:
            self._timer.start()

    def ideal_width(self, widest: int) -> int:
        """The width that the text needs, up to ``widest`` pixels."""
        width = max((view.ideal_width(widest) for view in self._views), default=1)
        if self._button:
            width = max(width, min(widest, self._button.sizeHint().width()))
        return width

    def fit(self, width: int) -> int:
        """Lay out for this width, take the height that is needed and return it, in pixels."""
        self._width = width
        y = 0
        for view in self._views:
            height = view.fit(width)
            view.move(0, y)
            view.show()
            y += height
        if self._button:
            hint = self._button.sizeHint()
            y += self._theme.space(0.3)
            self._button.setGeometry(0, y, min(width, hint.width()), hint.height())
            self._button.show()
            y += hint.height()
        self.resize(width, y)
        return y

    def seek(self, text: str, current: int | None = None, also: tuple[str, ...] = ()) -> None:
        """Mark a text ("" for none), and ``also`` others; ``current``: where the place looked at begins."""
        self._sought, self._also = (text, current), also
        if self._button and current is not None and current >= COLLAPSED:
            self.show_all()
        for index in range(len(self._views)):
            self._mark(index)

    def found_rect(self) -> QRect | None:
        """Where the place looked at is drawn; None if it is not (yet)."""
        for view in self._views:
            if rect := view.found_rect():
                return rect.translated(view.pos())
        return None

    def _mark(self, index: int) -> None:
        text, current = self._sought
        start, end = self._ranges[index]
        inside = current is not None and start <= current < end
        before = places_in(self._text[start:current], text) if inside else []
        self._views[index].seek(text, len(before) if inside else None, self._also)

    def set_name(self, name: str) -> None:
        """What a screen reader calls the text."""
        self._name = name
        for view in self._views:
            view.setAccessibleName(name)

    def restyle(self) -> None:
        """Take the theme's colours and sizes."""
        self._style = document_style(self._theme)
        for view in self._views:
            view.restyle(self._style)

    def retranslate(self) -> None:
        if self._button:
            count = number(len(self._text))
            self._button.setText(_("Show all {count} characters").format(count=count))

    def _add(self, text: str) -> None:
        view = ProseView(self._style, parent=self)
        view.setAccessibleName(self._name)
        if self._width:
            view.fit(self._width)
        view.show_plain(text)
        start = len(self._text) - len(self._rest) if self._rest else 0
        self._ranges.append((start, start + len(text)))
        self._views.append(view)
        if self._sought[0]:
            self._mark(len(self._views) - 1)

    def _add_slice(self) -> None:
        started = time.perf_counter()
        while self._rest and time.perf_counter() - started < SLICE_S:
            cut = len(self._rest)
            if cut > PIECE:
                newline = self._rest.rfind("\n", PIECE // 2, PIECE)
                cut = newline + 1 if newline > 0 else PIECE
            self._add(self._rest[:cut].removesuffix("\n"))
            self._rest = self._rest[cut:]
        if not self._rest:
            self._timer.stop()
        if self._width:
            self.fit(self._width)
        self.height_changed.emit()
