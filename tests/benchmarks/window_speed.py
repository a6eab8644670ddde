"""What the whole program costs: tokens/s as they come into the window against a bare decode loop.

    python -m tests.benchmarks.window_speed MODEL [--tokens 250] [--rounds 7] [--profile FILE]

The real window (offscreen unless QT_QPA_PLATFORM says otherwise), engine child, pipe, splitting of thoughts,
store and rendering; the bare loop reads the same question from the same file in a process of its own. The
two alternate within one run. Goals: a ratio of at least 0.97 with a model that takes some milliseconds per
token, and at least 1,000 tokens/s with the smallest.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from clover_gui import settings
from clover_gui.chat.events import AnswerEnded, ChatEvent, RateSample
from clover_gui.chat.options import ChatOptions
from clover_gui.paths import DataFolder
from clover_gui.ui.application import Application
from clover_gui.ui.chat.answer_display import AnswerDisplay
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.benchmarks.engine_speed import ENDLESS, GREEDY, QUESTION, Bare, processor_seconds

PATIENCE_S = 120.0


class Watch:
    """Sees the events of an answer after the window has dealt with them."""

    def __init__(self, patch: Callable[[Callable[..., None]], None], tokens: int) -> None:
        self.tokens = tokens
        self.samples: list[tuple[float, int, float]] = []
        self.costs: list[float] = []
        self.enough = asyncio.Event()
        self.ended = asyncio.Event()
        show = AnswerDisplay.show

        def watched(display: AnswerDisplay, event: ChatEvent, view: object) -> None:
            show(display, event, view)  # type: ignore[arg-type]
            if isinstance(event, RateSample):
                self.samples.append((time.perf_counter(), event.tokens, event.seconds))
                self.costs.append(processor_seconds(os.getpid()))
                if event.tokens >= self.tokens:
                    self.enough.set()
            elif isinstance(event, AnswerEnded):
                self.enough.set()
                self.ended.set()

        patch(watched)

    def begin(self) -> None:
        self.samples.clear()
        self.costs.clear()
        self.enough.clear()
        self.ended.clear()

    @property
    def tokens_per_second(self) -> float:
        """By the window's clock."""
        (first_time, first, _), (last_time, last, _) = self.samples[0], self.samples[-1]
        return (last - first) / (last_time - first_time)

    @property
    def cost(self) -> float:
        """Processor seconds of this process per token, while tokens come."""
        return (self.costs[-1] - self.costs[0]) / (self.samples[-1][1] - self.samples[0][1])

    @property
    def written_per_second(self) -> float:
        """By the engine child's clock."""
        (_, first, first_time), (_, last, last_time) = self.samples[0], self.samples[-1]
        return (last - first) / (last_time - first_time)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


async def one_answer(window: MainWindow, workspace: Workspace, watch: Watch, number: int) -> float:
    """A new chat with one question, stopped after enough tokens; tokens/s of the window."""
    assert workspace.chat is not None
    window.chat_page.conversations.new_button.click()
    await until(lambda: workspace.chat is not None and workspace.chat.chat is None)
    await asyncio.sleep(0.2)  # what is sent while the chat changes comes back into the field
    watch.begin()
    window.chat_page.composer.set_text(f"{number}. {QUESTION}")
    window.chat_page.composer.send_button.click()
    async with asyncio.timeout(PATIENCE_S):
        await watch.enough.wait()
        workspace.chat.stop()
        await watch.ended.wait()
    await until(lambda: workspace.chat is not None and not workspace.chat.answering)
    return watch.tokens_per_second


async def measure(window: MainWindow, workspace: Workspace, arguments: argparse.Namespace) -> int:
    await until(
        lambda: workspace.engine.loaded is not None and window.pages.currentWidget() is window.chat_page
    )
    chat, loaded = workspace.chat, workspace.engine.loaded
    assert chat is not None
    assert loaded is not None
    setattr(ChatOptions, "sampling", lambda _options, _usual: GREEDY)  # noqa: B010
    setattr(ChatOptions, "limits", lambda _options: ENDLESS)  # noqa: B010
    watch = Watch(lambda show: setattr(AnswerDisplay, "show", show), arguments.tokens)
    bare = Bare(arguments.model, arguments.tokens, loaded.threads)
    profile = cProfile.Profile() if arguments.profile else None
    ratios, rates, costs, shares = [], [], [], []
    assert workspace.engine.pid is not None
    pids = bare.pid, workspace.engine.pid
    try:
        for number in range(arguments.rounds + 1):
            before = [processor_seconds(pid) for pid in pids]
            slow = await asyncio.to_thread(bare.tokens_per_second, f"{number}. {QUESTION}")
            if profile and number == 1:
                profile.enable()
            ours = await one_answer(window, workspace, watch, number)
            if profile and number == 1:
                profile.disable()
                profile.dump_stats(arguments.profile)
            used = [processor_seconds(pid) - then for pid, then in zip(pids, before, strict=True)]
            if number:  # the first round warms up
                shares.append(used[1] / watch.samples[-1][1] / (used[0] / arguments.tokens))
                ratios.append(ours / slow)
                rates.append(ours)
                costs.append(watch.cost)
                print(
                    f"bare {slow:8.1f} tok/s   window {ours:8.1f} tok/s   ratio {ours / slow:.3f}"
                    f"   child {watch.written_per_second:8.1f} tok/s"
                    f"   window's own processor time {1e6 * watch.cost:6.0f} µs per token"
                )
    finally:
        bare.close()
    print(
        f"{arguments.model.name}, {loaded.threads} thread(s), {arguments.tokens} tokens: "
        f"median ratio {statistics.median(ratios):.3f}, median {statistics.median(rates):.0f} tok/s, "
        f"{1e6 * statistics.median(costs):.0f} µs of the window's processor time per token, "
        f"the child's processor time per token {statistics.median(shares):.3f} of the bare loop's"
    )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed of the whole program against a bare loop.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--tokens", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--profile", default="", help="profile of the window's thread, for pstats")
    arguments = parser.parse_args()
    qt = QApplication(["clover-gui"])
    with tempfile.TemporaryDirectory() as folder:
        data = DataFolder(Path(folder) / "data")
        data.root.mkdir()
        settings.save(data.settings, settings.Settings(language="en", theme="light"))
        application = Application(qt, str(arguments.model), data)
        return application.run(lambda window, workspace: measure(window, workspace, arguments))


if __name__ == "__main__":
    sys.exit(main())
