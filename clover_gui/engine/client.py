"""The engine as a child process: implements ``Engine`` for the window and the terminal.

Starts the child when it is first needed and again after it died; a crash costs nothing but a reload. Works
under plain asyncio and under qasync. All methods belong to the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from clover_gui.engine.child import Child
from clover_gui.engine.engine import GenerationEvent
from clover_gui.engine.failures import exit_hint, generation_error, load_error
from clover_gui.engine.launch import child_environment, engine_command, physical_cores
from clover_gui.engine.protocol import (
    EXIT_ENGINE_MISSING,
    EXIT_ENGINE_UNSUPPORTED,
    VERSION,
    BufferBytes,
    Cancel,
    Count,
    Counted,
    Describe,
    DryRun,
    DryRunResult,
    EngineInfo,
    Event,
    Failed,
    Fatal,
    Finished,
    Generate,
    Limits,
    Load,
    Loaded,
    LoadProgress,
    LoadSettings,
    PromptMessage,
    Reading,
    Ready,
    Sampling,
    Text,
    Unload,
    Unloaded,
)
from clover_gui.engine.requests import Requests
from clover_gui.errors import (
    EngineDied,
    EngineError,
    EngineMissing,
    EngineStartFailed,
    EngineUnresponsive,
    ModelNotLoaded,
)

START_TIMEOUT_S = 60.0
CANCEL_PATIENCE_S = 3.0
# Lines of the child's log that an error carries.
_LOG_LINES = 20
_Answer = TypeVar("_Answer", EngineInfo, Loaded, DryRunResult, Counted, Unloaded)


class EngineState(StrEnum):
    """For indicators. DIED lasts until the next start."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"  # no model
    LOADING = "loading"
    LOADED = "loaded"
    GENERATING = "generating"
    DIED = "died"


class EngineClient:
    """See ``Engine`` for the common methods. Errors are those of the EngineError family."""

    def __init__(
        self,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        start_timeout_s: float = START_TIMEOUT_S,
        cancel_patience_s: float = CANCEL_PATIENCE_S,
    ) -> None:
        """``command`` starts the child (default: this program); ``environment`` is added to ours.

        ``cancel_patience_s``: a child that has not ended a cancelled request by then is killed.
        """
        self.state_changed: list[Callable[[EngineState], None]] = []
        self._command = list(command) if command is not None else engine_command()
        self._environment = dict(environment or {})
        self._start_timeout_s = start_timeout_s
        self._requests = Requests(cancel_patience_s, send=self._send, lose_patience=self._lose_patience)
        self._state = EngineState.STOPPED
        self._child: Child | None = None
        self._ready: asyncio.Future[Ready] | None = None
        self._passive = False
        self._unresponsive = False
        self._last_words = ""
        self._last_log: tuple[str, ...] = ()
        self._info: EngineInfo | None = None
        self._loaded: Loaded | None = None
        self._loading: tuple[int, LoadSettings] | None = None
        self._last_settings: LoadSettings | None = None

    # ------------------------------------------------------------------ facts

    @property
    def loaded(self) -> Loaded | None:
        return self._loaded

    @property
    def last_settings(self) -> LoadSettings | None:
        """Settings of the last model that was loaded, to load it again after a crash."""
        return self._last_settings

    @property
    def pid(self) -> int | None:
        """Process number of the child, None while there is none."""
        return self._child.pid if self._child is not None else None

    @property
    def state(self) -> EngineState:
        return self._state

    @property
    def log_lines(self) -> tuple[str, ...]:
        """The last lines of the child's log (of the last one, if there is none now), for a report."""
        return self._child.log_lines if self._child is not None else self._last_log

    # ------------------------------------------------------------------ requests

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
        self, messages: tuple[PromptMessage, ...], *, thinking: bool | None = None, reserve: int = 1024
    ) -> Counted:
        child = self._child
        if child is None or self._loaded is None:
            raise ModelNotLoaded("no model is loaded")
        number = self._requests.number()
        try:
            return await self._ask(child, Count(number, messages, thinking, reserve), Counted)
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

    async def close(self) -> None:
        child, self._child = self._child, None
        self._loaded = self._info = self._loading = None
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(EngineStartFailed("the engine was closed"))
        self._requests.release(EngineDied(None, "the engine was closed"))
        if child is not None:
            self._last_log = child.log_lines
            await child.close()
        self._set_state(EngineState.STOPPED)

    # ------------------------------------------------------------------ the child's life

    async def _running(self, passive: bool | None = None) -> Child:
        """The child, started if needed. ``passive`` None takes the thread policy as it is."""
        if self._child is not None and passive is not None and passive != self._passive:
            await self.close()
        if passive is not None:
            self._passive = passive
        if self._child is None:
            self._start()
        assert self._ready is not None
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), self._start_timeout_s)
        except TimeoutError:
            log = self.log_lines[-_LOG_LINES:]
            if self._child is not None:
                self._child.kill()
            await self.close()
            raise EngineStartFailed("it did not say that it is ready in time", log) from None
        if self._child is None:  # it ended in the same moment
            raise EngineStartFailed("it ended at once")
        return self._child

    def _start(self) -> None:
        self._set_state(EngineState.STARTING)
        self._ready = asyncio.get_running_loop().create_future()
        # A failure is also told to whoever waits; nobody may.
        self._ready.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._unresponsive = False
        self._last_words = ""
        environment = child_environment(self._passive) | self._environment
        try:
            child = Child(
                self._command,
                environment,
                on_event=lambda event: self._take(child, event),
                on_end=lambda code: self._ended(child, code),
            )
        except OSError as error:
            self._set_state(EngineState.STOPPED)
            raise EngineStartFailed(error.strerror or str(error)) from error
        self._child = child

    def _take(self, child: Child, event: Event) -> None:
        if child is not self._child:
            return
        if isinstance(event, Ready):
            self._became_ready(child, event)
        elif isinstance(event, Fatal):
            self._last_words = event.reason
        elif isinstance(event, (Loaded, Failed)):
            self._finish_load(child, event)
        if self._requests.deliver(event):
            self._settle()

    def _finish_load(self, child: Child, event: Loaded | Failed) -> None:
        number, settings = self._loading or (0, None)
        if event.id == number:
            self._loading = None
            if isinstance(event, Loaded):
                self._loaded, self._last_settings = event, settings
        elif isinstance(event, Loaded):  # given up, and finished all the same
            child.send(Unload(self._requests.number()))

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

    def _became_ready(self, child: Child, ready: Ready) -> None:
        assert self._ready is not None
        if ready.protocol != VERSION:
            self._last_words = f"it speaks protocol {ready.protocol}, not {VERSION}"
            child.kill()
        elif not self._ready.done():
            self._ready.set_result(ready)
            self._set_state(EngineState.READY)

    def _ended(self, child: Child, code: int) -> None:
        if child is not self._child:
            return
        self._last_log = child.log_lines
        log, reason = self._last_log[-_LOG_LINES:], self._last_words
        self._child = None
        self._loaded = self._info = self._loading = None
        if self._ready is not None and not self._ready.done():
            missing = code in (EXIT_ENGINE_MISSING, EXIT_ENGINE_UNSUPPORTED)
            kind = EngineMissing if missing else EngineStartFailed
            self._ready.set_exception(kind(reason or f"it ended with code {code}", log))
        error: EngineError = EngineDied(code, reason or exit_hint(code), log)
        if self._unresponsive:
            error = EngineUnresponsive("it did not stop when it was asked to, and was ended", log)
        self._set_state(EngineState.DIED)
        self._requests.release(error)

    # ------------------------------------------------------------------ asking

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

    def _send(self, message: Cancel) -> None:
        if self._child is not None:
            self._child.send(message)

    def _lose_patience(self) -> None:
        if self._child is not None:
            self._unresponsive = True
            self._child.kill()

    # ------------------------------------------------------------------ state

    def _settle(self) -> None:
        """The state that follows from what is loaded and running."""
        if self._child is None:
            return
        if self._loading:
            self._set_state(EngineState.LOADING)
        elif self._requests.answering:
            self._set_state(EngineState.GENERATING)
        else:
            self._set_state(EngineState.LOADED if self._loaded else EngineState.READY)

    def _set_state(self, state: EngineState) -> None:
        if state is not self._state:
            self._state = state
            for callback in list(self.state_changed):
                callback(state)


class _RequestRefused(Exception):
    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.reason)
        self.failed = failed
