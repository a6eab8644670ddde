"""The whole program by keyboard alone: real keys from an X server, no mouse, nothing called from inside."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.test_process import display

__all__ = ["display"]

pytestmark = [
    pytest.mark.xvfb,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="virtual screens are a thing of X11"),
    pytest.mark.skipif(shutil.which("xdotool") is None, reason="needs xdotool"),
]

PATIENCE_S = 30.0

# The program with somebody who only looks: whenever something changes, one line says what there is.
WATCHED = """
import asyncio, json, sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from clover_gui.paths import DataFolder
from clover_gui.ui.application import run_window

def state(window, workspace):
    page, focus = window.chat_page, QApplication.focusWidget()
    dialogs = [w.objectName() for w in QApplication.topLevelWidgets()
               if w.isVisible() and w is not window and w.objectName().endswith(("Dialog", "Sheet"))]
    count = len(page.messages)
    chat = workspace.chat.chat if workspace.chat else None
    return {
        "ready": workspace.engine.loaded is not None and window.pages.currentWidget() is page,
        "focus": (focus.accessibleName() or focus.objectName()) if focus else "",
        "answering": bool(workspace.chat and workspace.chat.answering),
        "messages": count,
        "last": page.messages.view_at(count - 1).text() if count else "",
        "thinking": page.composer.thinking,
        "text": page.composer.text(),
        "chat": chat.title if chat else "",
        "chats": [page.conversations.list.item(i).text() for i in range(page.conversations.list.count())],
        "find": page.find_bar.count.text() if page.find_bar.isVisible() else None,
        "dialogs": dialogs,
        "menu": QApplication.activePopupWidget() is not None,
        "clipboard": QApplication.clipboard().text(),
    }

async def driver(window, workspace):
    last = None
    while True:
        now = state(window, workspace)
        if now != last:
            print(json.dumps(now), flush=True)
            last = now
        await asyncio.sleep(0.03)

sys.exit(run_window(sys.argv[2], DataFolder(Path(sys.argv[1])), driver))
"""

State = dict[str, Any]


class Person:
    """Presses keys and looks at the screen."""

    def __init__(self, display: str, data: Path, model: Path) -> None:
        self._environment = {
            **os.environ,
            "QT_QPA_PLATFORM": "xcb",
            "DISPLAY": display,
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", WATCHED, str(data), str(model)],
            stdout=subprocess.PIPE,
            env=self._environment,
            text=True,
        )
        self._states: queue.Queue[State] = queue.Queue()
        self._state: State = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._states.put(json.loads(line))

    def sees(self, what: Callable[[State], object], words: str = "") -> State:
        """Wait until this is so."""
        end = time.monotonic() + PATIENCE_S
        while not (self._state and what(self._state)):
            try:
                self._state = self._states.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"never seen: {words}; last {self._state}")
        return self._state

    def presses(self, *keys: str) -> None:
        self._run("key", "--clearmodifiers", "--delay", "30", *keys)

    def types(self, text: str) -> None:
        self._run("type", "--clearmodifiers", "--delay", "20", text)

    def goes_to(self, name: str, key: str, most: int = 40) -> None:
        """Press a key until what has the focus is called so."""
        seen = []
        for _press in range(most):
            seen.append(self._state["focus"])
            if name in self._state["focus"]:
                return
            before = self._state["focus"]
            self.presses(key)
            end = time.monotonic() + 1.0
            while self._state["focus"] == before and time.monotonic() < end:
                try:
                    self._state = self._states.get(timeout=0.1)
                except queue.Empty:
                    continue
        pytest.fail(f"{key} does not lead to {name}; it leads to {seen}")

    def focuses_the_window(self) -> None:
        """There is no window manager on the virtual screen that would do it."""
        self._run("search", "--sync", "--onlyvisible", "--name", "Clover", "windowfocus")

    def leaves(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=15)
        self._reader.join(timeout=5)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _run(self, *arguments: str) -> None:
        subprocess.run(["xdotool", *arguments], env=self._environment, check=True, capture_output=True)


@pytest.fixture
def start(display: str, tmp_path: Path) -> Iterator[Callable[[Path], Person]]:
    people: list[Person] = []

    def begin(model: Path) -> Person:
        person = Person(display, tmp_path / "data", model)
        people.append(person)
        person.sees(lambda s: s["ready"], "the model is loaded")
        person.focuses_the_window()
        person.sees(lambda s: s["focus"] == "Your message", "the text field has the focus")
        return person

    yield begin
    for person in people:
        person.leaves()


def test_a_day_without_a_mouse(start: Callable[[Path], Person], scripted_long_gguf: Path) -> None:
    person = start(scripted_long_gguf)
    person.types("Sorting please")
    person.presses("Return")
    person.sees(lambda s: s["messages"] == 2 and not s["answering"] and "```" in s["last"], "the answer")

    # Copy the code: Tab goes through the buttons of the conversation.
    person.goes_to("Copy code", "shift+Tab")
    person.presses("space")
    code = person.sees(lambda s: s["clipboard"], "something is copied")["clipboard"]
    assert code in person.sees(lambda s: True)["last"]

    person.presses("ctrl+shift+c")
    person.sees(lambda s: "```" in s["clipboard"], "the whole answer is copied")
    person.presses("ctrl+l", "ctrl+t")
    thinking = person.sees(lambda s: s["focus"] == "Your message")["thinking"]
    person.presses("ctrl+t")
    person.sees(lambda s: s["thinking"] is not thinking, "thinking is switched")

    person.presses("ctrl+f")
    person.types("the")
    person.sees(lambda s: s["find"] and " of " in s["find"], "places are found")
    person.presses("Escape")
    person.sees(lambda s: s["find"] is None and s["focus"] == "Your message", "the bar is closed")

    person.presses("ctrl+n")
    person.sees(lambda s: s["messages"] == 0, "a new chat")
    person.types("Another chat")
    person.presses("Return")
    person.sees(lambda s: s["messages"] == 2 and not s["answering"] and len(s["chats"]) == 2, "two chats")

    person.presses("ctrl+shift+f")
    person.types("Sorting pl")
    person.sees(lambda s: s["chats"] == ["Sorting please"], "one is found")
    person.presses("Return", "Return")
    person.sees(lambda s: s["chat"] == "Sorting please", "it is open")
    person.presses("ctrl+shift+f", "Escape")
    person.sees(lambda s: len(s["chats"]) == 2, "both are listed again")
    person.presses("ctrl+shift+l", "F2")
    person.types("Renamed")
    person.presses("Return")
    person.sees(lambda s: "Renamed" in s["chats"], "it has another title")

    for keys, name in (
        ("ctrl+comma", "settingsDialog"),
        ("ctrl+slash", "helpSheet"),
        ("ctrl+i", "optionsDialog"),
        ("ctrl+d", "detailsDialog"),
    ):
        person.presses(keys)
        person.sees(lambda s, name=name: name in s["dialogs"], name)
        person.presses("Escape")
        person.sees(lambda s: s["dialogs"] == [], f"{name} is closed")
        person.focuses_the_window()
        person.sees(lambda s: s["focus"], "the window has the focus again")

    person.presses("ctrl+l", "Up")
    person.sees(lambda s: s["text"], "the last message can be changed")
    person.presses("Escape")
    person.sees(lambda s: s["text"] == "", "it is left as it was")


def test_stop_by_key(start: Callable[[Path], Person], scripted_endless_gguf: Path) -> None:
    person = start(scripted_endless_gguf)
    person.types("Go on for ever")
    person.presses("Return")
    person.sees(lambda s: s["messages"] == 2 and s["answering"], "it answers")
    person.presses("Escape")
    person.sees(lambda s: not s["answering"], "it has stopped")
