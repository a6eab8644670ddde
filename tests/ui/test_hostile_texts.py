"""What a model, a file or a person may write: nothing is fetched, nothing is lost, the window goes on.

How long each text holds the window up is measured by tests/benchmarks/hostile_texts.py.
"""

from __future__ import annotations

import ctypes
import os
import random
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from clover_gui.ui.chat.message_list import HistoryMessage, MessageList
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.body_parts import Part
from clover_gui.ui.widgets.code_block import CodeBlock
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.prose_view import ProseView
from tests.ui.hostile_texts import LONG_TEXTS, fetching
from tests.ui.markdown_texts import random_pieces

IN_ACCESS, IN_OPEN, IN_NONBLOCK = 0x1, 0x20, 0x800
SLICE_CHARACTERS = 16_000
"""Characters that one widget draws at most, but for a single line of code or of a table."""


class Canaries:
    """A server and a file that nobody may touch."""

    def __init__(self, folder: Path) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        self.host = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.file = folder / "secret.png"
        self.file.write_bytes(b"secret")
        self._watch = -1
        if sys.platform == "linux":
            library = ctypes.CDLL(None, use_errno=True)
            self._watch = library.inotify_init1(IN_NONBLOCK)
            assert library.inotify_add_watch(self._watch, os.fsencode(self.file), IN_ACCESS | IN_OPEN) >= 0

    def touched(self) -> list[str]:
        """What has been touched."""
        found = []
        try:
            self._server.accept()[0].close()
            found.append("network")
        except BlockingIOError:
            pass
        try:
            if self._watch >= 0 and os.read(self._watch, 4096):
                found.append("file")
        except BlockingIOError:
            pass
        return found

    def close(self) -> None:
        self._server.close()
        if self._watch >= 0:
            os.close(self._watch)


@pytest.fixture
def canaries(tmp_path: Path) -> Iterator[Canaries]:
    made = Canaries(tmp_path)
    yield made
    made.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every resource that a document asks for, and every connection by Python."""
    seen: list[Any] = []
    load = ProseView.loadResource

    def noting(self: ProseView, kind: int, name: QUrl | str) -> object:
        seen.append(("resource", name))
        return load(self, kind, name)

    monkeypatch.setattr(ProseView, "loadResource", noting)
    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, lambda *a, **k: seen.append(("socket", a)))
    return seen


@pytest.fixture
def messages(theme: Theme, qtbot: QtBot) -> Iterator[MessageList]:
    made = MessageList(theme)
    qtbot.addWidget(made)
    made.resize(800, 600)
    made.show()
    yield made
    made.close()
    theme.formulas.stop()


def body_of(view: MessageView) -> MessageBody:
    assert isinstance(view.body, MessageBody)
    return view.body


def settled(view: MessageView) -> Callable[[], bool]:
    return lambda: body_of(view).is_settled


def test_the_canaries_sing(canaries: Canaries) -> None:
    """The measure measures."""
    assert canaries.touched() == []
    host, port = canaries.host.split(":")
    socket.create_connection((host, int(port))).close()
    canaries.file.read_bytes()
    expected = ["network", "file"] if sys.platform == "linux" else ["network"]
    assert canaries.touched() == expected


def test_nothing_is_fetched(
    messages: MessageList, canaries: Canaries, asked: list[Any], qtbot: QtBot
) -> None:
    """As a question, as an answer while it is written, as thinking, and from a stored chat."""
    text = fetching(canaries.host, str(canaries.file))
    messages.set_history([HistoryMessage(True, text), HistoryMessage(False, text, text)])
    thinking = messages.view_at(1).thinking
    assert thinking is not None
    thinking.set_open(True)
    messages.add_user(text)
    answer = messages.add_answer()
    for piece in random_pieces(text, random.Random(5), 30):
        answer.append_answer(piece)
        QApplication.processEvents()
    answer.finish()
    for view in (messages.view_at(1), answer):
        qtbot.waitUntil(settled(view), timeout=20_000)
    for index in range(len(messages)):
        messages.scroll_to(index)
        messages.grab()
    assert asked == []
    assert canaries.touched() == []
    shown = " ".join(view.toPlainText() for view in answer.findChildren(ProseView) if not view.isHidden())
    assert "<img src=" in shown
    assert f"— {canaries.host.partition(':')[0]}]" in shown


def longest(part: Part) -> int:
    if isinstance(part.widget, CodeBlock):
        return max((len(line) for line in part.widget.editor.toPlainText().split("\n")), default=0)
    return len(part.widget.toPlainText()) if part.widget else 0


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_nothing_is_lost_and_no_step_is_long(name: str, messages: MessageList, qtbot: QtBot) -> None:
    text = LONG_TEXTS[name]
    answer = messages.add_answer()
    body = body_of(answer)
    for start in range(0, len(text), 50_000):
        answer.append_answer(text[start : start + 50_000])
        QApplication.processEvents()
    answer.finish()
    qtbot.waitUntil(settled(answer), timeout=60_000)
    messages.grab()
    assert body.text() == text
    assert "".join(part.block.source for part in body.parts()) == text
    assert all(longest(part) <= SLICE_CHARACTERS for part in body.parts())
    answer.copy_text()
    assert QApplication.clipboard().text().replace("\0", "") == text.replace("\0", "")


@pytest.mark.parametrize(
    "name", ["right to left", "zero width", "terminal codes", "nul", "emoji", "combining"]
)
def test_a_question_with_odd_letters_is_kept(name: str, messages: MessageList) -> None:
    view = messages.add_user(LONG_TEXTS[name])
    messages.grab()
    assert view.text() == LONG_TEXTS[name]


def test_overrides_of_the_writing_direction_end_with_their_paragraph(
    messages: MessageList, qtbot: QtBot
) -> None:
    """Neither the next paragraph nor the label of an image is turned round."""
    answer = messages.add_answer()
    answer.append_answer("\u202e\u2067first\n\nsecond ![\u202ea\u202b](http://\u202eevil.example/x)\n\n")
    answer.append_answer("```\nx = 1  \u202e\u2066hidden\n```\n")
    answer.finish()
    qtbot.waitUntil(settled(answer))
    prose, code = (part.widget for part in body_of(answer).parts() if part.widget)
    assert isinstance(prose, ProseView)
    first, second = prose.toPlainText().split("\n")
    assert "first" in first
    assert not set(second) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
    assert isinstance(code, CodeBlock)
    assert code.code() == "x = 1  \u202e\u2066hidden"
    assert "\u202e" not in code.editor.toPlainText()


def test_each_paragraph_runs_in_the_direction_of_its_first_letter(
    messages: MessageList, qtbot: QtBot
) -> None:
    answer = messages.add_answer()
    answer.append_answer("English\n\nעברית\n\n123 العربية\n\n- עברית\n\n> עברית\n")
    answer.finish()
    qtbot.waitUntil(settled(answer))
    (prose,) = (part.widget for part in body_of(answer).parts() if part.widget)
    assert isinstance(prose, ProseView)
    document = prose.document()
    places = [document.findBlockByNumber(n).layout().lineAt(0).cursorToX(0) for n in range(5)]
    positions = [place[0] if isinstance(place, tuple) else place for place in places]
    assert positions[0] < prose.width() / 4
    assert all(position > prose.width() / 2 for position in positions[1:])
