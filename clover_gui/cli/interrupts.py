"""Ctrl+C while an answer runs: the first stops the answer, the second ends the program."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def stop_on_interrupt(stop: Callable[[], Coroutine[Any, Any, None]]) -> Iterator[Callable[[], int]]:
    """Within it the first Ctrl+C starts ``stop``, the second cancels the present task.

    Gives a function that tells how often Ctrl+C came. To be used in a task of the main thread.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    stopping: list[asyncio.Task[None]] = []
    count = 0

    def act() -> None:
        if count == 1:
            stopping.append(loop.create_task(stop()))
        elif task is not None:
            task.cancel()

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        loop.call_soon_threadsafe(act)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield lambda: count
    finally:
        signal.signal(signal.SIGINT, before)
