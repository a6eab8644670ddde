"""Where a person is in the chats: titles, hits of a search, undone deletions, messages being changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from clover_gui.chat.message import AnswerStats, MessageState
from clover_gui.chat.store import ChatStore
from clover_gui.engine.protocol import CAUSE_REPETITION
from clover_gui.paths import DataFolder
from clover_gui.ui.chat.overflow_bar import OverflowChoice
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.ui.test_chats import data, drive, fill, long_chat, titles  # noqa: F401
from tests.ui.test_window import answered, ask, ready, until


def marks(widget: QWidget) -> list[str]:
    """What is marked in the texts of a widget."""
    found: list[str] = []
    for part in widget.findChildren(QWidget):
        for mark in getattr(part, "extraSelections", list)():
            found.append(mark.cursor.selectedText())
    return found


def test_the_words_of_a_hit_are_marked_until_one_types_or_presses_escape(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
) -> None:
    filling = "\n\n".join(f"Paragraph {n} about nothing." for n in range(80))
    fill(
        data,
        ("Cats", "What do cats eat?", "Fish."),
        ("Dogs", "And dogs?", f"{filling}\n\nA bone that is **hidden** well.\n\n{filling}"),
    )

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        await until(lambda: len(titles(window)) == 2, "they are listed")
        window.show_chat()
        for end in ("escape", "typing"):
            page.conversations.search.setText("hidden bone")
            await until(lambda: titles(window) == ["Dogs"], "one is left")
            page.conversations.list.opened.emit(page.conversations.list.item(0))
            answer = page.messages.view_at(1) if len(page.messages) == 2 else None
            await until(lambda: workspace.chat.chat.title == "Dogs", "it is open")
            await until(lambda: sorted(marks(page.messages)) == ["bone", "hidden"], "both words are marked")
            answer = page.messages.view_at(1)
            await until(lambda view=answer: view.found_rect() is not None, "the place is drawn")
            place = answer.mapTo(page.messages.viewport(), answer.found_rect().topLeft())
            assert 0 <= place.y() < page.messages.viewport().height(), "and in sight"
            if end == "escape":
                page._escape()
            else:
                QTest.keyClicks(page.composer.edit, "T")
            assert marks(page.messages) == []

    drive(script)


def test_a_hit_leaves_the_version_that_is_shown_where_that_has_the_words(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
) -> None:
    store = ChatStore(data.chats)
    chat = store.create_chat(title="Capitals")
    first = store.add_user_message(chat.id, "The capital of Germany?")
    begun = store.begin_answer(chat.id, first.id)
    store.finish_answer(begun.id, "Berlin.", "", MessageState.COMPLETE, None)
    second = store.revise_user_message(first.id, "The capital of Germany, shortly, please, without Hamburg?")
    begun = store.begin_answer(chat.id, second.id)
    store.finish_answer(begun.id, "Berlin it is.", "", MessageState.COMPLETE, None)
    store.show_message(first.id)
    store.close()

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        await until(lambda: len(page.messages) == 2, "the chat is shown")
        page.conversations.search.setText("germany")
        await until(lambda: page.conversations.rows()[0][1], "it is found")
        await workspace.chat.open_chat(*page.conversations.rows()[0])
        assert page.messages.view_at(0).text() == "The capital of Germany?"
        assert marks(page.messages.view_at(0)) == ["Germany"]
        page.conversations.search.setText("hamburg")
        await until(lambda: page.conversations.rows()[0][1] == second.id, "only the other version has that")
        await workspace.chat.open_chat(*page.conversations.rows()[0])
        assert "Hamburg" in page.messages.view_at(0).text()

    drive(script)


def test_the_title_stands_in_the_header_and_in_the_window(drive, scripted_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        assert page.title.text() == ""
        assert "Scripted" in window.windowTitle()
        await ask(window, workspace, "What is the capital of Germany?")
        await answered(workspace)
        await until(lambda: "capital" in page.title.text(), "the chat has its title")
        assert window.windowTitle() == f"{page.title.text()} – Clover"
        assert "Scripted" in page.model_button.text()
        page.conversations.rename_requested.emit(workspace.chat.chat.id, "Other & better")
        await until(lambda: page.title.text() == "Other & better", "the new one")
        await workspace.chat.new_chat()
        assert page.title.text() == ""
        assert "Scripted" in window.windowTitle()

    drive(script, scripted_gguf)


def test_undoing_a_deletion_leaves_the_person_where_they_are(drive, data: DataFolder) -> None:  # noqa: F811
    fill(data, ("Cats", "a", "b"), ("Dogs", "c", "d"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        await until(lambda: len(titles(window)) == 2, "they are listed")
        window.show_chat()
        by_title = {c.title: c.id for c in await workspace.store.list_chats()}
        await workspace.chat.open_chat(by_title["Dogs"])
        page.composer.edit.setFocus()
        page.conversations.delete_requested.emit(by_title["Cats"])
        await until(lambda: page.notice.isVisible(), "it is deleted")
        QTest.mouseClick(page.notice.action_button, Qt.MouseButton.LeftButton)
        await until(lambda: len(titles(window)) == 2, "it is back")
        assert workspace.chat.chat.title == "Dogs"
        assert QApplication.focusWidget() is page.composer.edit

        # The one that was open: it is open again, unless the person has gone elsewhere.
        page.conversations.delete_requested.emit(by_title["Dogs"])
        await until(lambda: page.notice.isVisible(), "it is deleted")
        assert workspace.chat.chat is None
        page.notice.action_button.setFocus()
        QTest.keyClick(page.notice.action_button, Qt.Key.Key_Space)
        await until(lambda: workspace.chat.chat is not None, "a chat is open")
        assert workspace.chat.chat.title == "Dogs"
        assert QApplication.focusWidget() is page.composer.edit

    drive(script)


def test_the_message_that_is_changed_is_marked_and_no_button_jumps(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
) -> None:
    fill(data, ("Cats", "What do cats eat?", "Fish."))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.chat_page
        await until(lambda: len(page.messages) == 2, "the chat is shown")
        window.show_chat()
        view, composer = page.messages.view_at(0), page.composer
        plain, place = view.grab().toImage(), composer.options_button.x()
        page.messages.edit_requested.emit(0)
        assert view.grab().toImage() != plain
        await asyncio.sleep(0.01)  # a layout takes its place with the next event
        assert composer.options_button.x() == place
        assert not composer.attach_button.isEnabled()
        page.stop_requested.emit()
        assert view.grab().toImage() == plain
        assert composer.attach_button.isEnabled()

    drive(script)


def test_advice_says_where_and_nothing_that_cannot_be_done(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    scripted_gguf: Path,
) -> None:
    looped, cut = (
        (MessageState.LOOPED, AnswerStats(cause=CAUSE_REPETITION)),
        (MessageState.CUT_CONTEXT, AnswerStats(context_used=4000)),
    )
    store = ChatStore(data.chats)
    for title, (state, stats) in (
        ("Looped", looped),
        ("Cut", cut),
        ("Interrupted", (MessageState.INTERRUPTED, None)),
    ):
        chat = store.create_chat(title=title)
        asked = store.add_user_message(chat.id, "q")
        begun = store.begin_answer(chat.id, asked.id)
        store.finish_answer(begun.id, "words", "", state, stats)
    store.close()
    long = long_chat(data, turns=6, words=130)

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        loaded = workspace.engine.loaded
        assert loaded.trained_context > loaded.context
        await workspace.chat.open_chat(1)
        said = page.messages.view_at(1).notice.label.text()
        assert "“This chat” (Ctrl+I)" in said
        assert "“Against repetition”" in said
        await workspace.chat.open_chat(2)
        assert "larger context" in page.messages.view_at(1).notice.label.text()
        await workspace.chat.open_chat(3)
        assert page.gauges.context.value_label.text() == f"– of {loaded.context:,}"

        await workspace.chat.open_chat(long)
        await ask(window, workspace, "The newest question")
        await until(lambda: page.overflow.isVisible(), "the question is asked")
        assert page.composer.send_button.text() == "Send"
        assert not page.composer.send_button.isEnabled()
        page.overflow.choose(OverflowChoice.CANCEL)
        await answered(workspace)
        assert page.composer.send_button.isEnabled()

    drive(script, scripted_gguf, context=4096)
