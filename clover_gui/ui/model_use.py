"""Who works with model files: lets go of them, and takes one up again. Must not know: why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from clover_gui.engine.engine import Engine
from clover_gui.errors import EngineError
from clover_gui.i18n import _
from clover_gui.ui.chat.presenter import ChatPresenter
from clover_gui.ui.setup.setup_presenter import SetupPresenter


class WindowModelUse:
    """The window's set-up and chat, as users of model files."""

    def __init__(
        self, engine: Engine, setup: SetupPresenter, chat: Callable[[], ChatPresenter | None]
    ) -> None:
        self._engine = engine
        self._setup = setup
        self._chat = chat

    def busy_reason(self) -> str:
        """A sentence with the next step, or ""."""
        chat = self._chat()
        if self._setup.is_downloading:
            return _("A model is being downloaded. Wait until it is here, or stop the download first.")
        if chat is not None and chat.answering:
            return _("An answer is being written. Wait for its end, or stop it first.")
        return ""

    async def let_go(self) -> Path | None:
        """End a load that is going on, and unload; returns the file that was loaded, or going to be."""
        settings = self._engine.last_settings
        path = Path(settings.path) if self._engine.loaded is not None and settings is not None else None
        if self._setup.is_loading:
            path = self._setup.path
        await self._setup.end()
        try:
            await self._engine.unload()
        except EngineError:
            pass  # a dead engine holds nothing
        if (chat := self._chat()) is not None:
            chat.model_changed()
        return path

    def take_up(self, path: Path) -> None:
        """Load it, with the progress where the person looks."""
        self._setup.start(path)
