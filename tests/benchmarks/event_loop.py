"""What the benchmarks of the window share: how long the event loop was away, and how much work that was."""

from __future__ import annotations

import gc
import os
import resource
import statistics
import sys
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from clover_gui.ui.garbage import UiThreadCollector
from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.widgets import markdown


class Heart(QObject):
    """Notes how long the event loop was away, in milliseconds: by the clock, and at work itself.

    On a machine that is busy with something else only the second figure says something about the program.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[float] = []
        self.work: list[float] = []
        self._cpu, self._wall = _cpu_s(), time.perf_counter()
        self._last, self._last_work = time.perf_counter(), time.thread_time()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(5)
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    def _beat(self) -> None:
        now, work = time.perf_counter(), time.thread_time()
        self.gaps.append((now - self._last) * 1000)
        self.work.append((work - self._last_work) * 1000)
        self._last, self._last_work = now, work

    def stop(self) -> None:
        """Note the last gap; no more come."""
        self._timer.stop()
        self._beat()

    def report(self, name: str) -> None:
        """Print the figures since the beginning, and stop."""
        self.stop()
        cpu, wall = _cpu_s() - self._cpu, time.perf_counter() - self._wall
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name}:\n  gaps {spread(self.gaps)}; of it own work {spread(self.work)}")
        print(f"  processor {cpu:.1f} s of {wall:.1f} s; peak memory {memory:.0f} MiB", flush=True)


class Window:
    """The application as the window sets it up: its look, and its collector of garbage."""

    def __init__(self) -> None:
        self.app = QApplication(sys.argv[:1])
        self.theme = Theme()
        self.theme.apply(self.app, Mode.LIGHT)
        self._collector = UiThreadCollector()
        markdown.warm_up()
        # The window's collector does this by itself after some time.
        gc.collect()
        gc.freeze()
        print("load of the machine at the start:", *(f"{load:.2f}" for load in os.getloadavg()))

    def end(self) -> None:
        self.theme.formulas.stop()
        gc.unfreeze()
        self._collector.end()


def wait_ms(duration: int) -> None:
    """Let the event loop run for so long."""
    loop = QEventLoop()
    QTimer.singleShot(duration, loop.quit)
    loop.exec()


def spread(values: list[float]) -> str:
    values = sorted(values) or [0.0]
    p99 = values[min(len(values) - 1, round(len(values) * 0.99))]
    return f"median {statistics.median(values):.1f}, p99 {p99:.1f}, longest {values[-1]:.1f} ms"


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
