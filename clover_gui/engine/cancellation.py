"""Stopping a request from another thread, in the middle of what the engine computes."""

from __future__ import annotations

import ctypes
import threading


class Cancellation:
    """One per child. The reader thread cancels, the main thread asks.

    ``flag`` is what the engine looks at between two nodes of its graph; it is only set while armed, since a
    computation that is broken off leaves a state that has to be repaired.
    """

    def __init__(self) -> None:
        self.flag = ctypes.create_string_buffer(2)
        self._lock = threading.Lock()
        self._current = 0
        self._early: set[int] = set()
        self._requested = False
        self._armed = False

    @property
    def requested(self) -> bool:
        """The current request shall end."""
        return self._requested

    def begin(self, request: int) -> None:
        """``request`` is worked on from now. Requests have rising numbers."""
        with self._lock:
            self._current = request
            self._requested = request in self._early
            self._early.discard(request)

    def cancel(self, target: int) -> None:
        """End ``target`` if it runs, or as soon as it begins. Old ones are ignored."""
        with self._lock:
            if target == self._current:
                self._requested = True
                if self._armed:
                    self.flag[0] = b"\x01"
            elif target > self._current:
                self._early.add(target)

    def arm(self, on: bool) -> None:
        """Let a cancel break off the engine's present computation, or not."""
        with self._lock:
            self._armed = on
            self.flag[0] = b"\x01" if on and self._requested else b"\x00"
