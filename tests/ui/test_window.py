"""The real window on the real engine child: what a person sees and does in the first minutes."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from clover_gui import i18n, settings
from clover_gui.chat.message import MessageState
from clover_gui.paths import DataFolder
from clover_gui.ui.application import Application
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.settings.general_page import GeneralPage
from clover_gui.ui.widgets.prose_view import ProseView
from clover_gui.ui.workspace import Workspace
from tests.kit import scripts

Script = Callable[[MainWindow, Workspace], Awaitable[None]]
PATIENCE_S = 60.0


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

    def run(script: Script, model: Path | str = "", folder: DataFolder | None = None) -> None:
        async def driver(window: MainWindow, workspace: Workspace) -> int:
            await script(window, workspace)
            return 0

        assert Application(qapp, str(model), folder or data).run(driver) == 0

    return run


async def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for something to be true; fails by name after a minute."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"never happened: {what or condition}")


async def ready(window: MainWindow, workspace: Workspace) -> None:
    await until(
        lambda: workspace.engine.loaded is not None and window.pages.currentWidget() is window.chat_page,
        "the model is loaded",
    )


async def ask(window: MainWindow, workspace: Workspace, text: str) -> None:
    """Type and send as a person does, and wait until the answer begins to be worked on."""
    window.chat_page.composer.set_text(text)
    QTest.keyClick(window.chat_page.composer.edit, Qt.Key.Key_Return)
    assert workspace.chat is not None
    await until(lambda: workspace.chat.answering, "the question is sent")


async def answered(workspace: Workspace) -> None:
    await until(lambda: not workspace.chat.answering, "the answer is complete")


def last_view(window: MainWindow):
    messages = window.chat_page.messages
    return messages.view_at(len(messages) - 1)


def thinks(window: MainWindow) -> bool:
    """Whether the last message is an answer with thinking in it."""
    return len(window.chat_page.messages) > 0 and last_view(window).thinking is not None


def test_first_answer_is_streamed_split_and_kept(drive, data: DataFolder, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        assert "Scripted" in window.windowTitle()
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        view = last_view(window)
        assert view.text() == scripts.ANSWER_TEXT
        assert view.thinking is not None
        assert view.thinking.text() == scripts.THOUGHT_TEXT
        assert not view.thinking.is_open
        gauges = window.chat_page.gauges
        assert "tok/s" in gauges.speed.value_label.text()
        assert not gauges.context.value_label.text().startswith("0 ")
        assert gauges.vram.value_label.text() == "none"
        await until(lambda: "of" in gauges.ram.value_label.text(), "the RAM is shown")

    async def afterwards(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: len(window.chat_page.messages) == 2, "the chat is there again")
        assert last_view(window).text() == scripts.ANSWER_TEXT
        assert window.chat_page.conversations.list.item(0).text() == "Hello?"
        await ready(window, workspace)

    drive(script, scripted_gguf)
    drive(afterwards)


def test_second_message_and_thinking_switched_off(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "One")
        await answered(workspace)
        QTest.mouseClick(window.chat_page.composer.thinking_button, Qt.MouseButton.LeftButton)
        assert window.chat_page.composer.thinking is False
        await ask(window, workspace, "Two")
        await answered(workspace)
        view = last_view(window)
        assert view.text() == scripts.ANSWER_TEXT
        assert view.thinking is None
        assert len(window.chat_page.messages) == 4

    drive(script, scripted_gguf)


def test_thinking_cannot_be_switched_where_the_file_has_no_template(drive, no_template_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        button = window.chat_page.composer.thinking_button
        assert not button.isEnabled()
        assert "template" in button.toolTip()
        assert "no chat template" in window.chat_page.notice.label.text()
        await ask(window, workspace, "Hello")
        await answered(workspace)
        assert last_view(window).text().strip() == scripts.TRANSCRIPT_TEXT.strip()

    drive(script, no_template_gguf)


def test_stop_keeps_what_was_written(drive, scripted_endless_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        workspace.chat.stop()  # nothing runs: no effect
        await ask(window, workspace, "Go on for ever")
        await until(lambda: thinks(window), "text comes")
        QTest.mouseClick(window.chat_page.composer.send_button, Qt.MouseButton.LeftButton)
        await answered(workspace)
        view = last_view(window)
        assert view.notice is not None
        assert "Stopped" in view.notice.label.text()
        messages = await workspace.store.messages(workspace.chat.chat.id)
        assert messages[-1].state is MessageState.STOPPED
        assert messages[-1].thinking
        assert window.chat_page.composer.send_button.text() == "Send"

    drive(script, scripted_endless_gguf)


def test_stop_works_while_the_prompt_is_read(drive, tiny_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "word " * 1500)
        await until(lambda: len(window.chat_page.messages) == 2, "it is sent")
        workspace.chat.stop()
        await answered(workspace)
        messages = await workspace.store.messages(workspace.chat.chat.id)
        assert messages[0].text.startswith("word word")
        await ask(window, workspace, "short")
        await until(
            lambda: not workspace.chat.answering or last_view(window).text(), "the next one is answered"
        )
        workspace.chat.stop()
        await answered(workspace)

    drive(script, tiny_gguf)


def test_engine_killed_in_mid_answer(drive, scripted_endless_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Go on for ever")
        await until(lambda: thinks(window), "text comes")
        os.kill(workspace.engine.pid, signal.SIGKILL)
        await answered(workspace)
        view = last_view(window)
        assert view.notice is not None
        assert view.notice.label.text()
        messages = await workspace.store.messages(workspace.chat.chat.id)
        assert messages[-1].state is MessageState.INTERRUPTED
        assert messages[-1].thinking
        await until(lambda: workspace.engine.loaded is not None, "the engine is back")
        await ask(window, workspace, "And now?")
        await until(lambda: thinks(window), "the next message is answered")
        workspace.chat.stop()
        await answered(workspace)

    drive(script, scripted_endless_gguf)


def test_another_model_in_mid_answer(drive, scripted_endless_gguf: Path, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Go on for ever")
        await until(lambda: thinks(window), "text comes")
        workspace.open_file(scripted_gguf)
        await until(
            lambda: workspace.setup.can_start and workspace.setup.path == scripted_gguf,
            "the other model is planned",
        )
        QTest.mouseClick(window.setup_page.start_button, Qt.MouseButton.LeftButton)
        await until(lambda: window.pages.currentWidget() is window.chat_page, "the other model is loaded")
        await answered(workspace)
        messages = await workspace.store.messages(workspace.chat.chat.id)
        assert messages[-1].thinking
        window.chat_page.conversations.new_button.click()
        await until(lambda: workspace.chat.chat is None, "an empty chat")
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        assert last_view(window).text() == scripts.ANSWER_TEXT

    drive(script, scripted_endless_gguf)


def test_closing_in_mid_answer_keeps_it(drive, data: DataFolder, scripted_endless_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Go on for ever")
        await until(lambda: thinks(window), "text comes")
        window.chat_page.composer.set_text("not sent yet")

    drive(script, scripted_endless_gguf)
    with sqlite3.connect(data.chats) as database:
        rows = database.execute("select state, length(thinking) from messages order by id").fetchall()
    assert rows[-1][0] == "closed"
    assert rows[-1][1] > 0

    async def afterwards(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: window.chat_page.composer.text() == "not sent yet", "the draft is back")

    drive(afterwards)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("empty", "empty"),
        ("html", "web page"),
        ("magic", "GGUF"),
        ("cut-header", "whole"),
        ("cut-keys", "whole"),
        ("cut-data", "KB"),
        ("counts-tensors", "contradicts itself"),
    ],
)
def test_a_damaged_file_gives_one_sentence(
    drive, damaged_ggufs: dict[str, Path], damage: str, words: str
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(
            lambda: workspace.setup.path is not None or workspace.setup.can_start, "the page is filled"
        )
        workspace.open_file(damaged_ggufs[damage])
        await until(lambda: window.setup_page.notice.isVisible(), "the reason is shown")
        text = window.setup_page.notice.label.text()
        assert words in text
        assert len(text) < 600
        listed = [choice.key for choice in window.setup_page.model_card.choices]
        if damage in ("empty", "html", "magic"):  # no model at all: what was chosen before stays
            assert str(damaged_ggufs[damage]) not in listed
        else:
            assert not workspace.setup.can_start
            assert not window.setup_page.start_button.isEnabled()

    drive(script)


def test_a_missing_model_leads_to_the_set_up_page(drive, data: DataFolder, tmp_path: Path) -> None:
    gone = tmp_path / "gone.gguf"
    settings.save(data.settings, replace(settings.Settings(language="en"), model_path=str(gone)))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: window.setup_page.notice.isVisible(), "the reason is shown")
        assert window.pages.currentWidget() is window.setup_page
        assert "gone.gguf" in window.setup_page.notice.label.text()

    drive(script)


def test_an_unknown_architecture_is_refused_in_words(drive, unknown_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: window.setup_page.notice.isVisible(), "the reason is shown")
        assert "another kind of model" in window.setup_page.notice.label.text()
        assert window.pages.currentWidget() is window.setup_page

    drive(script, unknown_gguf)


def test_a_model_that_is_deleted_while_loaded(drive, scripted_gguf: Path, tmp_path: Path) -> None:
    path = tmp_path / "modèle für 你好 😀.gguf"
    shutil.copy(scripted_gguf, path)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        path.unlink()
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        assert last_view(window).text() == scripts.ANSWER_TEXT

    drive(script, path)


def test_huge_strings_of_a_file_stay_out_of_the_window(drive, big_vocabulary_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: workspace.setup.path is not None, "the page is filled")
        workspace.open_file(big_vocabulary_gguf)
        page = window.setup_page
        await until(
            lambda: (
                (workspace.setup.can_start and workspace.setup.path == big_vocabulary_gguf)
                or page.notice.isVisible()
            ),
            "the file is read",
        )
        shown = [*page.plan_card.texts(), page.notice.label.text(), window.windowTitle()]
        shown += [f"{choice.title}{choice.summary}" for choice in page.model_card.choices]
        assert max(len(text) for text in shown) < 600

    drive(script)


def test_a_data_folder_that_cannot_be_written(drive, tmp_path: Path, scripted_gguf: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        assert window.chat_page.notice.isVisible()
        assert str(blocked) in window.chat_page.notice.label.text()
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        assert last_view(window).text() == scripts.ANSWER_TEXT

    drive(script, scripted_gguf, DataFolder(blocked / "data"))


def test_language_and_look_change_without_a_restart(drive, data: DataFolder, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        window.chat_page.settings_requested.emit()
        dialog = next(w for w in QApplication.topLevelWidgets() if w.objectName() == "settingsDialog")
        page = dialog.findChild(GeneralPage)
        page.language.setCurrentIndex(page.language.findData("de"))
        page.theme.setCurrentIndex(page.theme.findData("dark"))
        dialog.save_button.click()
        assert window.chat_page.composer.send_button.text() == "Senden"
        assert window.palette().window().color().lightness() < 80
        texts = last_view(window).findChildren(ProseView)
        assert texts
        assert all(text.palette().text().color().lightness() > 170 for text in texts)

    drive(script, scripted_gguf)
    i18n.set_language("en")
    assert settings.load(data.settings).settings.theme == "dark"


def test_chats_can_be_renamed_deleted_and_brought_back(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        await ask(window, workspace, "First chat")
        await answered(workspace)
        page.conversations.new_button.click()
        await until(lambda: workspace.chat.chat is None, "an empty chat")
        await ask(window, workspace, "Second chat")
        await answered(workspace)
        chats = page.conversations.list
        await until(lambda: chats.count() == 2, "both are listed")
        chats.item(1).setText("A better name")
        await until(lambda: chats.count() == 2 and chats.item(1).text() == "A better name", "it is renamed")
        page.conversations.delete_requested.emit(workspace.chat.chat.id)
        await until(lambda: chats.count() == 1, "it is deleted")
        assert page.notice.isVisible()
        page.notice.action_button.click()
        await until(lambda: chats.count() == 2, "it is back")
        await until(lambda: len(page.messages) == 2, "it is shown")

    drive(script, scripted_gguf)


def test_every_control_has_a_name(drive, scripted_gguf: Path) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        unnamed = []
        for page in (window.setup_page, window.chat_page):
            for widget in page.findChildren(type(page).__mro__[1]):
                focusable = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
                if focusable and widget.isEnabled() and widget.isVisibleTo(page) and not _name(widget):
                    unnamed.append(f"{type(widget).__name__} {widget.objectName()}")
        assert unnamed == []

    drive(script, scripted_gguf)


def _name(widget) -> str:
    text = getattr(widget, "text", None)
    return widget.accessibleName() or (text() if callable(text) and isinstance(text(), str) else "")
