"""Many messages over several chats through the real window, with disturbances as a person makes them.

    python -m tests.benchmarks.window_soak MODEL [--messages 500] [--chats 10] [--seed 1]

Stops, kills of the engine, another chat in mid-answer, edits, answers again, continued answers, thinking
switched, other versions looked at, dialogs opened. After each step the store, the window and what was sent
must agree, nothing that stood in the chat before may have changed, and the window must be ready for the
next message; at the end every chat is opened and compared again. Ends with exit code 1 at the first fault.
tests/ui/test_window_soak.py runs a short one.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import gc
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from clover_gui import i18n, settings
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.continuing import can_continue
from clover_gui.chat.message import Message, Role
from clover_gui.chat.options import ChatOptions
from clover_gui.chat.store import ChatStore
from clover_gui.paths import DataFolder
from clover_gui.ui.application import Application
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.presenter import ChatPresenter
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace

CONTEXT = 2048
OPTIONS = ChatOptions(temperature=0.0, thinking_tokens=24, answer_tokens=48)
WORDS = ("light", "keeper", "ship", "night", "book", "ü", "😀", "<|im_end|>", "\n", "**why**", "$x^2$", "42")
KILL_EVERY = 18
PATIENCE_S = 60.0
MIB = 1 << 20


@dataclass(frozen=True)
class Size:
    """Memory after so many messages; ``age``: messages since this engine child was started."""

    messages: int
    window_bytes: int
    child_bytes: int
    age: int
    qt_objects: int
    python_objects: int


@dataclass
class Report:
    """What happened. ``children``: bytes of each engine child by its age."""

    steps: collections.Counter[str] = field(default_factory=collections.Counter)
    sizes: list[Size] = field(default_factory=list)
    children: list[dict[int, int]] = field(default_factory=list)
    checked_messages: int = 0
    seconds: float = 0.0


class WindowSoak:
    """One run over the window of a started program."""

    def __init__(self, window: MainWindow, workspace: Workspace, seed: int) -> None:
        self._window = window
        self._workspace = workspace
        self._page = window.chat_page
        self._rng = random.Random(seed)
        self._known: dict[int, list[tuple[int, str, str]]] = {}
        """Chat -> its path as it was seen last."""
        self._pid: int | None = None
        self.report = Report()

    @property
    def _chat(self) -> ChatPresenter:
        assert self._workspace.chat is not None
        return self._workspace.chat

    @property
    def _store(self) -> AsyncChatStore:
        assert self._workspace.store is not None
        return self._workspace.store

    async def run(self, messages: int, tell: Callable[[str], None]) -> None:
        started = time.monotonic()
        await self._until(
            lambda: self._loaded() and self._window.pages.currentWidget() is self._page, "the model is loaded"
        )
        ids = [chat.id for chat in await self._store.list_chats()]
        marks = {count for count in range(50, messages + 1) if count % 100 == 50} | {messages}
        for count in range(1, messages + 1):
            await self._open(self._rng.choice(ids) if self._rng.random() < 0.5 else ids[count % len(ids)])
            self._look_around()
            await self._step(count, ids)
            self._note_child()
            if count in marks:
                self._measure(count)
                tell(f"{count} messages, {time.monotonic() - started:.0f} s: {dict(self.report.steps)}")
        for chat_id in ids:
            await self._open(chat_id)
            await self._compare(whole=True)
        self.report.seconds = time.monotonic() - started

    async def _until(self, condition: Callable[[], object], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await asyncio.sleep(0.002)
        except TimeoutError:
            raise AssertionError(f"never happened: {what}; {dict(self.report.steps)}") from None

    def _loaded(self) -> bool:
        return self._workspace.engine.loaded is not None

    def _is_busy(self) -> bool:
        """An answer runs, or another chat is on its way."""
        return self._chat.answering or self._chat._field.is_leaving

    # ------------------------------------------------------------------ what a person does

    async def _open(self, chat_id: int) -> None:
        """By a click in the list."""
        if self._chat.chat is not None and self._chat.chat.id == chat_id and not self._is_busy():
            return
        chats = self._page.conversations
        await self._until(lambda: any(row == chat_id for row, _message in chats.rows()), "the chat is listed")
        place = next(place for place, (row, _message) in enumerate(chats.rows()) if row == chat_id)
        chats.list.itemClicked.emit(chats.list.item(place))
        await self._until(
            lambda: self._chat.chat is not None and self._chat.chat.id == chat_id and not self._is_busy(),
            "the chat is open",
        )

    def _look_around(self) -> None:
        """What changes nothing in the chat."""
        roll = self._rng.random()
        if roll < 0.3:
            self._page.composer.thinking_button.click()
            self.report.steps["thinking"] += 1
        elif roll < 0.36:
            self._chat.show_options().reject()
            self._page.details_requested.emit()
            self._window.show_help()
            for dialog in QApplication.topLevelWidgets():
                if dialog.objectName() in ("helpSheet", "detailsDialog"):
                    dialog.close()
            self.report.steps["dialogs"] += 1
        elif roll < 0.42:
            self._page.messages.find_text("light")
            self._page.messages.clear_find()
            self.report.steps["find"] += 1
        elif roll < 0.46 and len(self._page.messages):
            self._page.messages.scroll_to(0)
            self.report.steps["scroll"] += 1

    async def _step(self, count: int, ids: list[int]) -> None:
        rng, before = self._rng, await self._compare(whole=False)
        questions = [place for place, message in enumerate(before) if message.role is Role.USER]
        possible = ["send"] if not questions else ["send"] * 6 + ["edit"] * 2 + ["again"] * 2
        if before and can_continue(before[-1]):
            possible += ["continue"] * 2
        action = rng.choice(possible)
        end = rng.choices(["whole", "stop", "stop reading", "switch"], [20, 5, 2, 3])[0]
        if count % KILL_EVERY == KILL_EVERY // 2:
            end = "kill"
        text = f"{count}: " + " ".join(rng.choices(WORDS, k=rng.choice([3, 10, 30, 60])))
        kept, former = before, self._chat.view
        if action == "edit":
            place = rng.choice(questions[-3:])
            kept = before[:place]
            self._page.messages.edit_requested.emit(place)
        if action in ("send", "edit"):
            self._page.composer.set_text(text)
            self._page.composer.send_button.click()
        elif action == "again":
            kept = before[:-1] if before[-1].role is Role.ASSISTANT else before
            self._page.regenerate_requested.emit()
        else:
            kept = before[:-1]
            self._page.messages.continue_requested.emit()
        self.report.steps[action] += 1
        if not await self._sent(former):
            self.report.steps["not sent"] += 1
            await self._not_sent(before, text if action in ("send", "edit") else "", action == "edit")
            return
        shown = await self._follow(end, ids)
        await self._settled()
        await self._check(before, kept, action, text, shown)

    async def _sent(self, former: MessageView | None) -> bool:
        """Answer the question whether old turns may go, if it comes; False if nothing was sent.

        ``former``: the view of the answer before this one.
        """
        bar = self._page.overflow

        def begun() -> bool:
            return self._chat.view not in (None, former) or not self._chat.answering

        await self._until(lambda: bar.isVisible() or begun(), "it is sent, or asked")
        if not bar.isVisible():
            return True
        if bar.drop_button.isVisible() and self._rng.random() < 0.8:
            bar.drop_button.click()
            self.report.steps["dropped"] += 1
            await self._until(begun, "it is sent without old turns")
            return True
        bar.cancel_button.click()
        await self._until(lambda: not self._chat.answering, "it is not sent")
        return False

    async def _not_sent(self, before: list[Message], text: str, editing: bool) -> None:
        composer = self._page.composer
        await self._until(lambda: composer.text() == text, "the words are back")
        if editing:
            self._chat.escape()
        composer.set_text("")
        after = await self._compare(whole=False)
        assert [m.id for m in after] == [m.id for m in before], "something was sent"

    async def _follow(self, end: str, ids: list[int]) -> str | None:
        """Disturb the answer; what was seen of it last, if the chat was left."""
        after = self._rng.randrange(1 if end == "kill" else 60)
        if end == "stop reading":
            self._page.stop_requested.emit()
        elif end != "whole":
            await self._until(
                lambda: not self._chat.answering or self._written() > after, "the answer is under way"
            )
        if not self._chat.answering:
            end = "whole"
        self.report.steps[end] += 1
        view = self._chat.view
        seen = None
        if end == "stop":
            self._page.composer.send_button.click()
        elif end == "switch":
            seen = view.text() if view is not None else ""
            here = self._chat.chat.id if self._chat.chat is not None else 0
            await self._open(self._rng.choice([id for id in ids if id != here]))
            await self._settled()
            await self._open(here)
        elif end == "kill" and self._workspace.engine.pid is not None:
            psutil.Process(self._workspace.engine.pid).kill()
        return seen

    def _written(self) -> int:
        view = self._chat.view
        if view is None:
            return 0
        return len(view.text()) + (len(view.thinking.text()) if view.thinking is not None else 0)

    # ------------------------------------------------------------------ checks

    async def _settled(self) -> None:
        """The window is ready for the next message."""
        composer = self._page.composer
        await self._until(lambda: not self._chat.answering, "the answer ends")
        await self._until(self._loaded, "the engine has its model")
        await self._until(lambda: composer.send_button.text() == i18n._("Send"), "the button says so")
        assert not self._page.overflow.isVisible()
        assert self._chat.view is None or self._chat.view.is_finished

    async def _check(
        self, before: list[Message], kept: list[Message], action: str, text: str, seen: str | None
    ) -> None:
        after = await self._compare(whole=False)
        assert [(m.id, m.text, m.thinking) for m in after[: len(kept)]] == [
            (m.id, m.text, m.thinking) for m in kept
        ], f"{action}: history changed"
        if action in ("send", "edit"):
            assert after[len(kept)].text == text, f"{action}: not what was sent"
        last = after[-1]
        if last.role is not Role.ASSISTANT:
            # An engine that died before it took the question leaves it without an answer.
            assert action in ("send", "edit", "again")
            self.report.steps["unanswered"] += 1
            return
        if action == "continue":
            assert last.text.startswith(before[-1].text), "what was there before was changed"
        if seen is not None:
            assert last.text.startswith(seen), "text that was seen is lost"

    async def _compare(self, *, whole: bool) -> list[Message]:
        """The open chat in the store, in the window, and as it was left; only its end unless ``whole``."""
        chat = self._chat.chat
        assert chat is not None
        path, shown = await self._store.messages(chat.id), self._page.messages
        await self._until(lambda: len(shown) == len(path), f"{len(path)} messages are shown")
        for place in range(0 if whole else max(0, len(path) - 2), len(path)):
            message, view = path[place], shown.view_at(place)
            assert view.text() == message.text, f"the window has another text in message {place}"
            thought = view.thinking.text() if view.thinking is not None else ""
            assert thought == message.thinking, f"the window has other thoughts in message {place}"
            self.report.checked_messages += 1
        if whole and chat.id in self._known:
            assert self._known[chat.id] == [(m.id, m.text, m.thinking) for m in path], "changed unseen"
        self._known[chat.id] = [(m.id, m.text, m.thinking) for m in path]
        return path

    # ------------------------------------------------------------------ memory

    def _note_child(self) -> None:
        pid = self._workspace.engine.pid
        if pid is None:
            return
        if pid != self._pid:
            self._pid = pid
            self.report.children.append({})
        ages = self.report.children[-1]
        ages[len(ages) + 1] = psutil.Process(pid).memory_info().rss

    def _measure(self, count: int) -> None:
        gc.collect()
        ages = self.report.children[-1]
        self.report.sizes.append(
            Size(
                count,
                psutil.Process().memory_info().rss,
                ages[len(ages)],
                len(ages),
                len(self._window.findChildren(QObject)),
                len(gc.get_objects()),
            )
        )


def soak(
    qt: QApplication,
    model: Path,
    folder: Path,
    *,
    messages: int,
    chats: int,
    seed: int,
    tell: Callable[[str], None] = print,
) -> Report:
    """Run the program once with the soak in place of a person; an AssertionError names the first fault."""
    data = DataFolder(folder)
    data.root.mkdir(parents=True, exist_ok=True)
    i18n.set_language("en")
    settings.save(data.settings, settings.Settings(language="en", theme="light", context=CONTEXT))
    store = ChatStore(data.chats)
    for number in range(chats):
        words = f"Words for chat {number}. " * 3 if number % 2 else ""
        chat = store.create_chat(title=f"Chat {number}", system_prompt=words)
        store.set_options(chat.id, OPTIONS)
    store.close()
    report = Report()

    async def driver(window: MainWindow, workspace: Workspace) -> int:
        nonlocal report
        run = WindowSoak(window, workspace, seed)
        report = run.report
        await run.run(messages, tell)
        return 0

    assert Application(qt, str(model), data).run(driver) == 0
    return report


def describe(report: Report) -> str:
    """The figures for a person."""
    lines = [f"{report.checked_messages} messages compared with the store, {report.seconds:.0f} s"]
    for size in report.sizes:
        lines.append(
            f"after {size.messages:3}: window {size.window_bytes / MIB:6.1f} MiB"
            f" ({size.qt_objects} Qt objects, {size.python_objects} Python objects),"
            f" engine child {size.child_bytes / MIB:6.1f} MiB at age {size.age}"
        )
    ages = [max(child) for child in report.children]
    lines.append(f"{len(ages)} engine children, of age {', '.join(map(str, ages))}")
    for age in (5, 20, 50, 100):
        found = [child[age] / MIB for child in report.children if age in child]
        if len(found) > 1:
            lines.append(f"engine children at age {age}: {', '.join(f'{size:.1f}' for size in found)} MiB")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="A long run through the window with random disturbances.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--chats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    qt = QApplication(["clover-gui"])
    with tempfile.TemporaryDirectory() as folder:
        try:
            report = soak(
                qt,
                arguments.model,
                Path(folder) / "data",
                messages=arguments.messages,
                chats=arguments.chats,
                seed=arguments.seed,
                tell=lambda line: print(line, flush=True),
            )
        except BaseException:
            traceback.print_exc()  # the program's own hook would show a dialog
            return 1
    print(describe(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
