"""A load as a stream: its progress as it comes, then its result. Knows nothing of plans."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TypeVar

from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import Loaded, LoadProgress, LoadSettings

_T = TypeVar("_T")


async def load(engine: Engine, settings: LoadSettings) -> AsyncGenerator[LoadProgress | Loaded, None]:
    """Load, and tell how it goes. Closing the iterator cancels the load."""
    progress: asyncio.Queue[LoadProgress | None] = asyncio.Queue()
    loading = asyncio.ensure_future(engine.load(settings, progress.put_nowait))
    loading.add_done_callback(lambda _task: progress.put_nowait(None))
    try:
        while (event := await progress.get()) is not None:
            yield event
        yield await loading
    finally:
        await settle(loading)


async def settle(task: asyncio.Future[_T]) -> None:
    """Cancel what is still running and wait for its end, whatever that is."""
    if not task.done():
        task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # seen here, or raised to the reader before
