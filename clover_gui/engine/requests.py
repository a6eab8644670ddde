"""The book of requests that a child has: who waits for which, and what shall end by when.

Knows messages, and nothing of processes. Lives in the event loop's thread.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from clover_gui.engine.protocol import (
    Cancel,
    Counted,
    DryRunResult,
    EngineInfo,
    Event,
    Failed,
    Fatal,
    Finished,
    Loaded,
    Ready,
    Unloaded,
)
from clover_gui.errors import EngineError

Inbox = asyncio.Queue[Event | EngineError]
# With these the child has done with a request.
FINAL = (EngineInfo, Loaded, DryRunResult, Counted, Finished, Unloaded, Failed)


class Requests:
    """Numbers, inboxes and the cancel ladder."""

    def __init__(
        self, patience_s: float, *, send: Callable[[Cancel], None], lose_patience: Callable[[], None]
    ) -> None:
        """``lose_patience`` is called when a cancelled request has not ended after ``patience_s``."""
        self._patience_s = patience_s
        self._send = send
        self._lose_patience = lose_patience
        self._numbers = itertools.count(1)
        self._inboxes: dict[int, Inbox] = {}
        # Not finished by the child, also those that nobody waits for any more.
        self._pending: set[int] = set()
        self._answers: set[int] = set()
        self._deadlines: dict[int, asyncio.TimerHandle] = {}

    @property
    def answering(self) -> bool:
        """An answer is being written or waits for its turn."""
        return bool(self._answers)

    def number(self) -> int:
        """The number of a new request; they rise."""
        return next(self._numbers)

    def begin(self, number: int, *, answer: bool = False) -> Inbox:
        """A request is sent; its messages come into the inbox."""
        inbox: Inbox = asyncio.Queue()
        self._inboxes[number] = inbox
        self._pending.add(number)
        if answer:
            self._answers.add(number)
        return inbox

    def deliver(self, event: Event) -> bool:
        """Put a message where it belongs; True if the child has done with its request."""
        if isinstance(event, (Ready, Fatal)) or not hasattr(event, "id"):
            return False
        number = event.id
        final = isinstance(event, FINAL)
        inbox = self._inboxes.get(number)
        if final:
            self._inboxes.pop(number, None)
            self._pending.discard(number)
            self._answers.discard(number)
            self._stop_timer(number)
            for other in list(self._deadlines):  # its time begins when its turn comes
                self._wait(other)
        if inbox is not None:
            inbox.put_nowait(event)
        return final

    def leave(self, number: int) -> None:
        """Nobody waits for this one any more. An answer that still runs is stopped."""
        self._inboxes.pop(number, None)
        if number in self._answers:
            self.cancel(number)

    def cancel(self, number: int) -> None:
        """The ladder: ask it to end; if it has not ended in time, patience is lost."""
        if number in self._pending and number not in self._deadlines:
            self._send(Cancel(number))
            self._wait(number)

    def cancel_answers(self) -> None:
        for number in sorted(self._answers):
            self.cancel(number)

    def release(self, error: EngineError) -> None:
        """The child is gone: everybody who waits gets the error."""
        for handle in self._deadlines.values():
            handle.cancel()
        waiting, self._inboxes = self._inboxes, {}
        self._deadlines.clear()
        self._answers.clear()
        self._pending.clear()
        for inbox in waiting.values():
            inbox.put_nowait(error)

    def _stop_timer(self, number: int) -> None:
        handle = self._deadlines.pop(number, None)
        if handle is not None:
            handle.cancel()

    def _wait(self, number: int) -> None:
        self._stop_timer(number)
        loop = asyncio.get_running_loop()
        self._deadlines[number] = loop.call_later(self._patience_s, self._too_long, number)

    def _too_long(self, number: int) -> None:
        if min(self._pending, default=number) < number:  # not its turn yet: an older one still runs
            self._wait(number)
        else:
            self._lose_patience()
