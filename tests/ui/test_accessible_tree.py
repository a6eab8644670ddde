"""Every page and dialog as a screen reader and the Tab key meet it: names, roles, nothing out of reach."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from clover_gui.chat.message import Attachment
from clover_gui.paths import DataFolder
from clover_gui.ui.chat.overflow_bar import OverflowChoice
from clover_gui.ui.chat.text_dialog import TextDialog
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.settings.settings_dialog import SettingsDialog
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.workspace import Workspace
from tests.kit.fake_hub import FakeHub
from tests.ui.accessible_tree import faults, tab_faults, unnamed
from tests.ui.markdown_texts import MIXED
from tests.ui.test_chats import data, drive, fill  # noqa: F401
from tests.ui.test_obtain_flow import choose_clover, hub  # noqa: F401
from tests.ui.test_window import answered, ask, ready, until


async def checked(place: QWidget, *, what: str = "", tab: bool = True) -> None:
    """No fault in it; both ways round with the Tab key."""
    window = place.window()
    window.activateWindow()
    await until(window.isActiveWindow, f"{what or place.objectName()} is active")
    found = faults(place)
    assert found == [], f"{what}: " + "\n".join(found)
    if tab:
        for key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            if QApplication.focusWidget() is None:
                window.setFocus()
                window.focusNextChild()
            assert tab_faults(window, key) == [], what


def shown_dialogs() -> list[QDialog]:
    return [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]


async def one_dialog() -> QDialog:
    await until(lambda: len(shown_dialogs()) == 1, "a dialog is open")
    return shown_dialogs()[0]


def test_the_measure_measures(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    nameless, symbol, plain = QPushButton("", window), QPushButton("×", window), QPushButton("Go", window)
    label = QLabel("text", window)
    label.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    window.show()
    assert len(unnamed(window)) == 1
    assert [text.partition(":")[0] for text in faults(window)] == ["no name", "only a symbol"]
    symbol.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    nameless.setFocus()
    assert tab_faults(window) == []
    plain.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    trap = QPlainTextEdit(window)
    trap.show()
    trap.setFocus()
    assert tab_faults(window) != []


def test_chats_and_their_dialogs(drive, data: DataFolder, scripted_gguf: Path) -> None:  # noqa: F811
    question = "word " * 2_000
    fill(data, ("Everything", question, MIXED), ("Cats", "What do cats eat?", "Fish."))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        page = window.chat_page
        await until(lambda: len(page.messages) == 2, "the chat is shown")
        body = page.messages.view_at(1).body
        assert isinstance(body, MessageBody)
        await until(lambda: body.is_settled, "it is rendered")
        await checked(window, what="a chat with every kind of block")
        page.find_bar.open()
        page.find_bar.field.setText("two")
        page.find_bar.look(True)
        page.notice.show_notice("Something happened.", action=("key", "Do it"))
        page.overflow.ask("It does not fit.", 2, has_history=True)
        page.composer.chips.show_attachments([Attachment("a.txt", "text", 3)])
        await checked(window, what="with all bars")
        page.overflow.choose(OverflowChoice.CANCEL)
        page.composer.chips.show_attachments([])
        page.notice.dismiss()
        page.find_bar.dismiss()

        page.conversations.focus_search()
        page.conversations.search.setText("fish")
        await until(lambda: page.conversations.list.count() == 1, "a search")
        await checked(window, what="search over all chats")
        page.conversations.search.clear()

        for request in (
            page.composer.options_requested.emit,
            page.help_requested.emit,
            page.details_requested.emit,
            page.diagnostics_requested.emit,
            lambda: TextDialog("notes.txt", "text\n" * 99, window._theme, window).open(),
        ):
            request()
            panel = await one_dialog()
            await checked(panel, what=panel.objectName())
            panel.reject()
            await until(lambda: not shown_dialogs(), "it is closed")

        await workspace.chat.new_chat()
        await checked(window, what="an empty chat")
        for menu in (page.menu(), page.conversations.menu_for(page.conversations.list.item(0))):
            assert isinstance(menu, QMenu)
            assert all(
                action.isSeparator() or any(map(str.isalnum, action.text())) for action in menu.actions()
            )
            menu.close()

    drive(script, scripted_gguf)


def test_the_settings_page_by_page(drive, scripted_gguf: Path) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        window.chat_page.settings_requested.emit()
        panel = await one_dialog()
        assert isinstance(panel, SettingsDialog)
        found = []
        for page in panel.pages:
            panel.show_page(page)
            await asyncio.sleep(0.2)
            panel.activateWindow()
            await until(panel.isActiveWindow, "it is active")
            found += [(page.title, fault) for fault in faults(panel)]
            found += [(page.title, fault) for fault in tab_faults(panel)]
        assert found == []
        panel.reject()

    drive(script, scripted_gguf)


def test_the_first_page_at_every_stage(
    drive,  # noqa: F811
    hub: FakeHub,  # noqa: F811
    scripted_gguf: Path,
    tmp_path: Path,
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    hub.rate = 300_000

    async def script(window: MainWindow, workspace: Workspace) -> None:
        page = window.setup_page
        await choose_clover(window, workspace)
        await until(lambda: workspace.setup.can_start, "the offer is shown")
        await checked(window, what="an offer")
        page.start_button.click()
        await until(lambda: page.pause_button.isVisible(), "a download runs")
        await checked(window, what="a download")
        page.cancel_button.click()
        await until(lambda: not page.cancel_button.isVisible(), "it stops")
        await checked(window, what="a download that was stopped")
        workspace.open_file(broken)
        await until(lambda: page.notice.isVisible(), "it is refused")
        await checked(window, what="a file that cannot be read")
        workspace.open_file(scripted_gguf)
        await until(lambda: workspace.setup.can_start and workspace.setup.path == scripted_gguf, "planned")
        await checked(window, what="a file of one's own")
        seen: list[str] = []
        workspace.setup.progressed.connect(lambda *_: seen.extend(faults(page)))
        page.start_button.click()
        await ready(window, workspace)
        assert seen == []
        window.chat_page.model_requested.emit()
        await until(lambda: page.isVisible() and workspace.setup.can_start, "it is filled")
        await checked(window, what="another model")

    drive(script)


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said to a screen reader."""
    said: list[str] = []
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(QAccessible, "updateAccessibility", lambda event: said.append(str(event.message())))
    return said


def test_the_end_of_an_answer_is_announced_once(drive, scripted_gguf: Path, announced: list[str]) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        announced.clear()
        await ask(window, workspace, "Hello?")
        await answered(workspace)
        assert announced == ["The answer is complete."]

    drive(script, scripted_gguf)


def test_an_arrow_key_goes_to_the_other_radio_buttons(drive, hub: FakeHub) -> None:  # noqa: F811
    async def script(window: MainWindow, workspace: Workspace) -> None:
        await choose_clover(window, workspace)
        buttons = window.setup_page.model_card.findChildren(QRadioButton)
        chosen = next(button for button in buttons if button.isChecked())
        window.activateWindow()
        chosen.setFocus()
        QTest.keyClick(chosen, Qt.Key.Key_Down if chosen is not buttons[-1] else Qt.Key.Key_Up)
        assert not chosen.isChecked()

    drive(script)
