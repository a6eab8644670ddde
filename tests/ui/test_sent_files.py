"""Files that went with a message: chips, read by mouse and keyboard, and taken along to a new chat."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from clover_gui.chat.export import ExportFormat, export_text
from clover_gui.chat.message import Attachment, Message, MessageState, Role
from clover_gui.chat.store import ChatStore
from clover_gui.paths import DataFolder
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.overflow_bar import OverflowChoice
from clover_gui.ui.chat.question import Question
from clover_gui.ui.chat.text_dialog import TextDialog
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.ui.accessible_tree import unnamed
from tests.ui.test_chats import data, drive  # noqa: F401
from tests.ui.test_window import answered, ready, until

NOTES = Attachment("notes & plans.txt", "first line\nthe needle is here\n", 9)
TABLE = Attachment("table.csv", "a,b\n1,2\n", 0)


def chat_with_files(data: DataFolder, text: str = "What is in them?") -> int:  # noqa: F811
    store = ChatStore(data.chats)
    chat = store.create_chat(title="Files")
    asked = store.add_user_message(chat.id, text, (NOTES, TABLE))
    begun = store.begin_answer(chat.id, asked.id)
    store.finish_answer(begun.id, "Words.", "", MessageState.COMPLETE, None)
    store.close()
    return chat.id


def open_dialog() -> TextDialog:
    return next(w for w in QApplication.topLevelWidgets() if isinstance(w, TextDialog) and w.isVisible())


def names(view: MessageView) -> list[str]:
    return [chip.open_button.text() for chip in view.files.chips]


def test_chips_stand_above_the_words_and_show_what_was_sent(drive, data: DataFolder) -> None:  # noqa: F811
    chat_with_files(data)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        window.show_chat()
        await until(lambda: len(window.chat_page.messages) == 2, "the chat is shown")
        view = window.chat_page.messages.view_at(0)
        assert view.text() == "What is in them?"
        assert names(view) == ["notes && plans.txt · 9 tokens", "table.csv · 8 B"]
        chips = view.files
        assert chips.geometry().right() <= view.width()
        assert chips.geometry().bottom() < view.body.y()
        assert view.height() >= view.body.geometry().bottom()
        assert not any(chip.remove_button.isVisible() for chip in chips.chips)
        QTest.mouseClick(chips.chips[0].open_button, Qt.MouseButton.LeftButton)
        dialog = open_dialog()
        assert dialog.reader.text() == NOTES.text
        assert dialog.reader.isReadOnly()
        dialog.reject()
        button = chips.chips[1].open_button
        button.setFocus()
        QTest.keyClick(button, Qt.Key.Key_Space)
        assert open_dialog().reader.text() == TABLE.text
        open_dialog().reject()
        assert unnamed(view) == []

    drive(script)


def test_a_message_of_files_alone_has_no_empty_bubble(drive, data: DataFolder) -> None:  # noqa: F811
    chat_with_files(data, text="")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        window.show_chat()
        await until(lambda: len(window.chat_page.messages) == 2, "the chat is shown")
        view = window.chat_page.messages.view_at(0)
        assert view.files is not None
        assert view.files.isVisible()
        assert not view.body.isVisible()
        assert view.height() < 4 * view.files.height()
        before = view.width()
        window.resize(360, 600)
        await until(lambda: view.width() < before, "it is laid out anew")
        assert view.files.geometry().right() <= view.width()

    drive(script)


def test_a_changed_question_takes_its_files_to_a_new_chat(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_gguf: Path,
) -> None:
    store = ChatStore(data.chats)
    chat = store.create_chat(title="Long")
    for number in range(6):
        asked = store.add_user_message(chat.id, f"question {number} " + "word " * 130)
        begun = store.begin_answer(chat.id, asked.id)
        store.finish_answer(begun.id, "answer", "", MessageState.COMPLETE, None)
    last = store.add_user_message(chat.id, "short", (NOTES,))
    store.save_draft(chat.id, "a draft of its own")
    store.close()

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        await ready(window, workspace)
        workspace.chat.messages.edit(len(page.messages) - 1)
        page.composer.set_text("said differently")
        page.composer.send_button.click()
        await until(page.overflow.isVisible, "the question is asked")
        page.overflow.choose(OverflowChoice.NEW_CHAT)
        await until(lambda: workspace.chat.chat is not None and workspace.chat.chat.id != chat.id, "it moved")
        await until(lambda: workspace.chat.answering, "it is asked")
        await answered(workspace)
        (question, _answer) = await workspace.store.messages(workspace.chat.chat.id)
        assert (question.text, question.attachments) == ("said differently", (NOTES,))
        assert names(page.messages.view_at(0)) == ["notes && plans.txt · 9 tokens"]
        kept = await workspace.store.messages(chat.id)
        assert (kept[-1].id, kept[-1].text, kept[-1].attachments) == (last.id, "short", (NOTES,))
        assert await workspace.store.draft(chat.id) == "a draft of its own"

    drive(script, scripted_gguf, context=1024)


def test_a_question_that_stands_alone_has_its_words_and_files() -> None:
    asked = Message(1, 1, Role.USER, "What is in them?", attachments=(NOTES,))
    answer = Message(2, 1, Role.ASSISTANT, "Words.", parent_id=1)
    path = [asked, answer]
    assert Question("new", (TABLE,)).alone(path) == Question("new", (TABLE,))
    assert Question("differently", replacing=1).alone(path) == Question("differently", (NOTES,))
    assert Question(None).alone(path) == Question("What is in them?", (NOTES,))
    assert Question(None).alone([]) == Question("")


def test_files_go_out_and_come_back_with_the_chat(drive, data: DataFolder, tmp_path: Path) -> None:  # noqa: F811
    chat_id = chat_with_files(data)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        window.show_chat()
        await until(lambda: len(window.chat_page.messages) == 2, "the chat is shown")
        record = await workspace.store.record(chat_id)
        for form in (ExportFormat.MARKDOWN, ExportFormat.HTML):
            text = export_text(record, form)
            assert "the needle is here" in text
            assert "table.csv" in text
        path = tmp_path / "files.json"
        await workspace.chat.list.write(record, ExportFormat.JSON, path, replace=False)
        await workspace.chat.list.read(path)
        await until(lambda: workspace.chat.chat and workspace.chat.chat.id != chat_id, "it is open")
        assert names(window.chat_page.messages.view_at(0))[0].startswith("notes && plans.txt")
        back = await workspace.store.messages(workspace.chat.chat.id)
        assert back[0].attachments == (NOTES, TABLE)

    drive(script)
