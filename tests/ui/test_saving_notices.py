"""What is said of chats that cannot be saved, in the real window: once, and no more when it is over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from clover_gui.chat.message import MessageState
from clover_gui.chat.store import ChatStore
from clover_gui.paths import DataFolder
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.ui.test_chats import data, drive, fill, written  # noqa: F401
from tests.ui.test_window import answered, ask, last_view, ready, until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="open files cannot be removed there")


def said(window: MainWindow) -> list[str]:
    return [notice.text for notice in window.chat_page.notice.notices]


def test_an_answer_that_cannot_be_saved(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_endless_gguf: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clover_gui.chat.async_store.SAVE_AGAIN_S", 3600)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.composer.thinking_button.click()
        await ask(window, workspace, "Go on for ever")
        await until(lambda: written(window), "text comes")
        window.chat_page.notice.hide()
        shutil.rmtree(data.root)
        data.root.write_text("a file where the folder was")
        await until(lambda: said(window), "it is told")
        workspace.chat.stop()
        await answered(workspace)
        assert len(said(window)) == 1
        assert "tried again" in said(window)[0]

        # Going on with what is not in the store is not possible yet; it is said, and nothing is lost.
        before = written(window)
        last_view(window).actions_row.continue_button.click()
        await until(lambda: "tried again" not in said(window)[0], "it is said again")
        await answered(workspace)
        assert len(said(window)) == 1
        assert "cannot be read or written" in said(window)[0]
        assert written(window) == before

        # As soon as it can be saved, it goes on at once, not only after the next try.
        data.root.unlink()
        last_view(window).actions_row.continue_button.click()
        await until(lambda: len(written(window)) > len(before) + 20, "more text comes")
        assert written(window).startswith(before)
        workspace.chat.stop()
        await answered(workspace)

    drive(script, scripted_endless_gguf)
    store = ChatStore(data.chats)
    (chat,) = store.list_chats()
    answer = store.messages(chat.id)[-1]
    assert answer.state is MessageState.STOPPED
    assert answer.text
    store.close()


def test_when_it_is_saved_again_nothing_else_is_said(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_endless_gguf: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clover_gui.chat.async_store.SAVE_AGAIN_S", 0.3)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.composer.thinking_button.click()
        await ask(window, workspace, "Go on for ever")
        await until(lambda: written(window), "text comes")
        window.chat_page.notice.hide()
        shutil.rmtree(data.root)
        data.root.write_text("a file where the folder was")
        await until(lambda: said(window), "it is told")
        workspace.chat.stop()
        await answered(workspace)
        data.root.unlink()
        await until(lambda: any("saved again" in text for text in said(window)), "it is saved")
        assert not any("cannot be" in text for text in said(window))

    drive(script, scripted_endless_gguf)


def test_another_file_in_the_place_of_the_chats(drive, data: DataFolder) -> None:  # noqa: F811
    (chat_id,) = fill(data, ("Mine", "q", "a"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await workspace.chat.open_chat(chat_id)
        fresh = data.chats.with_name("fresh")
        fresh.write_bytes(b"of another program")
        fresh.replace(data.chats)
        window.chat_page.composer.set_text("A draft")
        await until(lambda: any("taken the place" in text for text in said(window)), "it is told")
        (text,) = [text for text in said(window) if "taken the place" in text]
        assert str(data.root) in text
        assert "the name chats.sqlite3" in text

    drive(script)
    assert data.chats.read_bytes() == b"of another program"
    (apart,) = data.root.glob("chats.sqlite3.apart-*")
    apart.replace(data.chats)  # as the notice says
    store = ChatStore(data.chats)
    assert (store.list_chats()[0].title, store.draft(chat_id)) == ("Mine", "A draft")
    store.close()
