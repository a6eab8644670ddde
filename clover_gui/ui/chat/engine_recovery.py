"""Bringing the engine back after it died: its last model is loaded again, and the notice bar says so.

Knows the engine and the notice bar; knows nothing of chats and answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from clover_gui.engine.client import EngineState
from clover_gui.engine.engine import Engine
from clover_gui.errors import CloverError, ModelFileMissing, ModelNotLoaded
from clover_gui.explain import explain
from clover_gui.i18n import _
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.widgets.notice_bar import NoticeBar, NoticeKind

CHOOSE_MODEL = "choose-model"


class EngineRecovery:
    """One recovery runs at a time. One that failed is tried again when the engine is needed."""

    def __init__(
        self,
        notice: NoticeBar,
        engine: Engine,
        tasks: TaskSet,
        recover: Callable[[], Awaitable[None]],
        in_use: Callable[[], bool],
    ) -> None:
        """``recover`` loads the last model. ``in_use``: somebody waits for the engine, and will begin the
        recovery when they hear of its end."""
        self._notice = notice
        self._engine = engine
        self._tasks = tasks
        self._recover = recover
        self._in_use = in_use
        self._task: asyncio.Task[None] | None = None
        self._state = EngineState.STOPPED
        self._lost = self._died_in_use = False
        self._closing = False

    @property
    def possible(self) -> bool:
        """Whether the engine died with its model, which nobody has loaded or replaced since."""
        return self._lost

    @property
    def trained_context(self) -> int:
        """The tokens of context that the loaded model was trained for, 0: not known."""
        return self._engine.loaded.trained_context if self._engine.loaded is not None else 0

    def engine_changed(self, state: EngineState) -> None:
        """Told by the engine. One that dies while nothing is asked of it is brought back at once."""
        before, self._state = self._state, state
        if self._closing:
            return
        if state is EngineState.DIED and before in (EngineState.LOADED, EngineState.GENERATING):
            self._lost = True
            if self._in_use():
                self._died_in_use = True
            else:
                self.begin()
        elif state is EngineState.LOADED or (state is EngineState.LOADING and self._task is None):
            self._lost = self._died_in_use = False

    def released(self) -> None:
        """Nobody waits for the engine any more. One that died meanwhile without anybody hearing of it, for
        example after a stop that it did not follow, is brought back."""
        if self._died_in_use:
            self.begin()

    def begin(self) -> None:
        """Bring the engine back, unless that is under way."""
        if self._task is None and not self._closing:
            self._lost, self._died_in_use = True, False
            self._task = self._tasks.start(self._bring_back(), "engine recovery")

    async def finished(self) -> bool:
        """Wait until the engine has its model, with a new try if none is under way. False if that failed,
        which the notice bar says. Cancelling the wait leaves the recovery running."""
        if self._engine.loaded is None:
            self.begin()
        if self._task is not None:
            await asyncio.wait({self._task})
        return self._engine.loaded is not None

    async def end(self) -> None:
        """The program ends: no recovery any more."""
        self._closing = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _bring_back(self) -> None:
        self._notice.show_notice(
            _("The engine stopped. It is being started again…"), NoticeKind.WARNING, about="engine"
        )
        try:
            await self._load()
        except CloverError as error:
            # Another model that is being loaded has ended this one; that is no failure.
            if self._engine.loaded is None and self._state is not EngineState.LOADING:
                self._notice.show_notice(
                    explain(error).text,
                    NoticeKind.ERROR,
                    (CHOOSE_MODEL, _("Choose a model")),
                    about="engine",
                )
        else:
            self._notice.show_notice(
                _("The engine is ready again. Your chat is complete up to here."), about="engine"
            )
        finally:
            self._task = None

    async def _load(self) -> None:
        settings = self._engine.last_settings
        if settings is None:
            raise ModelNotLoaded("no model was loaded before")
        path = Path(settings.path)
        if not await asyncio.to_thread(path.is_file):
            raise ModelFileMissing(path)
        await self._recover()
