"""What must not go wrong between chats and with an engine that dies or freezes, in the real window."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from clover_gui.chat.message import AnswerStats, MessageState
from clover_gui.chat.store import ChatStore
from clover_gui.paths import DataFolder
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.kit import scripts
from tests.ui.test_chats import data, drive, fill  # noqa: F401
from tests.ui.test_window import answered, ask, last_view, ready, until


async def settled(window: MainWindow, workspace: Workspace) -> None:
    """The last chat that was wished for is on the page."""
    wished = workspace.chat.list
    await until(
        lambda: (workspace.chat.chat.id if workspace.chat.chat else None) == wished.current_id, "it is shown"
    )


def send(window: MainWindow, text: str) -> None:
    window.chat_page.composer.set_text(text)
    QTest.keyClick(window.chat_page.composer.edit, Qt.Key.Key_Return)


# ---------------------------------------------------------------------- drafts


def test_drafts_stay_with_their_chats_however_fast_one_steps(drive, data: DataFolder) -> None:  # noqa: F811
    ids = fill(data, ("A", "q", "a"), ("B", "q", "a"), ("C", "q", "a"))
    drafts = {chat_id: f"draft of {chat_id}" for chat_id in ids}

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        window.show_chat()
        for chat_id in ids:
            await workspace.chat.open_chat(chat_id)
            page.composer.set_text(drafts[chat_id])
        for number in range(30):
            page.step_requested.emit(-1 if number % 5 < 2 else 1)
            if number % 7 == 0:
                page.conversations.new_requested.emit()
            await asyncio.sleep(0.010 + 0.005 * (number % 3))
        await settled(window, workspace)
        for chat_id in ids:
            await workspace.chat.open_chat(chat_id)
            assert page.composer.text() == drafts[chat_id]
        await workspace.chat.new_chat()
        assert page.composer.text() == ""

    drive(script)
    store = ChatStore(data.chats)
    assert {chat_id: store.draft(chat_id) for chat_id in ids} == drafts
    store.close()


def test_words_typed_while_a_chat_is_left_stay_in_it(drive, data: DataFolder) -> None:  # noqa: F811
    first, second = fill(data, ("A", "q", "a"), ("B", "q", "a"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page, chat = window.chat_page, workspace.chat
        await chat.open_chat(first)
        task = asyncio.ensure_future(chat.open_chat(second))
        await asyncio.sleep(0)
        page.composer.set_text("late words")
        await task
        assert page.composer.text() == ""
        await chat.open_chat(first)
        assert page.composer.text() == "late words"

    drive(script)


def test_a_file_stays_with_the_chat_it_was_given_to(drive, data: DataFolder, tmp_path: Path) -> None:  # noqa: F811
    first, second = fill(data, ("A", "q", "a"), ("B", "q", "a"))
    path = tmp_path / "notes.txt"
    path.write_text("words\n" * 10_000, encoding="utf-8")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        composer, chat = window.chat_page.composer, workspace.chat
        await chat.open_chat(first)
        composer.files_given.emit([path])
        await chat.open_chat(second)
        assert composer.chips.isHidden()
        await chat.open_chat(first)
        assert not composer.chips.isHidden()

    drive(script)
    store = ChatStore(data.chats)
    assert [file.name for file in store.draft_attachments(first)] == ["notes.txt"]
    assert not store.draft_attachments(second)
    store.close()


def test_the_newest_of_many_wishes_wins(drive, data: DataFolder) -> None:  # noqa: F811
    first, second = fill(data, ("A", "q", "a"), ("B", "q", "a"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        chat = workspace.chat
        await asyncio.gather(*(chat.open_chat(i) for i in [first, second] * 5), chat.new_chat())
        assert chat.chat is None
        await asyncio.gather(chat.new_chat(), *(chat.open_chat(i) for i in [first, second] * 5))
        assert chat.chat.id == second == chat.list.current_id

    drive(script)


# ---------------------------------------------------------------------- the engine


def test_an_engine_killed_while_idle_is_back_for_the_next_message(drive, scripted_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        os.kill(workspace.engine.pid, signal.SIGKILL)
        await ask(window, workspace, "Sent before the end was seen")
        await answered(workspace)
        assert last_view(window).text() == scripts.ANSWER_TEXT
        dead = workspace.engine.pid
        os.kill(dead, signal.SIGKILL)
        await until(lambda: workspace.engine.pid != dead, "the end is seen")
        assert "started again" in window.chat_page.notice.label.text()
        await until(lambda: "ready again" in window.chat_page.notice.label.text(), "it is back by itself")
        await ask(window, workspace, "Sent afterwards")
        await answered(workspace)
        assert last_view(window).text() == scripts.ANSWER_TEXT
        assert len(window.chat_page.messages) == 4

    drive(script, scripted_gguf)


def test_an_engine_killed_again_during_its_recovery(drive, scripted_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page, engine = window.chat_page, workspace.engine
        dead = engine.pid
        os.kill(dead, signal.SIGKILL)
        await until(lambda: engine.pid not in (dead, None), "it starts again")
        os.kill(engine.pid, signal.SIGKILL)
        await until(lambda: page.notice.action_button.isVisible(), "it is said")
        assert engine.loaded is None
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        assert last_view(window).text() == scripts.ANSWER_TEXT
        assert page.composer.text() == ""

    drive(script, scripted_gguf)


def test_a_model_that_is_gone_when_the_engine_dies(drive, scripted_gguf: Path, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "model.gguf"
    shutil.copy(scripted_gguf, path)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        path.unlink()
        os.kill(workspace.engine.pid, signal.SIGKILL)
        await until(lambda: page.notice.action_button.isVisible(), "it is said")
        send(window, "Keep these words")
        await until(lambda: not workspace.chat.answering, "it is not sent")
        assert page.composer.text() == "Keep these words"
        assert "model.gguf" in page.notice.label.text()
        shutil.copy(scripted_gguf, path)
        QTest.keyClick(page.composer.edit, Qt.Key.Key_Return)
        await until(lambda: len(page.messages) == 2, "the file is there again, and it is sent")
        await answered(workspace)
        assert last_view(window).text() == scripts.ANSWER_TEXT
        path.unlink()
        os.kill(workspace.engine.pid, signal.SIGKILL)
        await until(lambda: page.notice.action_button.isVisible(), "it is said again")
        QTest.mouseClick(page.notice.action_button, Qt.MouseButton.LeftButton)
        assert window.pages.currentWidget() is window.setup_page

    drive(script, path)


def test_an_engine_frozen_while_it_counts_is_replaced(drive, scripted_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page, engine = window.chat_page, workspace.engine
        deaf = engine.pid
        os.kill(deaf, signal.SIGSTOP)
        await ask(window, workspace, "Keep these words")
        await asyncio.sleep(0.05)
        QTest.mouseClick(page.composer.send_button, Qt.MouseButton.LeftButton)
        await answered(workspace)
        assert page.composer.text() == "Keep these words"
        await until(lambda: engine.pid != deaf and engine.loaded is not None, "it is replaced")
        QTest.keyClick(page.composer.edit, Qt.Key.Key_Return)
        await until(lambda: len(page.messages) == 2, "it is sent")
        await answered(workspace)
        assert last_view(window).text() == scripts.ANSWER_TEXT

    drive(script, scripted_gguf)


# ---------------------------------------------------------------------- focus and gauges


def test_the_field_has_the_keyboard_when_the_page_appears(drive, scripted_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: window.pages.currentWidget() is window.chat_page, "the page appears")
        edit = window.chat_page.composer.edit
        for letter in "typed at once":
            QTest.keyClicks(QApplication.focusWidget() or window, letter)
            await asyncio.sleep(0.01)
        await ready(window, workspace)
        assert edit.hasFocus()
        assert edit.toPlainText() == "typed at once"
        window.chat_page.conversations.list.setFocus()
        QTest.mouseClick(window.chat_page.composer, Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
        assert edit.hasFocus()
        window.show_setup()
        window.setup_page.back_button.setFocus()
        window.show_chat()
        await until(edit.hasFocus, "the field has the keyboard again")

    drive(script, scripted_gguf)


def test_the_context_gauge_knows_the_chat(drive, data: DataFolder, scripted_gguf: Path) -> None:  # noqa: F811
    store = ChatStore(data.chats)
    chat = store.create_chat(title="Long")
    begun = store.begin_answer(chat.id, store.add_user_message(chat.id, "q").id)
    store.finish_answer(begun.id, "a", "", MessageState.COMPLETE, AnswerStats(context_used=123))
    store.close()

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        label = window.chat_page.gauges.context.value_label
        assert label.text().startswith("123 ")
        await workspace.chat.new_chat()
        assert label.text().startswith("0 ")
        await workspace.chat.open_chat(chat.id)
        assert label.text().startswith("123 ")

    drive(script, scripted_gguf)
