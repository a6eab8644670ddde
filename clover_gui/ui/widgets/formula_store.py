"""Drawn formulas, each drawn once: by a thread that lives only as long as there is something to draw.

Whoever shows a formula asks ``find``; what is not there yet is drawn meanwhile and announced by ``drawn``.
Must not know: messages, documents, colours.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque

from PySide6.QtCore import QObject, QTimer, Signal

from clover_gui.ui.widgets.formula import Drawing, FormulaError, FormulaTimeout, draw_formula

KEPT = 2_000
"""Formulas that are remembered; about 10 KB each."""
BUDGET_S = 1.0
"""Work that one formula may cost; usual ones take 0.03 s."""
PATIENCE = 5
"""After so many formulas that took too long ..."""
SMALL_BUDGET_S = 0.1
"""... each may cost only this much."""
TOGETHER_MS = 30
"""Formulas drawn within this time are announced together, so that a message is laid out once for all."""


class FormulaStore(QObject):
    """One for all messages. Formulas are named by their source with its delimiters."""

    drawn = Signal(object)
    """A frozenset of sources that are now drawn, or known not to be drawable."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: OrderedDict[str, Drawing | None] = OrderedDict()
        self._wanted: set[str] = set()
        self._lock = threading.Lock()
        self._queue: deque[str] = deque()
        self._done: deque[tuple[str, Drawing | None]] = deque()
        self._thread: threading.Thread | None = None
        self._late = 0
        self._timer = QTimer(self)
        self._timer.setInterval(TOGETHER_MS)
        self._timer.timeout.connect(self._take)

    def find(self, source: str) -> Drawing | None:
        """The drawing, or None if there is none (yet); then it is made, if it can be."""
        if source in self._known:
            self._known.move_to_end(source)
            return self._known[source]
        if source not in self._wanted:
            self._wanted.add(source)
            self._order(source)
        return None

    def is_pending(self, source: str) -> bool:
        """Whether it has been asked for and is not decided yet."""
        return source in self._wanted

    @property
    def is_idle(self) -> bool:
        return not self._wanted

    def stop(self) -> None:
        """Draw nothing more; returns when the thread has ended (one formula later at most)."""
        with self._lock:
            self._queue.clear()
            thread = self._thread
        if thread:
            thread.join()
        self._timer.stop()
        self._wanted.clear()

    def _order(self, source: str) -> None:
        with self._lock:
            self._queue.append(source)
            if self._thread is None:
                # Not a daemon: the interpreter waits for it and does not tear itself down under its feet.
                self._thread = threading.Thread(target=self._draw_all, name="formulas")
                self._thread.start()
        self._timer.start()

    def _draw_all(self) -> None:
        """In the thread: no Qt here."""
        while True:
            with self._lock:
                if not self._queue or not threading.main_thread().is_alive():
                    self._thread = None
                    return
                source = self._queue.popleft()
            self._done.append((source, self._draw(source)))

    def _draw(self, source: str) -> Drawing | None:
        try:
            return draw_formula(source, BUDGET_S if self._late < PATIENCE else SMALL_BUDGET_S)
        except FormulaTimeout:
            self._late += 1
        except FormulaError:
            # It is shown as it was written, which is all that can be said about it.
            pass
        return None

    def _take(self) -> None:
        sources = []
        while self._done:
            source, drawing = self._done.popleft()
            self._known[source] = drawing
            self._wanted.discard(source)
            sources.append(source)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        if not self._wanted:
            self._timer.stop()
        if sources:
            self.drawn.emit(frozenset(sources))
