"""Pause, go on, stop: from any thread, heeded at once by the thread that transfers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum


class Wish(Enum):
    """What the person wants of a download."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


class Control:
    """The person's wish. What is attached is woken at every change to PAUSE or STOP."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._wish = Wish.RUN
        self._wake: Callable[[], None] | None = None
        self._changes = 0

    @property
    def wish(self) -> Wish:
        return self._wish

    @property
    def changes(self) -> int:
        """How often the person has wished something: to be given to ``wait``."""
        return self._changes

    def pause(self) -> None:
        """Stop the transfer and keep everything ready to go on."""
        self._set(Wish.PAUSE)

    def resume(self) -> None:
        """Go on, also out of a wait before the next try."""
        self._set(Wish.RUN)

    def stop(self) -> None:
        """End for good; what is on disk stays. Nothing undoes it."""
        self._set(Wish.STOP)

    def attach(self, wake: Callable[[], None] | None) -> None:
        """Have ``wake`` called, in the thread that changes the wish, when it becomes PAUSE or STOP.

        Until the next ``attach``; at once where it is one of these now.
        """
        with self._changed:
            self._wake = wake
            calls_now = wake if self._wish is not Wish.RUN else None
        if calls_now is not None:
            calls_now()

    def wait(self, seconds: float, since: int) -> None:
        """Sleep, but not past a wish that came after ``changes`` was ``since``, and only while it is RUN."""
        with self._changed:
            self._changed.wait_for(lambda: self._changes != since or self._wish is not Wish.RUN, seconds)

    def wait_while_paused(self) -> None:
        """Come back when the wish is RUN or STOP."""
        with self._changed:
            self._changed.wait_for(lambda: self._wish is not Wish.PAUSE)

    def _set(self, wish: Wish) -> None:
        with self._changed:
            if self._wish is Wish.STOP:
                return
            self._wish = wish
            self._changes += 1
            wake = self._wake if wish is not Wish.RUN else None
            self._changed.notify_all()
        if wake is not None:
            wake()
