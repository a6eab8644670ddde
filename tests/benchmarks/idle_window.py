"""Processor time of the window, and of its engine, while nothing happens.

Run: python -m tests.benchmarks.idle_window MODEL.gguf [seconds]
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import psutil

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from clover_gui.paths import DataFolder
from clover_gui.ui.application import run_window
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace

SETTLE_S = 5.0


def spent(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


async def watch(window: MainWindow, workspace: Workspace) -> int:
    page = window.chat_page
    while workspace.engine.loaded is None or window.pages.currentWidget() is not page:
        await asyncio.sleep(0.05)
    assert workspace.chat is not None
    page.composer.set_text("Hello?")
    page.composer.send_button.click()
    while len(page.messages) < 2 or workspace.chat.answering:
        await asyncio.sleep(0.05)
    await asyncio.sleep(SETTLE_S)
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0
    engine = workspace.engine.pid
    assert engine is not None
    before = spent(os.getpid()), spent(engine)
    await asyncio.sleep(seconds)
    for name, pid, start in (("window", os.getpid(), before[0]), ("engine", engine, before[1])):
        print(f"{name}: {100 * (spent(pid) - start) / seconds:.2f} % of one processor in {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run_window(sys.argv[1], DataFolder(Path(folder)), watch))
