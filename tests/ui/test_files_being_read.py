"""Files that are still being read belong to the message: it waits for them, and is not sent without one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from clover_gui.chat import attachments
from clover_gui.paths import DataFolder
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.ui.accessible_tree import unnamed
from tests.ui.test_chats import data, drive  # noqa: F401
from tests.ui.test_window import answered, ready, until

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


class SlowFiles:
    """Files whose reading ends when the test says so: reading them waits, as for a sleepy drive."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._folder = folder
        self._gates = folder / "gates"
        self._gates.mkdir()
        real = attachments.read_attachment

        def read(path: Path):
            gate = self._gates / path.name
            if gate.exists():
                gate.read_bytes()  # a pipe: until somebody writes into it
            return real(path)

        monkeypatch.setattr("clover_gui.ui.chat.attachment_tray.read_attachment", read)

    def make(self, name: str, content: bytes = b"a secret word") -> Path:
        os.mkfifo(self._gates / name)
        path = self._folder / name
        path.write_bytes(content)
        return path

    async def let_go(self, path: Path) -> None:
        await asyncio.to_thread((self._gates / path.name).write_bytes, b"go")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SlowFiles:
    return SlowFiles(monkeypatch, tmp_path)


@contextmanager
def questions(workspace: Workspace) -> Iterator[list[object]]:
    """What is asked of the model meanwhile."""
    asked: list[object] = []
    real = workspace.engine.generate

    def generate(messages: object, **rest: Any) -> object:
        asked.append(messages)
        return real(messages, **rest)

    workspace.engine.generate = generate
    yield asked
    workspace.engine.generate = real


def test_the_message_waits_for_its_file(drive, scripted_gguf: Path, slow: SlowFiles) -> None:  # noqa: F811
    notes = slow.make("notes.md")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        composer = window.chat_page.composer
        with questions(workspace) as asked:
            composer.files_given.emit([notes])
            assert [chip.label.text() for chip in composer.chips.reading] == ["notes.md · reading…"]
            assert composer.chips.isVisible()
            composer.set_text("What is in it?")
            QTest.keyClick(composer.edit, Qt.Key.Key_Return)
            assert composer.is_waiting
            assert composer.waiting_label.isVisible()
            assert composer.send_button.text() == "Stop"
            assert composer.text() == "What is in it?"
            assert unnamed(composer) == []
            await asyncio.sleep(0.2)
            assert asked == []
            await slow.let_go(notes)
            await until(lambda: asked, "the message goes")
            await answered(workspace)
        question = (await workspace.store.messages(workspace.chat.chat.id))[0]
        assert question.text == "What is in it?"
        assert [file.text for file in question.attachments] == ["a secret word"]
        assert composer.text() == ""
        assert not composer.edit.isReadOnly()

    drive(script, scripted_gguf)


def test_a_file_that_fails_keeps_the_message_back(drive, scripted_gguf: Path, slow: SlowFiles) -> None:  # noqa: F811
    good, bad = slow.make("good.txt"), slow.make("bad.bin", b"\x00\x01\xff" * 50)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        composer, notice = window.chat_page.composer, window.chat_page.notice
        with questions(workspace) as asked:
            composer.files_given.emit([good, bad])
            composer.set_text("Compare them")
            composer.send_button.click()
            await slow.let_go(good)
            await slow.let_go(bad)
            await until(lambda: not composer.chips.reading, "both are read")
            await until(lambda: notice.isVisible(), "it is said")
            assert "bad.bin is not a text file" in notice.label.text()
            assert not composer.is_waiting
            assert composer.send_button.text() == "Send"
            assert composer.text() == "Compare them"
            assert len(composer.chips.chips) == 1
            assert not workspace.chat.answering
            assert asked == []

    drive(script, scripted_gguf)


def test_waiting_can_be_ended_and_a_file_left_out(drive, scripted_gguf: Path, slow: SlowFiles) -> None:  # noqa: F811
    one, two = slow.make("one.txt"), slow.make("two.txt")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page, composer = window.chat_page, window.chat_page.composer
        with questions(workspace) as asked:
            composer.files_given.emit([one, two])
            composer.set_text("Hello")
            composer.send_button.click()
            page.stop_requested.emit()  # Escape
            assert not composer.is_waiting
            composer.send_button.click()
            composer.send_button.click()  # Stop
            assert not composer.is_waiting
            assert not composer.edit.isReadOnly()
            composer.send_button.click()
            await slow.let_go(one)
            await until(lambda: len(composer.chips.chips) == 1, "the first is there")
            assert composer.is_waiting
            composer.chips.reading[0].remove_button.click()
            await until(lambda: asked, "without the second one it goes")
            await answered(workspace)
        question = (await workspace.store.messages(workspace.chat.chat.id))[0]
        assert [file.name for file in question.attachments] == ["one.txt"]
        await slow.let_go(two)

    drive(script, scripted_gguf)


def test_all_refused_files_of_one_action_are_one_notice_that_stays_with_its_chat(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_gguf: Path,
    tmp_path: Path,
) -> None:
    bad = [tmp_path / f"picture{number}.bin" for number in range(8)]
    for path in bad:
        path.write_bytes(b"\x00\x01\xff" * 50)
    notes = tmp_path / "notes.txt"
    notes.write_text("words", encoding="utf-8")
    long = [tmp_path / f"long{number}.txt" for number in range(4)]
    for path in long:
        path.write_text(f"{path.name} " + "word " * 5000, encoding="utf-8")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        composer, notice = window.chat_page.composer, window.chat_page.notice
        composer.files_given.emit([*bad, notes])
        await until(lambda: notice.isVisible(), "they are refused")
        assert len(notice.notices) == 1
        for path in bad[:6]:
            assert path.name in notice.label.text()
        assert "2 more files" in notice.label.text()
        assert len(composer.chips.chips) == 1

        composer.files_given.emit([notes])
        await until(lambda: len(notice.notices) == 2, "it is said that it is there already")
        assert notice.label.text() == "notes.txt is attached already."
        assert len(composer.chips.chips) == 1

        composer.files_given.emit(long)
        await until(lambda: len(notice.notices) == 3, "they are too long")
        assert all(f"{path.name} has" in notice.label.text() for path in long)
        assert len(composer.chips.chips) == 1

        notice.show_notice("of the whole program")
        await workspace.chat.new_chat()
        assert [n.text for n in notice.notices] == ["of the whole program"]

    drive(script, scripted_gguf, context=4096)
