"""Python's cycle collector, run by the window's thread only.

The collector runs in whichever thread happens to allocate. When a cycle holds Qt objects and a worker
thread collects it, they are destroyed in the wrong thread, which ends the process (seen: a segmentation
fault some seconds later). So automatic collection is off while the window lives, and a slow timer does it.

A full collection looks at every object there is, 20 ms for those of the program itself. They stay anyway, so
after the first one they are not looked at again.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 2000


class UiThreadCollector(QObject):
    """Collects every two seconds as far as the collector's own thresholds ask for it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._is_frozen = False
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self.collect_if_due)
        self._timer.start()

    def collect_if_due(self) -> None:
        """Collect the oldest generation whose threshold is passed."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > thresholds[generation] > 0:
                gc.collect(generation)
                if generation == 2 and not self._is_frozen:
                    self._is_frozen = True
                    gc.freeze()
                return

    def end(self) -> None:
        """Give collection back to Python, with nothing of ours left to collect elsewhere."""
        self._timer.stop()
        if self._is_frozen:
            gc.unfreeze()
        gc.collect()
        if self._was_enabled:
            gc.enable()
