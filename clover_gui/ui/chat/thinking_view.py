"""What the model thought before it answered: folded, with its own clock, no work while nobody looks.

Must not know: how thinking and answer are told apart, the engine.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from clover_gui.i18n import _, duration, ngettext, number
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.message_body import MessageBody


class ThinkingView(QWidget):
    """A header that can be opened at any time, and the text below it while it is open."""

    height_changed = Signal()
    toggled = Signal(bool)
    link_activated = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pieces: list[str] = []
        self._live = False
        self._started = 0.0
        self._seconds: float | None = None
        self._tokens: int | None = None
        self._budget = 0
        self._width = 0
        self.body: MessageBody | None = None
        """Exists only while it is open."""
        self.header = QPushButton(self)
        self.header.setProperty("kind", "quiet")
        self.header.setCheckable(True)
        self.header.toggled.connect(self._on_toggled)
        self._clock = QTimer(self)
        self._clock.setInterval(1_000)
        self._clock.timeout.connect(self._show_header)
        self.restyle()

    def text(self) -> str:
        """The source, exactly as it was given."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def is_live(self) -> bool:
        """Whether more may come."""
        return self._live

    @property
    def is_open(self) -> bool:
        return self.body is not None

    def set_open(self, opened: bool) -> None:
        self.header.setChecked(opened)

    def append(self, text: str) -> None:
        """More was thought; the first piece starts the clock."""
        if not self._live:
            self._live = True
            self._started = time.monotonic()
            self._clock.start()
            self._show_header()
        self._pieces.append(text)
        if self.body:
            self.body.append(text)

    def set_progress(self, seconds: float | None, tokens: int | None, budget: int = 0) -> None:
        """Figures from whoever counts; without them the own clock runs. Shown at once.

        ``budget``: so many tokens may be thought, 0: no limit.
        """
        if seconds is not None:
            self._started = time.monotonic() - seconds
        self._tokens = tokens
        self._budget = budget
        self._show_header()

    def finish(self, seconds: float | None = None, tokens: int | None = None) -> None:
        """Thinking is over; the figures stay as they are now, or as given."""
        if self._live:
            self._seconds = time.monotonic() - self._started
        self._live = False
        self._clock.stop()
        self._seconds = self._seconds if seconds is None else seconds
        self._tokens = self._tokens if tokens is None else tokens
        self._show_header()
        if self.body:
            self.body.finish()

    def set_text(self, text: str, seconds: float | None, tokens: int | None) -> None:
        """Show complete thinking from a stored chat; None or 0 where a figure is not known."""
        self._pieces = [text]
        if self.body:
            self.body.set_text(text)
        self.finish(seconds, tokens)

    def fit(self, width: int) -> int:
        """Lay out for this width, take the height that is needed and return it, in pixels."""
        self._width = width
        hint = self.header.sizeHint()
        self.header.setGeometry(0, 0, min(width, hint.width()), hint.height())
        height = hint.height()
        if self.body:
            inset = self._inset()
            top = height + self._theme.space(0.4)
            height = top + self.body.fit(max(1, width - inset))
            self.body.move(inset, top)
            self.body.show()
        self.resize(width, height)
        return height

    def follow_viewport(self, top: int) -> None:
        if self.body:
            self.body.follow_viewport(top - self.body.y())

    def restyle(self) -> None:
        """Take the theme's colours and sizes."""
        side = self._theme.space(0.9)
        self.header.setIconSize(QSize(side, side))
        self._show_header()
        if self.body:
            self.body.restyle()

    def retranslate(self) -> None:
        self._show_header()
        if self.body:
            self.body.retranslate()

    def _inset(self) -> int:
        return self._theme.space(1.6)

    def _on_toggled(self, opened: bool) -> None:
        # First of all: the owner decides what stays in its place before anything grows.
        self.toggled.emit(opened)
        if opened:
            body = self.body = MessageBody(self._theme, muted=True, parent=self)
            body.height_changed.connect(self._on_body_height)
            body.link_activated.connect(self.link_activated)
            body.set_name(_("Thinking"))
            if self._width:
                body.fit(max(1, self._width - self._inset()))
            if self._live:
                body.append(self.text())
            else:
                body.set_text(self.text())
        elif self.body:
            self.body.hide()
            self.body.deleteLater()
            self.body = None
        self._show_header()
        self._on_body_height()

    def _on_body_height(self) -> None:
        if self._width:
            self.fit(self._width)
        self.height_changed.emit()

    def _show_header(self) -> None:
        colors = self._theme.colors
        self.header.setIcon(
            self._theme.icon("chevron-down" if self.is_open else "chevron-right", colors.muted)
        )
        text = self._header_text()
        if text != self.header.text():
            self.header.setText(text)
            hint = self.header.sizeHint()
            self.header.resize(min(self._width or hint.width(), hint.width()), hint.height())
        state = _("opened") if self.is_open else _("folded")
        self.header.setAccessibleName(f"{text}, {state}")

    def _header_text(self) -> str:
        if self._live:
            elapsed = int(time.monotonic() - self._started)
            time_text = duration(elapsed) if elapsed >= 10 else _("{seconds} s").format(seconds=elapsed)
            text = _("Thinking… {time}").format(time=time_text)
        elif self._seconds:
            text = _("Thought for {time}").format(time=duration(self._seconds))
        else:
            text = _("Thoughts")
        if not self._tokens:
            return text
        if self._live and self._budget:
            tokens = _("{count} of {budget} tokens")
        else:
            tokens = ngettext("{count} token", "{count} tokens", self._tokens)
        return f"{text} · {tokens.format(count=number(self._tokens), budget=number(self._budget))}"

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.body:
            return
        painter = QPainter(self)
        width = max(2, self._theme.space(0.12))
        left = self._theme.space(0.8)
        painter.fillRect(left, self.body.y(), width, self.body.height(), QColor(self._theme.colors.border))
        painter.end()
