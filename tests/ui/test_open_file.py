"""Files that are opened while the chat goes on: a way back, an answer that goes on, and what is no model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from clover_gui.chat.message import MessageState
from clover_gui.paths import DataFolder
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.ui.test_chats import data, drive, written  # noqa: F401
from tests.ui.test_window import ask, ready, until


def test_a_running_answer_goes_on_and_is_stopped_only_by_a_start(
    drive: Callable[..., None],  # noqa: F811
    scripted_endless_gguf: Path,
    scripted_gguf: Path,
) -> None:
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        await ask(window, workspace, "Say something")
        await until(lambda: len(written(window)) > 20, "it writes")
        workspace.open_file(scripted_gguf)
        page = window.setup_page
        await until(lambda: workspace.setup.can_start and workspace.setup.path == scripted_gguf, "planned")
        assert window.pages.currentWidget() is page
        assert page.back_button.isVisible()
        assert page.answer_label.isVisible()
        assert "stopped first" in page.start_button.accessibleDescription()
        before = len(written(window))
        await until(lambda: len(written(window)) > before, "it goes on writing")
        page.back_button.click()
        assert window.pages.currentWidget() is window.chat_page
        assert workspace.chat is not None
        assert workspace.chat.answering
        workspace.setup.choose(scripted_gguf)
        await until(lambda: workspace.setup.can_start, "planned again")
        page.start_button.click()
        chat = workspace.chat
        await until(lambda: not chat.answering, "the answer is stopped")
        await until(
            lambda: (
                workspace.engine.last_settings is not None
                and workspace.engine.last_settings.path == str(scripted_gguf)
                and workspace.engine.loaded is not None
            ),
            "the other model is here",
        )
        assert workspace.store is not None
        assert workspace.chat.chat is not None
        messages = await workspace.store.messages(workspace.chat.chat.id)
        assert messages[-1].state is MessageState.STOPPED
        assert not page.answer_label.isVisible()

    drive(script, scripted_endless_gguf)


@pytest.mark.parametrize("name", ["nothere.gguf", "note.txt"])
def test_what_is_no_model_is_said_in_the_chat_and_not_listed(
    drive: Callable[..., None],  # noqa: F811
    scripted_gguf: Path,
    tmp_path: Path,
    name: str,
) -> None:
    (tmp_path / "note.txt").write_text("a note")

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        workspace.open_file(tmp_path / name)
        await until(lambda: window.chat_page.notice.isVisible(), "it is said")
        assert name in window.chat_page.notice.label.text()
        assert window.pages.currentWidget() is window.chat_page
        window.chat_page.model_requested.emit()
        await until(lambda: workspace.setup.can_start, "the set-up page is filled")
        assert not any(name in choice.key for choice in window.setup_page.model_card.choices)

    drive(script, scripted_gguf)


@pytest.mark.parametrize("name", ["nothere.gguf", "note.txt", "nonsense"])
def test_a_first_start_with_what_is_no_model_says_so(
    drive: Callable[..., None],  # noqa: F811
    data: DataFolder,  # noqa: F811
    tmp_path: Path,
    name: str,
) -> None:
    (tmp_path / "note.txt").write_text("a note")
    model = name if name == "nonsense" else str(tmp_path / name)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.setup_page
        await until(lambda: page.notice.isVisible() and bool(page.model_card.choices), "it is said")
        await asyncio.sleep(0.2)
        assert name in page.notice.label.text()
        assert window.pages.currentWidget() is page
        assert not any(name in choice.key for choice in page.model_card.choices)
        if name == "nonsense":
            assert "Known are clover" in page.notice.label.text()

    drive(script, model)
