"""Chats in the real window: list, search, files, versions, settings, and what does not fit."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from clover_gui import i18n, settings
from clover_gui.chat.export import ExportFormat
from clover_gui.chat.message import AnswerStats, Attachment, MessageState
from clover_gui.chat.store import ChatStore
from clover_gui.engine.protocol import ROLE_SYSTEM
from clover_gui.paths import DataFolder
from clover_gui.ui.application import Application
from clover_gui.ui.chat.chat_row import RowRole
from clover_gui.ui.chat.overflow_bar import OverflowChoice
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.shortcuts import key_help
from clover_gui.ui.workspace import Workspace
from tests.kit import scripts
from tests.ui.test_window import answered, ask, last_view, ready, thinks, until

Script = Callable[[MainWindow, Workspace], Awaitable[None]]
DAY_S = 86_400.0


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    folder = DataFolder(tmp_path / "data")
    folder.root.mkdir()
    i18n.set_language("en")
    settings.save(folder.settings, settings.Settings(language="en", theme="light"))
    return folder


@pytest.fixture
def drive(qapp: QApplication, data: DataFolder) -> Callable[..., None]:
    """``drive(script, model=...)`` runs the program once with the script in place of a person."""

    def run(script: Script, model: Path | str = "", *, context: int = 0) -> None:
        async def driver(window: MainWindow, workspace: Workspace) -> int:
            await script(window, workspace)
            return 0

        settings.save(data.settings, settings.Settings(language="en", theme="light", context=context))
        assert Application(qapp, str(model), data).run(driver) == 0

    return run


def fill(data: DataFolder, *chats: tuple[str, str, str]) -> list[int]:
    """Chats with title, question and answer, each a day older than the one before; their ids."""
    import time

    now = [time.time()]
    store = ChatStore(data.chats, clock=lambda: now[0])
    ids = []
    for title, question, answer in chats:
        chat = store.create_chat(title=title)
        asked = store.add_user_message(chat.id, question)
        begun = store.begin_answer(chat.id, asked.id)
        store.finish_answer(begun.id, answer, "", MessageState.COMPLETE, AnswerStats(tokens_written=3))
        ids.append(chat.id)
        now[0] -= DAY_S
    store.close()
    return ids


def dialog(name: str) -> QDialog:
    return next(w for w in QApplication.topLevelWidgets() if w.objectName() == name and w.isVisible())


def titles(window: MainWindow) -> list[str]:
    chats = window.chat_page.conversations.list
    return [chats.item(row).text() for row in range(chats.count())]


def written(window: MainWindow) -> str:
    """The text of the answer so far, "" before it begins."""
    return last_view(window).text() if len(window.chat_page.messages) > 1 else ""


def headings(window: MainWindow) -> list[str]:
    chats = window.chat_page.conversations.list
    return [chats.item(row).data(RowRole.HEADING) or "" for row in range(chats.count())]


# ---------------------------------------------------------------------- the list


def test_chats_stand_in_groups_and_the_pinned_ones_above(drive, data: DataFolder) -> None:
    fill(data, ("New", "q", "a"), ("Older", "q", "a"), ("Oldest", "q", "a"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: titles(window) == ["New", "Older", "Oldest"], "they are listed")
        assert headings(window)[:2] == ["Today", "Yesterday"]
        chats = window.chat_page.conversations
        item = chats.list.item(2)
        menu = chats.menu_for(item)
        next(action for action in menu.actions() if action.text() == "Pin").trigger()
        menu.close()
        await until(lambda: titles(window) == ["Oldest", "New", "Older"], "it is pinned")
        assert headings(window) == ["Pinned", "Today", "Yesterday"]
        assert "Pinned" in chats.list.item(0).data(Qt.ItemDataRole.AccessibleTextRole)

    drive(script)


def test_a_search_finds_words_of_messages_and_opens_the_message(drive, data: DataFolder) -> None:
    fill(data, ("Cats", "What do cats eat?", "Fish."), ("Dogs", "What do dogs eat?", "A hidden <b>bone</b>."))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        chats = window.chat_page.conversations
        await until(lambda: len(titles(window)) == 2, "they are listed")
        window.show_chat()
        QTest.keyClicks(chats.search, "hidden bo")
        await until(lambda: titles(window) == ["Dogs"], "one is left")
        assert "bone" in chats.list.item(0).data(RowRole.SNIPPET)
        assert "<b>bone" in chats.list.item(0).data(Qt.ItemDataRole.AccessibleTextRole)
        QTest.keyClick(chats.search, Qt.Key.Key_Return)
        assert chats.list.hasFocus()
        QTest.keyClick(chats.list, Qt.Key.Key_Return)
        await until(lambda: workspace.chat.chat.title == "Dogs", "it is open")
        window.grab()  # draws the snippet
        chats.search.setText("nowhere to be found")
        await until(lambda: chats.nothing.isVisible(), "it says that nothing was found")
        QTest.keyClick(chats.search, Qt.Key.Key_Escape)
        await until(lambda: len(titles(window)) == 2, "all are back")

    drive(script)


def test_a_hit_says_where_it_is_and_thoughts_are_opened(drive, data: DataFolder) -> None:
    store = ChatStore(data.chats)
    for title, file, thoughts in (("Files", "zebras", ""), ("Thoughts", "", "zebras perhaps")):
        chat = store.create_chat(title=title)
        files = [Attachment("zoo.md", file)] if file else []
        asked = store.add_user_message(chat.id, "q", files)
        begun = store.begin_answer(chat.id, asked.id)
        store.finish_answer(begun.id, "a", thoughts, MessageState.COMPLETE, None)
    store.close()

    async def script(window: MainWindow, workspace: Workspace) -> None:
        chats = window.chat_page.conversations
        await until(lambda: len(titles(window)) == 2, "they are listed")
        window.show_chat()
        await workspace.chat.open_chat(1)
        chats.search.setText("zebras")
        await until(lambda: chats.list.item(0).data(RowRole.SNIPPET), "they are found")
        assert [chats.list.item(row).data(RowRole.PLACE) for row in range(2)] == [
            "In the thoughts",
            "In the file zoo.md",
        ]
        spoken = chats.list.item(1).data(Qt.ItemDataRole.AccessibleTextRole)
        assert spoken.endswith(": In the file zoo.md: zebras")
        window.grab()
        chats.list.opened.emit(chats.list.item(0))
        await until(lambda: workspace.chat.chat.title == "Thoughts", "it is open")
        await until(lambda: last_view(window).thinking.is_open, "its thoughts are too")

    drive(script)


def test_the_list_by_keyboard(drive, data: DataFolder) -> None:
    fill(data, ("One", "q", "a"), ("Two", "q", "a"), ("Three", "q", "a"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        chats = page.conversations.list
        await until(lambda: len(titles(window)) == 3, "they are listed")
        window.show_chat()
        page.conversations.focus_list()
        QTest.keyClick(chats, Qt.Key.Key_Down)
        assert workspace.chat.chat.title == "One"  # arrows only look
        QTest.keyClick(chats, Qt.Key.Key_Return)
        await until(lambda: len(page.messages) and workspace.chat.chat.title == "Two", "Enter opens")
        page.step_requested.emit(1)
        await until(lambda: workspace.chat.chat.title == "Three", "the next one")
        page.step_requested.emit(1)
        page.step_requested.emit(-1)
        await until(lambda: workspace.chat.chat.title == "Two", "the one before")
        page.conversations.focus_list()
        key = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(0, 0), QPoint(0, 0))
        QApplication.sendEvent(chats.viewport(), key)
        menu = QApplication.activePopupWidget()
        assert menu is not None
        assert [a.text() for a in menu.actions() if a.text()] == [
            "Open",
            "Rename",
            "Pin",
            "Export as",
            "Delete",
        ]
        menu.close()
        QTest.keyClick(chats, Qt.Key.Key_Delete)
        await until(lambda: len(titles(window)) == 2, "it is deleted")

    drive(script)


def test_what_was_deleted_is_gone_after_the_next_start(drive, data: DataFolder) -> None:
    (chat_id,) = fill(data, ("Secret", "q", "a"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: len(titles(window)) == 1, "it is listed")
        window.chat_page.conversations.delete_requested.emit(chat_id)
        await until(lambda: not titles(window), "it is deleted")

    async def afterwards(window: MainWindow, workspace: Workspace) -> None:
        return None

    drive(script)
    drive(afterwards)
    with sqlite3.connect(data.chats) as database:
        assert database.execute("SELECT count(*) FROM messages").fetchone()[0] == 0


# ---------------------------------------------------------------------- files out and in


def test_export_and_import(drive, data: DataFolder, tmp_path: Path) -> None:
    (chat_id,) = fill(data, ("Cats", "What do cats eat?", "Fish."))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        presenter = workspace.chat.list
        await until(lambda: len(titles(window)) == 1, "it is listed")
        record = await workspace.store.record(chat_id)
        for form in ExportFormat:
            await presenter.write(record, form, tmp_path / f"cats.{form.value}", replace=False)
            assert "Fish." in (tmp_path / f"cats.{form.value}").read_text(encoding="utf-8")
        notice = window.chat_page.notice
        assert "cats.json" in notice.label.text()
        await presenter.write(record, ExportFormat.HTML, tmp_path / "cats.html", replace=False)
        assert "nothing was replaced" in notice.label.text()
        await presenter.read(tmp_path / "cats.json")
        await until(lambda: titles(window) == ["Cats", "Cats"], "there are two now")
        await until(lambda: workspace.chat.chat.id != chat_id, "the new one is open")
        assert last_view(window).text() == "Fish."
        await presenter.read(tmp_path / "cats.html")
        assert "not a chat" in notice.label.text()

    drive(script)


def test_the_dialog_proposes_a_name_and_asks_before_it_replaces(drive, data: DataFolder) -> None:
    fill(data, ("What is 1/2?", "q", "a"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: len(titles(window)) == 1, "it is listed")
        QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs)
        window.chat_page.export_requested.emit(ExportFormat.MARKDOWN)
        await until(lambda: QApplication.activeModalWidget() is not None, "the dialog")
        chooser = QApplication.activeModalWidget()
        assert chooser.selectedFiles()[0].endswith("What is 1 2.md")
        assert not chooser.testOption(chooser.Option.DontConfirmOverwrite)
        chooser.reject()
        QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs, False)

    drive(script)


# ---------------------------------------------------------------------- files with a message


def test_files_become_chips_with_their_tokens_and_go_into_the_prompt(
    drive, data: DataFolder, scripted_gguf: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("a secret word", encoding="utf-8")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        composer = window.chat_page.composer
        dropped = QMimeData()
        dropped.setUrls([QUrl.fromLocalFile(str(notes)), QUrl.fromLocalFile(str(scripted_gguf))])
        composer.edit.insertFromMimeData(dropped)
        await until(lambda: len(composer.chips.chips) == 1, "the text file is there")
        await until(lambda: "tokens" in composer.chips.chips[0].open_button.text(), "it is counted")
        await until(lambda: window.chat_page.notice.isVisible(), "the other one is refused")
        assert "not a text file" in window.chat_page.notice.label.text()
        pasted = QMimeData()
        pasted.setText("word " * 801)
        composer.edit.insertFromMimeData(pasted)
        await until(lambda: len(composer.chips.chips) == 2, "a long text is a chip")
        assert composer.text() == ""
        assert composer.send_button.isEnabled()
        composer.chips.chips[1].remove_button.click()
        assert len(composer.chips.chips) == 1
        await ask(window, workspace, "What is in it?")
        assert composer.chips.chips == []
        await answered(workspace)
        question = (await workspace.store.messages(workspace.chat.chat.id))[0]
        assert question.attachments[0].text == "a secret word"
        chips = window.chat_page.messages.view_at(0).files.chips
        assert "notes.md" in chips[0].open_button.text()
        assert last_view(window).text() == scripts.ANSWER_TEXT

    drive(script, scripted_gguf)


def test_a_file_that_fits_into_no_message_is_refused_with_the_number(
    drive, scripted_gguf: Path, tmp_path: Path
) -> None:
    long = tmp_path / "long.txt"
    long.write_text("word " * 5000, encoding="utf-8")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        composer = window.chat_page.composer
        composer.files_given.emit([long])
        await until(lambda: window.chat_page.notice.isVisible(), "it is refused")
        text = window.chat_page.notice.label.text()
        assert "long.txt has" in text
        assert "tokens; the context has room for" in text
        assert composer.chips.chips == []

    drive(script, scripted_gguf, context=4096)


def test_draft_and_files_of_a_new_chat_survive_a_restart(drive, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("kept", encoding="utf-8")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: workspace.chat is not None, "the page works")
        window.chat_page.composer.set_text("half a thought")
        window.chat_page.composer.files_given.emit([notes])
        await until(lambda: window.chat_page.composer.chips.chips, "the file is there")

    async def afterwards(window: MainWindow, workspace: Workspace) -> None:
        composer = window.chat_page.composer
        await until(lambda: composer.text() == "half a thought", "the draft is back")
        assert [chip.open_button.text() for chip in composer.chips.chips] == ["notes.txt · 4 B"]

    drive(script)
    drive(afterwards)


# ---------------------------------------------------------------------- versions


def test_a_changed_question_is_a_branch_and_arrows_lead_back(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        await ask(window, workspace, "One")
        await answered(workspace)
        await ask(window, workspace, "Two")
        await answered(workspace)
        page.composer.set_text("")
        QTest.keyClick(page.composer.edit, Qt.Key.Key_Up)
        assert page.composer.text() == "Two"
        assert page.composer.editing_label.isVisible()
        page.stop_requested.emit()
        assert not page.composer.editing_label.isVisible()
        assert page.composer.text() == ""
        page.composer.set_text("a draft")
        page.messages.edit_requested.emit(0)
        assert page.composer.text() == "One"
        page.composer.set_text("Uno")
        page.composer.send_button.click()
        await until(lambda: workspace.chat.answering, "it is asked")
        await answered(workspace)
        assert page.composer.text() == "a draft"
        messages = await workspace.store.messages(workspace.chat.chat.id)
        assert [m.text for m in messages] == ["Uno", scripts.ANSWER_TEXT]
        assert len(page.messages) == 2
        page.messages.previous_version_requested.emit(0)
        await until(lambda: len(page.messages) == 4, "the first version and what followed")
        assert [page.messages.view_at(i).text() for i in (0, 2)] == ["One", "Two"]
        page.messages.next_version_requested.emit(0)
        await until(lambda: page.messages.view_at(0).text() == "Uno", "forth again")
        page.messages.next_version_requested.emit(0)  # there is none: no effect

    drive(script, scripted_gguf)


def test_answers_are_versions_of_each_other(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "One")
        await answered(workspace)
        first = (await workspace.store.messages(workspace.chat.chat.id))[1].id
        window.chat_page.regenerate_requested.emit()
        await until(lambda: workspace.chat.answering, "it answers again")
        await answered(workspace)
        page = window.chat_page.messages
        page.previous_version_requested.emit(1)
        await asyncio.sleep(0)
        await until(lambda: len(page) == 2, "shown")
        path = [message.id for message in await workspace.store.messages(workspace.chat.chat.id)]
        assert path[1] == first

    drive(script, scripted_gguf)


def test_a_quotation_goes_into_the_field(drive) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: workspace.chat is not None, "the page works")
        window.chat_page.composer.set_text("Before")
        window.chat_page.messages.quote_requested.emit("one\n\ntwo")
        assert window.chat_page.composer.text() == "Before\n\n> one\n>\n> two\n\n"

    drive(script)


# ---------------------------------------------------------------------- what does not fit


def long_chat(data: DataFolder, turns: int, words: int) -> int:
    store = ChatStore(data.chats)
    chat = store.create_chat(title="Long", system_prompt="Be kind.")
    for number in range(turns):
        asked = store.add_user_message(chat.id, f"question {number} " + "word " * words)
        begun = store.begin_answer(chat.id, asked.id)
        store.finish_answer(begun.id, "answer", "", MessageState.COMPLETE, None)
    store.close()
    return chat.id


def test_nothing_is_sent_or_dropped_without_being_asked(drive, data: DataFolder, scripted_gguf: Path) -> None:
    chat_id = long_chat(data, turns=6, words=130)
    sent: list[tuple[str, ...]] = []

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        real = workspace.engine.generate

        def generate(messages, **rest: Any):
            sent.append(tuple(message.role for message in messages))
            return real(messages, **rest)

        workspace.engine.generate = generate
        await ask(window, workspace, "The newest question")
        await until(lambda: page.overflow.isVisible(), "the question is asked")
        assert "does not fit" in page.overflow.label.text()
        assert page.overflow.drop_button.hasFocus()
        page.overflow.choose(OverflowChoice.CANCEL)
        await answered(workspace)
        assert sent == []
        assert page.composer.text() == "The newest question"
        assert len(await workspace.store.messages(chat_id)) == 12

        page.composer.send_button.click()
        await until(lambda: page.overflow.isVisible(), "it is asked again")
        page.stop_requested.emit()  # Escape
        await answered(workspace)
        assert sent == []

        page.composer.send_button.click()
        await until(lambda: page.overflow.isVisible(), "and again")
        page.overflow.drop_button.click()
        await answered(workspace)
        assert len(sent) == 1
        assert sent[0][0] == ROLE_SYSTEM
        messages = await workspace.store.messages(chat_id)
        assert len(messages) == 14
        marked = next(i for i, m in enumerate(messages) if m.begins_context)
        assert len(sent[0]) == 1 + 13 - marked
        assert last_view(window).text() == scripts.ANSWER_TEXT
        notice = page.messages.view_at(marked - 1).notice
        assert notice is not None
        assert "not sent to the model" in notice.label.text()

    drive(script, scripted_gguf, context=4096)


def test_what_does_not_fit_can_be_asked_in_a_new_chat(drive, data: DataFolder, scripted_gguf: Path) -> None:
    chat_id = long_chat(data, turns=6, words=130)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        await ask(window, workspace, "The newest question")
        await until(lambda: page.overflow.isVisible(), "the question is asked")
        page.overflow.new_button.click()
        await until(
            lambda: workspace.chat.chat is not None and workspace.chat.chat.id != chat_id, "a new chat"
        )
        await answered(workspace)
        assert page.messages.view_at(0).text() == "The newest question"
        assert last_view(window).text() == scripts.ANSWER_TEXT
        assert len(await workspace.store.messages(chat_id)) == 12
        assert await workspace.store.draft(chat_id) == ""

    drive(script, scripted_gguf, context=4096)


def test_it_is_said_once_that_the_context_gets_tight(
    drive, data: DataFolder, scripted_long_gguf: Path
) -> None:
    """From four fifths of the context on, with a way to a new chat."""
    store = ChatStore(data.chats)
    chat = store.create_chat(title="Nearly full")
    store.add_user_message(chat.id, "word " * 740)
    store.close()

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        page.notice.dismiss()
        page.regenerate_requested.emit()
        await until(lambda: workspace.chat.answering, "it answers")
        await answered(workspace)
        if page.overflow.isVisible():
            pytest.fail(page.overflow.label.text())
        messages = await workspace.store.messages(chat.id)
        assert 0.8 * 4096 <= messages[-1].stats.context_used < 4096
        assert "% full" in page.notice.label.text()
        page.notice.action_button.click()
        await until(lambda: workspace.chat.chat is None, "a new chat")

    drive(script, scripted_long_gguf, context=4096)


def test_a_message_that_is_too_long_alone_comes_back(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        text = "word " * 5000
        await ask(window, workspace, text)
        await until(lambda: page.overflow.isVisible(), "the question is asked")
        assert page.overflow.drop_button.isHidden()
        assert page.overflow.new_button.isHidden()
        page.overflow.cancel_button.click()
        await answered(workspace)
        assert page.composer.text() == text
        assert workspace.chat.chat is None
        assert titles(window) == []

    drive(script, scripted_gguf, context=4096)


# ---------------------------------------------------------------------- settings of a chat, and help


def test_instructions_and_settings_go_with_the_chat(drive, data: DataFolder, scripted_gguf: Path) -> None:
    seen: list[tuple[object, object, object]] = []

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        real = workspace.engine.generate

        def generate(messages, **rest: Any):
            seen.append((messages[0].content, rest["sampling"], rest["limits"]))
            return real(messages, **rest)

        workspace.engine.generate = generate
        page.composer.options_button.click()
        panel = dialog("optionsDialog")
        panel.instructions.setPlainText("Be brief.")
        panel.sliders["temperature"].slider.setValue(4)
        panel.sliders["thinking_tokens"].slider.setValue(1)
        panel.save_button.click()
        await until(lambda: "changed" in page.composer.options_button.toolTip(), "the button shows it")
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        told, sampling, limits = seen[0]
        assert told == "Be brief."
        assert sampling.temperature == 0.2
        assert limits.thinking_tokens == 256
        message = (await workspace.store.messages(workspace.chat.chat.id))[1]
        assert "temperature 0.2" in message.stats.settings
        assert message.stats.model_file == scripted_gguf.name
        page.details_requested.emit()
        details = dialog("detailsDialog")
        assert scripted_gguf.name in details.text()
        details.reject()
        page.composer.options_button.click()
        panel = dialog("optionsDialog")
        assert panel.sliders["temperature"].value == 0.2
        panel.defaults_button.click()
        assert panel.options().is_default
        panel.save_button.click()
        await until(lambda: workspace.chat.chat.options.is_default, "back to the defaults")
        assert workspace.chat.chat.system_prompt == "Be brief."

    drive(script, scripted_gguf)


def test_only_json_is_written_when_it_is_asked_for(drive, tiny_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.composer.options_button.click()
        panel = dialog("optionsDialog")
        panel.json_only.setChecked(True)
        panel.sliders["answer_tokens"].slider.setValue(1)
        panel.sliders["thinking_tokens"].slider.setValue(1)
        panel.save_button.click()
        await until(lambda: "changed" in window.chat_page.composer.options_button.toolTip(), "it is set")
        if window.chat_page.composer.thinking:
            window.chat_page.composer.thinking_button.click()
        await ask(window, workspace, "A list")
        await until(lambda: not workspace.chat.answering or len(written(window)) > 20, "something is written")
        workspace.chat.stop()
        await answered(workspace)
        text = last_view(window).text().strip()
        assert text[:1] in "[{"
        state = (await workspace.store.messages(workspace.chat.chat.id))[-1].state
        if state is MessageState.COMPLETE:
            json.loads(text)

    drive(script, tiny_gguf)


def test_help_find_and_copy(drive, data: DataFolder) -> None:
    fill(data, ("Cats", "What do cats eat?", "Fish and more fish."))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        await until(lambda: len(page.messages) == 2, "the chat is open")
        window.show_chat()
        window.show_help()
        sheet = dialog("helpSheet")
        assert "Ctrl+Shift+F: Search all chats" in sheet.text()
        sheet.copy_button.click()
        assert "Ctrl+Shift+F" in QGuiApplication.clipboard().text()
        sheet.reject()
        page.find_bar.open()
        QTest.keyClicks(page.find_bar.field, "fish")
        assert page.find_bar.count.text() == "1 of 2"
        page._escape()
        assert page.find_bar.isHidden()
        page.copy_requested.emit()
        assert QGuiApplication.clipboard().text() == "Fish and more fish."
        menu = page.menu()
        assert all(action.text() or action.isSeparator() for action in menu.actions())
        menu.close()

    drive(script)


def test_nothing_runs_while_nothing_happens(drive, data: DataFolder) -> None:
    """Timers that fire again and again keep a processor awake."""
    fill(data, ("Cats", "What do cats eat?", "Fish."))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        from PySide6.QtCore import QTimer

        await until(lambda: len(window.chat_page.messages) == 2, "the chat is open")
        window.show_chat()
        repeating = [
            timer
            for timer in window.findChildren(QTimer)
            if not timer.isSingleShot() and timer.isActive() and timer.interval() < 1000
        ]
        assert repeating == []

        def busy() -> list[QTimer]:
            return [timer for timer in window.findChildren(QTimer) if timer.isActive()]

        await until(lambda: not busy(), "everything has come to rest")

    drive(script)


def test_thinking_is_remembered_for_each_chat(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        await ask(window, workspace, "First")
        await until(lambda: thinks(window), "it thinks")
        await answered(workspace)
        first = workspace.chat.chat.id
        page.conversations.new_requested.emit()
        await until(lambda: workspace.chat.chat is None, "a new chat")
        page.composer.thinking_button.click()
        await ask(window, workspace, "Second")
        await answered(workspace)
        page.conversations.chosen.emit(first, 0)
        await until(lambda: workspace.chat.chat.id == first and page.composer.thinking, "switched on again")

    drive(script, scripted_gguf)


def test_the_report_is_seen_before_it_is_saved(
    drive, data: DataFolder, scripted_gguf: Path, tmp_path: Path
) -> None:
    fill(data, ("Secret title", "secret question", "secret answer"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.diagnostics_requested.emit()
        report = dialog("diagnosticsDialog")
        await until(lambda: report.save_button.isEnabled(), "it is ready")
        text = report.text.toPlainText()
        assert scripted_gguf.name in text
        assert str(Path.home()) not in text
        assert "secret" not in text.lower()
        for part in ("Machine", "Engine", "Plan", "Buffers", "Settings", "Log of the window"):
            assert f"== {part}\n" in text
        report.write(tmp_path / "report.txt")
        assert (tmp_path / "report.txt").read_text(encoding="utf-8") == text
        report.write(tmp_path)
        assert "could not be written" in report.status.text()
        report.reject()

    drive(script, scripted_gguf)


def test_every_control_of_every_dialog_has_a_name(drive, data: DataFolder, scripted_gguf: Path) -> None:
    """And no two in one dialog have the same."""
    fill(data, ("Cats", "What do cats eat?", "Fish."))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        page.composer.options_requested.emit()
        page.help_requested.emit()
        page.details_requested.emit()
        page.diagnostics_requested.emit()
        page.overflow.ask("It does not fit.", 2, has_history=True)
        places = [
            dialog(name) for name in ("optionsDialog", "helpSheet", "detailsDialog", "diagnosticsDialog")
        ]
        for place in (*places, page.overflow, page.composer, page.conversations):
            names = [
                _name(widget)
                for widget in place.findChildren(QWidget)
                if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
                and widget.isVisibleTo(place)
                and widget.isEnabled()
            ]
            assert names
            assert "" not in names, (place.objectName(), names)
            assert len(set(names)) == len(names), (place.objectName(), names)
        for place in places:
            place.reject()
        page.overflow.choose(OverflowChoice.CANCEL)

    drive(script, scripted_gguf)


def _name(widget: QWidget) -> str:
    text = getattr(widget, "text", None)
    return widget.accessibleName() or (text() if callable(text) else "")


def test_every_key_of_the_window_is_on_the_help_sheet(drive) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        shown = {entry.keys for _title, entries in key_help() for entry in entries}
        bound = {
            shortcut.key().toString(QKeySequence.SequenceFormat.NativeText)
            for shortcut in window.findChildren(QShortcut)
        }
        assert bound - {""} <= shown
        assert len(bound) > 15

    drive(script)
