"""The one event loop of the window: Qt's, driven as an asyncio loop by qasync (imported only here)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import qasync
from PySide6.QtWidgets import QApplication


def run(
    application: QApplication,
    main: Callable[[], Coroutine[Any, Any, int]],
    on_error: Callable[[BaseException], None],
) -> int:
    """Run ``main()`` to its end on Qt's loop and return its exit code.

    Quit-on-last-window-closed is switched off: it would stop the loop under the running coroutine.
    ``main`` decides by itself when the program ends. ``on_error`` gets what callbacks raise.
    """
    application.setQuitOnLastWindowClosed(False)

    def handle(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        on_error(error if isinstance(error, BaseException) else RuntimeError(str(context.get("message"))))

    def new_loop() -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop = qasync.QEventLoop(application)
        loop.set_exception_handler(handle)
        return loop

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main())
