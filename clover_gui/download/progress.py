"""What a download tells about itself while it runs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from clover_gui.errors import DownloadError

_SPEED_WINDOW_S = 5.0


class Phase(Enum):
    """Where a download is."""

    WAITING = "waiting"
    READING_BACK = "reading-back"
    DOWNLOADING = "downloading"
    VERIFYING = "verifying"
    MENDING = "mending"
    PAUSED = "paused"
    NO_SPACE = "no-space"
    RETRYING = "retrying"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


class Note(Enum):
    """Something out of the ordinary that the person should be told, beside the phase."""

    NONE = ""
    RESUMED = "resumed"
    ALREADY_THERE = "already-there"
    RANGE_IGNORED = "range-ignored"
    STARTED_AGAIN = "started-again"
    CHANGED_ON_HUB = "changed-on-hub"
    PART_DAMAGED = "part-damaged"
    WRONG_BYTES = "wrong-bytes"


@dataclass(frozen=True, slots=True)
class Status:
    """One moment of a download.

    ``done_bytes`` of ``total_bytes`` count the phase's own work: bytes on disk while downloading, bytes read
    while reading back, verifying or mending. ``bytes_per_second`` is the mean of the last 5 s.
    ``seconds_left`` is None while it cannot be told. ``wait_s`` is the wait before the next try, with the
    reason in ``error``; with FAILED ``error`` is why. ``missing_bytes`` must become free (NO_SPACE).
    """

    phase: Phase
    done_bytes: int = 0
    total_bytes: int = 0
    bytes_per_second: float = 0.0
    seconds_left: float | None = None
    note: Note = Note.NONE
    error: DownloadError | None = None
    wait_s: float = 0.0
    missing_bytes: int = 0

    @property
    def fraction(self) -> float:
        """0 to 1."""
        return min(1.0, self.done_bytes / self.total_bytes) if self.total_bytes else 0.0


class Reporter:
    """Hands on statuses, at most one per interval within a phase. For one thread."""

    def __init__(
        self,
        listener: Callable[[Status], None],
        interval_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._listener = listener
        self._interval_s = interval_s
        self._clock = clock
        self._phase = Phase.WAITING
        self._note = Note.NONE
        self._told_at = float("-inf")
        self._moments: deque[tuple[float, int]] = deque()

    def note(self, note: Note) -> None:
        """Goes with every status from now on, until another note."""
        self._note = note

    def progress(self, phase: Phase, done_bytes: int, total_bytes: int) -> None:
        """Tell how far the phase is, unless it was told just now."""
        now = self._clock()
        if phase is not self._phase:
            self._moments.clear()
        elif now - self._told_at < self._interval_s and done_bytes < total_bytes:
            return
        self._moments.append((now, done_bytes))
        while len(self._moments) > 2 and now - self._moments[0][0] > _SPEED_WINDOW_S:
            self._moments.popleft()
        start, at_start = self._moments[0]
        speed = (done_bytes - at_start) / (now - start) if now > start else 0.0
        left = (total_bytes - done_bytes) / speed if speed > 0 else None
        self._tell(Status(phase, done_bytes, total_bytes, max(0.0, speed), left, self._note), now)

    def event(
        self,
        phase: Phase,
        done_bytes: int,
        total_bytes: int,
        *,
        error: DownloadError | None = None,
        wait_s: float = 0.0,
        missing_bytes: int = 0,
    ) -> None:
        """Tell at once: something else than progress happened."""
        status = Status(
            phase,
            done_bytes,
            total_bytes,
            note=self._note,
            error=error,
            wait_s=wait_s,
            missing_bytes=missing_bytes,
        )
        self._tell(status, self._clock())

    def _tell(self, status: Status, now: float) -> None:
        self._phase, self._told_at = status.phase, now
        self._listener(status)
