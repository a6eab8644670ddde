"""Faults that people met in other programs, tried through the window on the real engine child."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from clover_gui.chat.message import MessageState
from clover_gui.chat.store import ChatStore
from clover_gui.paths import DataFolder
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.kit import scripts
from tests.kit.scripts import END, Script
from tests.ui.test_chats import answered, ask, data, drive, last_view, ready, until  # noqa: F401
from tests.ui.test_window import thinks

THINKS_ANYWAY = Script((("\n\n", ("<think>", "Hmm", " well.", "</think>", "Yes, it is.", END)),))


def test_an_engine_that_does_not_hear_the_stop_is_replaced(drive, scripted_endless_gguf: Path) -> None:  # noqa: F811
    """What was written is kept, the button comes back, and the next message is answered."""

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        button = window.chat_page.composer.send_button
        await ask(window, workspace, "Go on for ever")
        await until(lambda: thinks(window), "text comes")
        deaf = workspace.engine.pid
        psutil.Process(deaf).suspend()
        assert button.text() == "Stop"
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        await answered(workspace)
        assert not psutil.pid_exists(deaf)
        assert button.text() == "Send"
        kept = (await workspace.store.messages(workspace.chat.chat.id))[-1]
        assert kept.state is MessageState.STOPPED
        assert kept.thinking == last_view(window).thinking.text() != ""
        assert "did not react in time" in last_view(window).notice.label.text()
        await until(lambda: workspace.engine.loaded is not None, "the engine is back")
        await ask(window, workspace, "And now?")
        await until(lambda: thinks(window), "the next message is answered")
        workspace.chat.stop()
        await answered(workspace)

    drive(script, scripted_endless_gguf)


def test_a_stop_at_the_first_moment_sends_nothing(drive, scripted_endless_gguf: Path) -> None:  # noqa: F811
    """Neither is it lost: the words are in the field again, and the next message is answered."""

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        composer = window.chat_page.composer
        for first in (True, False):
            composer.set_text("Go on for ever")
            composer.send_button.click()
            workspace.chat.stop()  # before the task had its turn
            await answered(workspace)
            await until(lambda: composer.text() == "Go on for ever", "the words are back")
            assert composer.send_button.text() == "Send"
            if first:
                composer.send_button.click()
                await until(lambda: thinks(window), "text comes")
                workspace.chat.stop()
                await answered(workspace)
        assert len(await workspace.store.messages(workspace.chat.chat.id)) == 2

    drive(script, scripted_endless_gguf)


def test_later_turns_read_only_what_is_new_and_say_so(drive, scripted_gguf: Path) -> None:  # noqa: F811
    """Thinking on, off and on again, an answer again, and another chat in between."""

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page

        async def finished() -> tuple[int, int]:
            await answered(workspace)
            message = (await workspace.store.messages(workspace.chat.chat.id))[-1]
            assert message.text == scripts.ANSWER_TEXT
            if message.stats.tokens_reused:
                assert f"{message.stats.tokens_reused:,} reused" in last_view(window)._footer._details.text()
            return message.stats.tokens_read, message.stats.tokens_reused

        await ask(window, workspace, "How far can it be seen? " * 40)
        first, reused = await finished()
        assert first > 400
        assert reused == 0
        chat_id = workspace.chat.chat.id
        for text in ("And at night?", "Why?"):
            page.composer.thinking_button.click()
            await ask(window, workspace, text)
            read, now_reused = await finished()
            assert read <= len(text) + len(scripts.ANSWER_TEXT.encode()) + 64
            assert now_reused > max(reused, first - 64)
            reused = now_reused
        page.regenerate_requested.emit()
        read, now_reused = await finished()
        assert read <= 64
        await workspace.chat.new_chat()
        await ask(window, workspace, "Something else")
        await finished()
        await workspace.chat.open_chat(chat_id)
        page.regenerate_requested.emit()
        read, now_reused = await finished()
        assert read <= 64
        assert now_reused >= reused

    drive(script, scripted_gguf)


def test_it_is_said_that_the_prompt_is_read(drive, tiny_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        seen: list[str] = []
        shown = window.chat_page.messages
        add = shown.add_answer

        def add_and_listen():
            view = add()
            set_details = view.set_details
            view.set_details = lambda text: (seen.append(text), set_details(text))
            return view

        shown.add_answer = add_and_listen
        await ask(window, workspace, "word " * 1200)
        await until(lambda: any("Reading" in text for text in seen), "the reading is shown")
        workspace.chat.stop()
        await answered(workspace)
        assert any(" of " in text and "tokens" in text for text in seen), seen

    drive(script, tiny_gguf)


def test_a_larger_context_can_be_chosen_before_anything_is_sent(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_gguf: Path,
) -> None:
    store = ChatStore(data.chats)
    chat = store.create_chat(title="Long")
    for _turn in range(6):
        question = store.add_user_message(chat.id, "word " * 60)
        answer = store.begin_answer(chat.id, question.id)
        store.finish_answer(answer.id, "word " * 60, "", MessageState.COMPLETE, None)
    store.close()

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        bar = window.chat_page.overflow
        await ask(window, workspace, "The newest question")
        await until(bar.isVisible, "the question is asked")
        assert "The newest question" in bar.question.text()
        bar.larger_button.click()
        await until(lambda: window.pages.currentWidget() is window.setup_page, "the plan is shown")
        await answered(workspace)
        assert window.chat_page.composer.text() == "The newest question"
        assert len(await workspace.store.messages(chat.id)) == 12

    drive(script, scripted_gguf, context=1024)


def test_a_model_that_thinks_although_it_shall_not_is_named(
    drive,  # noqa: F811
    make_scripted_gguf: Callable[..., Path],
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.composer.thinking_button.click()
        assert window.chat_page.composer.thinking is False
        await ask(window, workspace, "Is it?")
        await answered(workspace)
        view = last_view(window)
        assert view.text() == "Yes, it is."
        assert view.thinking.text() == "Hmm well."
        assert "although thinking was switched off" in view.notice.label.text()

    drive(script, make_scripted_gguf("thinks-anyway", script=THINKS_ANYWAY))


def test_characters_of_several_tokens_are_never_broken(drive, scripted_gguf: Path) -> None:  # noqa: F811
    """Neither in the window at any moment nor in the store."""

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Hello?")
        while workspace.chat.answering:
            assert "\ufffd" not in (last_view(window).text() if len(window.chat_page.messages) else "")
            await asyncio.sleep(0.002)
        assert last_view(window).text() == scripts.ANSWER_TEXT
        message = (await workspace.store.messages(workspace.chat.chat.id))[-1]
        assert message.text == scripts.ANSWER_TEXT

    drive(script, scripted_gguf)
