"""The engine as a child process: implements ``Engine`` for the window and the terminal.

Starts the child (``host.py``) when it is first needed and again after it died; a crash costs nothing but a
reload. Works under plain asyncio and under qasync. All methods belong to the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from clover_gui.engine.child import Child
from clover_gui.engine.engine import GenerationEvent
from clover_gui.engine.failures import generation_error, load_error
from clover_gui.engine.host import EngineHost, EngineState
from clover_gui.engine.launch import physical_cores
from clover_gui.engine.protocol import (
    Begun,
    BufferBytes,
    Count,
    Counted,
    Describe,
    DryRun,
    DryRunResult,
    EngineInfo,
    Failed,
    Finished,
    Generate,
    Limits,
    Load,
    Loaded,
    LoadProgress,
    LoadSettings,
    PromptMessage,
    Reading,
    Sampling,
    Text,
    Unload,
    Unloaded,
)
from clover_gui.errors import EngineError, ModelNotLoaded

__all__ = ["EngineClient", "EngineState"]

_Answer = TypeVar("_Answer", EngineInfo, Loaded, DryRunResult, Counted, Unloaded)


class EngineClient(EngineHost):
    """See ``Engine`` for the common methods. Errors are those of the EngineError family."""

    async def describe(self) -> EngineInfo:
        child = await self._running()
        if self._info is None:
            self._info = await self._ask(child, Describe(self._requests.number()), EngineInfo)
        return self._info

    async def dry_run(self, settings: LoadSettings) -> tuple[BufferBytes, ...]:
        """The buffers that these settings would need, measured by the engine without allocating them.

        Raises:
            ModelLoadFailed: the engine refused the file or the settings.
        """
        child = await self._running()
        try:
            result = await self._ask(child, DryRun(self._requests.number(), settings), DryRunResult)
        except _RequestRefused as refused:
            raise load_error(settings, refused.failed) from refused
        return tuple(result.buffers)

    async def load(
        self, settings: LoadSettings, progress: Callable[[LoadProgress], None] | None = None
    ) -> Loaded:
        self._stop_work()
        child = await self._running(passive=settings.threads >= physical_cores())
        number = self._requests.number()
        self._loading, self._loaded = (number, settings), None
        self._settle()
        try:
            return await self._ask(child, Load(number, settings), Loaded, progress)
        except _RequestRefused as refused:
            raise load_error(settings, refused.failed) from refused
        except asyncio.CancelledError:
            self._give_up_load(number)
            raise

    async def generate(
        self,
        messages: tuple[PromptMessage, ...],
        *,
        thinking: bool | None = None,
        sampling: Sampling | None = None,
        max_tokens: int = 0,
        limits: Limits | None = None,
        begun: Begun | None = None,
    ) -> AsyncIterator[GenerationEvent]:
        child = self._child
        if child is None or self._loaded is None:
            raise ModelNotLoaded("no model is loaded")
        request = Generate(
            self._requests.number(),
            messages,
            thinking,
            sampling or Sampling(),
            max_tokens,
            limits or Limits(),
            begun,
        )
        inbox = self._requests.begin(request.id, answer=True)
        self._settle()
        child.send(request)
        try:
            while True:
                event = await inbox.get()
                if isinstance(event, EngineError):
                    raise event
                if isinstance(event, Failed):
                    raise generation_error(event)
                if isinstance(event, (Reading, Text, Finished)):
                    yield event
                if isinstance(event, Finished):
                    return
        finally:
            self._requests.leave(request.id)

    async def count(
        self,
        messages: tuple[PromptMessage, ...],
        *,
        thinking: bool | None = None,
        reserve: int = 1024,
        begun: Begun | None = None,
    ) -> Counted:
        child = self._child
        if child is None or self._loaded is None:
            raise ModelNotLoaded("no model is loaded")
        number = self._requests.number()
        try:
            return await self._ask(child, Count(number, messages, thinking, reserve, begun), Counted)
        except _RequestRefused as refused:
            raise generation_error(refused.failed) from refused
        except asyncio.CancelledError:
            # A child that does not even count any more will not answer either.
            self._requests.cancel(number)
            raise

    async def cancel(self) -> None:
        self._requests.cancel_answers()

    async def unload(self) -> None:
        self._stop_work()
        self._loaded = None
        if self._child is not None:
            await self._ask(self._child, Unload(self._requests.number()), Unloaded)

    # ------------------------------------------------------------------ asking

    def _stop_work(self) -> None:
        """What runs now is not wanted any more: answers, and a load that another one replaces."""
        self._requests.cancel_answers()
        if self._loading is not None:
            self._requests.cancel(self._loading[0])

    def _give_up_load(self, number: int) -> None:
        if self._loading is not None and self._loading[0] == number:
            self._loading = None
            self._requests.cancel(number)
        elif self._loaded is not None and self._loaded.id == number and self._child is not None:
            # It was complete, but whoever asked for it has not seen it.
            self._loaded = None
            self._child.send(Unload(self._requests.number()))
        self._settle()

    async def _ask(
        self,
        child: Child,
        request: Describe | Load | DryRun | Count | Unload,
        expected: type[_Answer],
        progress: Callable[[LoadProgress], None] | None = None,
    ) -> _Answer:
        inbox = self._requests.begin(request.id)
        child.send(request)
        try:
            while True:
                event = await inbox.get()
                if isinstance(event, EngineError):
                    raise event
                if isinstance(event, Failed):
                    raise _RequestRefused(event)
                if isinstance(event, expected):
                    return event
                if isinstance(event, LoadProgress) and progress is not None:
                    progress(event)
        finally:
            self._requests.leave(request.id)


class _RequestRefused(Exception):
    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.reason)
        self.failed = failed
