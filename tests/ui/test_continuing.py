"""Going on with an answer that was cut, in the real window: button, key, restart, refusal."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from clover_gui.chat.message import AnswerStats, Attachment, MessageState
from clover_gui.chat.store import ChatStore
from clover_gui.paths import DataFolder
from clover_gui.ui.chat.words import CONTINUE
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.kit import scripts
from tests.ui.test_chats import data, drive, written  # noqa: F401
from tests.ui.test_window import answered, ask, last_view, ready, thinks, until


def cut_chat(data: DataFolder, text: str, thinking: str, state: MessageState) -> int:  # noqa: F811
    """A chat in the store whose answer ended so."""
    store = ChatStore(data.chats)
    chat = store.create_chat(title="Cut")
    asked = store.add_user_message(chat.id, "Hi", (Attachment("notes.txt", "words", 3),))
    begun = store.begin_answer(chat.id, asked.id)
    stats = AnswerStats(tokens_written=3, write_seconds=0.1)
    store.finish_answer(begun.id, text, thinking, state, stats)
    store.close()
    return chat.id


def rounds(text: str) -> None:
    words = text.split()
    assert words == [f"round{i % 3000}" for i in range(len(words))]  # so many there are


def test_a_stopped_answer_grows_on_in_its_message(drive, scripted_endless_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        await ready(window, workspace)
        page.composer.thinking_button.click()
        await ask(window, workspace, "Go on for ever")
        await until(lambda: written(window), "text comes")
        assert not last_view(window).actions_row.continue_button.isVisible()
        workspace.chat.stop()
        await answered(workspace)
        (_question, first) = await workspace.store.messages(workspace.chat.chat.id)
        button = last_view(window).actions_row.continue_button
        assert not button.isHidden()
        button.click()
        await until(lambda: workspace.chat.answering, "it goes on")
        await until(lambda: len(written(window)) > len(first.text) + 20, "more text comes")
        assert written(window).startswith(first.text)
        workspace.chat.stop()
        await answered(workspace)
        messages = await workspace.store.messages(workspace.chat.chat.id)
        assert [m.id for m in messages] == [_question.id, first.id]
        rounds(messages[1].text)
        assert last_view(window).text() == messages[1].text
        assert messages[1].stats.parts == 2
        assert messages[1].stats.tokens_read - first.stats.tokens_read <= 64
        assert len(page.messages) == 2
        # The key does the same, and the row below the answer too.
        QTest.keyClick(page.composer.edit, Qt.Key.Key_G, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: workspace.chat.answering, "it goes on again")
        await until(lambda: len(written(window)) > len(messages[1].text), "more text comes")
        workspace.chat.stop()
        await answered(workspace)
        last_view(window).action_triggered.emit(CONTINUE)
        await until(lambda: workspace.chat.answering, "and once more")
        workspace.chat.stop()
        await answered(workspace)
        rounds(last_view(window).text())

    drive(script, scripted_endless_gguf)


def test_a_complete_answer_offers_nothing_to_go_on_with(drive, scripted_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Hi")
        await answered(workspace)
        assert last_view(window).actions_row.continue_button.isHidden()
        workspace.chat.go_on()
        assert not workspace.chat.answering
        assert last_view(window).text() == scripts.ANSWER_TEXT

    drive(script, scripted_gguf)


def test_thoughts_that_were_cut_go_on_as_thoughts(drive, make_scripted_gguf: Callable[..., Path]) -> None:  # noqa: F811
    path = make_scripted_gguf("long-thought", script=scripts.LONG_THOUGHT)

    def thoughts(window: MainWindow) -> str:
        return last_view(window).thinking.text() if thinks(window) else ""

    async def script(window: MainWindow, workspace: Workspace) -> None:
        chat = workspace.chat
        await ready(window, workspace)
        await ask(window, workspace, "Think")
        await until(lambda: thoughts(window), "thoughts come")
        chat.stop()
        await answered(workspace)
        first = (await workspace.store.messages(chat.chat.id))[-1]
        assert (first.text, first.state) == ("", MessageState.STOPPED)
        assert last_view(window).notice.button.text() == "Continue"
        chat.go_on()
        await until(lambda: len(thoughts(window)) > len(first.thinking), "more thoughts come")
        assert last_view(window).thinking.is_live
        chat.stop()
        await answered(workspace)
        message = (await workspace.store.messages(chat.chat.id))[-1]
        words = message.thinking.split()
        assert words == [f"thought{i}" for i in range(len(words))]
        assert message.stats.thinking_tokens == len(words)
        assert message.stats.thinking_seconds >= first.stats.thinking_seconds

    drive(script, path)


@pytest.mark.parametrize("state", [MessageState.CLOSED, MessageState.INTERRUPTED, MessageState.CUT_LENGTH])
def test_after_a_restart_it_is_offered(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_gguf: Path,
    state: MessageState,
) -> None:
    chat_id = cut_chat(data, "Hello wor", scripts.THOUGHT_TEXT, state)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        view = last_view(window)
        assert not view.actions_row.continue_button.isHidden()
        assert view.notice is not None
        assert view.notice.button.text() == "Continue"
        view.notice.button.click()
        await until(lambda: workspace.chat.answering, "it goes on")
        await answered(workspace)
        message = (await workspace.store.messages(chat_id))[-1]
        assert message.state is MessageState.COMPLETE
        assert message.text.startswith("Hello wor")
        assert message.thinking == scripts.THOUGHT_TEXT
        assert last_view(window).actions_row.continue_button.isHidden()

    drive(script, scripted_gguf)


def test_closing_in_mid_answer_is_not_called_a_stop_of_the_person(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_endless_gguf: Path,
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Go on for ever")
        await until(lambda: thinks(window), "text comes")

    drive(script, scripted_endless_gguf)

    async def afterwards(window: MainWindow, workspace: Workspace) -> None:
        await until(lambda: len(window.chat_page.messages) == 2, "the chat is back")
        view = last_view(window)
        assert view.notice is not None
        assert "program was closed" in view.notice.label.text()
        assert "by you" not in view.notice.label.text()
        assert not view.actions_row.continue_button.isHidden()

    drive(afterwards)


def test_an_engine_killed_in_mid_answer_is_gone_on_with(drive, scripted_endless_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.composer.thinking_button.click()
        await ask(window, workspace, "Go on for ever")
        await until(lambda: written(window), "text comes")
        os.kill(workspace.engine.pid, signal.SIGKILL)
        await answered(workspace)
        before = written(window)
        await until(lambda: workspace.engine.loaded is not None, "the engine is back")
        assert last_view(window).notice.button.text() == "Continue"
        QTest.keyClick(window.chat_page.composer.edit, Qt.Key.Key_G, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: len(written(window)) > len(before), "more text comes")
        assert written(window).startswith(before)
        workspace.chat.stop()
        await answered(workspace)

    drive(script, scripted_endless_gguf)


REFUSING = (
    "{%- if messages[0].role == 'system' and messages|length < 3 -%}"
    "{{ raise_exception('instructions come later') }}{%- endif -%}"
    "{%- for message in messages -%}{{- message.role + ': ' + message.content + '\n' -}}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- 'model:\n' -}}{%- endif -%}"
)


def test_where_the_template_refuses_the_model_is_asked_and_that_is_said(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    make_scripted_gguf: Callable[..., Path],
) -> None:
    script_of_model = scripts.Script((("\n", ("Yes", "!", scripts.END)),))
    path = make_scripted_gguf("refusing", script=script_of_model, template=REFUSING)
    chat_id = cut_chat(data, "Half", "", MessageState.STOPPED)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await workspace.store.set_system_prompt(chat_id, "Be kind.")
        workspace.chat.go_on()
        await until(lambda: workspace.chat.answering, "it is asked")
        await answered(workspace)
        messages = await workspace.store.messages(chat_id)
        assert [m.text for m in messages[1:]] == [
            "Half",
            "Go on exactly where you stopped, without repeating anything.",
            "Yes!",
        ]
        assert "asked to go on" in window.chat_page.notice.label.text()

    drive(script, path)
