"""Brings the engine here when work that needs it finds none. Must not know what the work is."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

from clover_gui.engine.engine import Engine
from clover_gui.errors import EngineMissing
from clover_gui.i18n import _
from clover_gui.pipeline.engine_install import install_engine, installer
from clover_gui.ui.setup.setup_display import SetupDisplay
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.setup.words import install_text


class EngineSupply:
    """``progress`` is called with a text and a fraction (None: no end known)."""

    def __init__(
        self,
        page: SetupPage,
        engine: Engine,
        display: SetupDisplay,
        progress: Callable[[str, float | None], None],
    ) -> None:
        self._page = page
        self._engine = engine
        self._display = display
        self._progress = progress

    async def work_with_engine(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work; where the engine is missing, bring it here first (once) and begin anew.

        Raises:
            CloverError: of the work, or of the installation; EngineMissing where nothing can install it.
        """
        try:
            await work()
        except EngineMissing as error:
            if installer() is None:
                raise
            self._display.show_engine(error)
            await self._install()
            await self._engine.close()
            await work()

    async def _install(self) -> None:
        self._page.set_busy(True, can_start=False)
        self._progress(_("The engine is not here yet and is being prepared…"), None)
        async with contextlib.aclosing(install_engine()) as steps:
            async for step in steps:
                self._progress(*install_text(step))
