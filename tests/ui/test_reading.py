"""Reading and taking along: links by keyboard, copies and quotations to the letter, no open door."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from clover_gui.paths import DataFolder
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.prose_view import ProseView
from clover_gui.ui.workspace import Workspace
from tests.ui.test_chats import data, drive, fill  # noqa: F401
from tests.ui.test_window import last_view, ready, until

EXACT = (
    "  lead\r\n\r\n\r\n# Head  \nhard break  \nnext\ttab\n\n\n```\ncode  \n\n\t\r\n```\n"
    "* a\n+ b\n\\$5\u00a0&amp;\n\n"
)


async def shown(window: MainWindow) -> MessageBody:
    await until(lambda: len(window.chat_page.messages) == 2, "the chat is shown")
    body = last_view(window).body
    assert isinstance(body, MessageBody)
    await until(lambda: body.is_settled, "it is rendered")
    return body


def questions() -> list[QMessageBox]:
    return [w for w in QApplication.topLevelWidgets() if isinstance(w, QMessageBox) and w.isVisible()]


def test_a_link_by_keyboard_asks_and_shows_where_it_leads(
    drive,  # noqa: F811
    data: DataFolder,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    fill(data, ("Links", "q", "First see [a friendly page](https://example.org/path?a=1), then go on."))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        window.show_chat()
        body = await shown(window)
        window.activateWindow()
        await until(window.isActiveWindow, "it is active")
        (prose,) = [view for view in body.findChildren(ProseView) if view.isVisible()]
        prose.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(prose, Qt.Key.Key_Tab)
        for expected in ([], ["https://example.org/path?a=1"]):
            QTest.keyClick(prose, Qt.Key.Key_Return)
            await until(questions, "it asks")
            (box,) = questions()
            assert "example.org" in box.text()
            assert "https://example.org/path?a=1" in box.informativeText()
            assert opened == []
            if expected:
                role = QMessageBox.ButtonRole.AcceptRole
                next(button for button in box.buttons() if box.buttonRole(button) is role).click()
            else:
                QTest.keyClick(box, Qt.Key.Key_Escape)
            await until(lambda: not questions(), "it is closed")
            assert opened == expected
            prose.setFocus()

    drive(script)


def test_an_answer_is_copied_to_the_letter(drive, data: DataFolder) -> None:  # noqa: F811
    fill(data, ("Exact", EXACT, EXACT))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        window.show_chat()
        await shown(window)
        clipboard = QGuiApplication.clipboard()
        for copy in (
            lambda: window.chat_page.copy_requested.emit(),
            lambda: last_view(window).copy_button.click(),
            lambda: window.chat_page.messages.view_at(0).copy_button.click(),
        ):
            clipboard.clear()
            copy()
            assert clipboard.text() == EXACT

    drive(script)


def test_a_quotation_keeps_the_lines_and_their_indents(drive, data: DataFolder) -> None:  # noqa: F811
    fill(data, ("Code", "q", "    indented\x0bcode\n\nend\u2028line\n"))

    async def script(window: MainWindow, workspace: Workspace) -> None:
        window.show_chat()
        await shown(window)
        window.chat_page.messages.quote_requested.emit(last_view(window).text())
        text = window.chat_page.composer.text().replace("\x0b", " ")
        assert text == ">     indented code\n>\n> end\u2028line\n\n" or text == (
            ">     indented code\n>\n> end\nline\n\n"  # Qt breaks the line of the field there
        )

    drive(script)


def test_no_port_is_open_to_others(drive, scripted_gguf: Path) -> None:  # noqa: F811
    """There is no server: neither the window nor its engine listens to a network."""

    async def script(window: MainWindow, workspace: Workspace) -> None:
        await ready(window, workspace)
        for number in (os.getpid(), workspace.engine.pid):
            listening = [c for c in psutil.Process(number).net_connections("inet") if c.status == "LISTEN"]
            assert listening == []

    drive(script, scripted_gguf)
