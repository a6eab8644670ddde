"""The child's life: started when it is needed, told when it is ready, noticed when it ends; and its state.

What is asked of it is in ``client.py``. All methods belong to the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from clover_gui.engine.child import Child
from clover_gui.engine.failures import exit_hint
from clover_gui.engine.launch import child_environment, engine_command
from clover_gui.engine.libraries import LIBRARY_VARIABLE, Libraries, with_libraries
from clover_gui.engine.protocol import (
    EXIT_ENGINE_MISSING,
    EXIT_ENGINE_UNSUPPORTED,
    VERSION,
    Cancel,
    EngineInfo,
    Event,
    Failed,
    Fatal,
    Loaded,
    LoadSettings,
    Ready,
    Unload,
)
from clover_gui.engine.requests import Requests
from clover_gui.engine.start_fault import ILLEGAL_INSTRUCTION_CODES
from clover_gui.errors import (
    EngineDied,
    EngineError,
    EngineMissing,
    EngineStartFailed,
    EngineUnresponsive,
)

START_TIMEOUT_S = 60.0
CANCEL_PATIENCE_S = 3.0
# Lines of the child's log that an error carries.
_LOG_LINES = 20


class EngineState(StrEnum):
    """For indicators. DIED lasts until the next start."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"  # no model
    LOADING = "loading"
    LOADED = "loaded"
    GENERATING = "generating"
    DIED = "died"


class EngineHost:
    """One child at a time. Errors are those of the EngineError family."""

    def __init__(
        self,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        libraries: Libraries | None = None,
        start_timeout_s: float = START_TIMEOUT_S,
        cancel_patience_s: float = CANCEL_PATIENCE_S,
    ) -> None:
        """``command`` starts the child (default: this program); ``environment`` is added to ours.
        ``libraries`` says at each start which native libraries it takes (default: the program's own).

        ``cancel_patience_s``: a child that has not ended a cancelled request by then is killed.
        """
        self.state_changed: list[Callable[[EngineState], None]] = []
        self._command = list(command) if command is not None else engine_command()
        self._environment = dict(environment or {})
        self._libraries = libraries
        self._library_folder = ""
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

    # ------------------------------------------------------------------ from start to end

    async def _running(self, passive: bool | None = None) -> Child:
        """The child, started if needed. ``passive`` None takes the thread policy as it is."""
        if self._child is not None and passive is not None and passive != self._passive:
            await self.close()
        if passive is not None:
            self._passive = passive
        while True:
            if self._child is None:
                self._start()
            folder = self._library_folder
            try:
                child = await self._until_ready()
            except EngineError as error:
                # Other libraries, if there are any that have not failed: so it ends at the last of them.
                if self._libraries is None or not self._libraries.failed(folder, error):
                    raise
            else:
                if self._libraries is not None:
                    self._libraries.started(folder)
                return child

    async def _until_ready(self) -> Child:
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
        if self._libraries is not None:
            folder = self._libraries.folder()
            environment = with_libraries(environment, folder, self._libraries.search_path(folder))
        self._library_folder = environment.get(LIBRARY_VARIABLE, "")
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
        if code in ILLEGAL_INSTRUCTION_CODES and self._libraries is not None:
            # Not for this processor: it would die of every model. The next start takes other libraries.
            self._libraries.failed(self._library_folder, error)
        self._set_state(EngineState.DIED)
        self._requests.release(error)

    def _send(self, message: Cancel) -> None:
        if self._child is not None:
            self._child.send(message)

    def _lose_patience(self) -> None:
        if self._child is not None:
            self._unresponsive = True
            self._child.kill()

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
