"""The window's first moments: it is painted before anything else is imported or started."""

from __future__ import annotations

import asyncio
import logging
import threading

from clover_gui.ui.main_window import MainWindow

_PATIENCE_S = 2.0
log = logging.getLogger(__name__)


async def first_picture(window: MainWindow) -> None:
    """Wait until the window is seen, two seconds at most, then begin to import what answers need."""
    painted = asyncio.Event()
    window.first_painted.connect(painted.set)
    try:
        await asyncio.wait_for(painted.wait(), timeout=_PATIENCE_S)
    except TimeoutError:
        log.info("the window was not painted at once")
    # Rendering is needed with the first answer only; its imports take a tenth of a second.
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()


def _warm_up() -> None:
    from clover_gui.ui.widgets import markdown

    markdown.warm_up()
