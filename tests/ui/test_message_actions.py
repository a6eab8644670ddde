"""The small buttons at messages: what is offered when, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from clover_gui.ui.chat.message_list import HistoryMessage, MessageList
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.buttons import IconButton
from clover_gui.ui.widgets.prose_view import ProseView
from tests.ui.accessible_tree import unnamed
from tests.ui.test_message_list import quiet

CHAT = [
    HistoryMessage(True, "First question", version=2, versions=3),
    HistoryMessage(False, "First **answer**.\n\n```\ncode\n```\n"),
    HistoryMessage(True, "Second question"),
    HistoryMessage(
        False, "Second answer", "Thought.", 2.0, 9, "9 tokens", version=1, versions=2, can_continue=True
    ),
]


@pytest.fixture
def messages(theme: Theme, qtbot: QtBot) -> Iterator[MessageList]:
    view = MessageList(theme)
    qtbot.addWidget(view)
    view.resize(800, 700)
    view.set_history(CHAT)
    view.show()
    view.activateWindow()
    quiet(qtbot, view)
    yield view
    view.close()


def offered(messages: MessageList, index: int) -> list[str]:
    buttons = messages.view_at(index).actions_row.findChildren(IconButton)
    return [button.accessibleName() for button in buttons if not button.isHidden() and button.isEnabled()]


def test_what_is_offered_at_which_message(messages: MessageList) -> None:
    versions = ["Previous version", "Next version"]
    assert sorted(offered(messages, 0)) == sorted([*versions, "Edit message", "Quote", "Copy message"])
    assert sorted(offered(messages, 1)) == ["Copy message", "Quote"]
    assert sorted(offered(messages, 2)) == ["Copy message", "Edit message", "Quote"]
    last = ["Next version", "Continue the answer", "Answer again", "Quote", "Copy message"]
    assert sorted(offered(messages, 3)) == sorted(last)


def test_an_answer_that_is_written_offers_only_to_copy_it(messages: MessageList) -> None:
    answer = messages.add_answer()
    answer.set_can_continue(True)
    answer.append_answer("text")
    assert offered(messages, 4) == ["Copy message"]
    answer.finish()
    assert sorted(offered(messages, 4)) == ["Answer again", "Continue the answer", "Copy message", "Quote"]
    answer.set_can_continue(False)
    assert sorted(offered(messages, 4)) == ["Answer again", "Copy message", "Quote"]


def click(qtbot: QtBot, messages: MessageList, index: int, name: str) -> None:
    buttons = messages.view_at(index).actions_row.findChildren(IconButton)
    button = next(button for button in buttons if button.accessibleName() == name)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_every_button_asks_for_its_message(messages: MessageList, qtbot: QtBot) -> None:
    asked: list[tuple[str, object]] = []
    for name in ("edit_requested", "quote_requested", "previous_version_requested", "next_version_requested"):
        getattr(messages, name).connect(lambda value, name=name: asked.append((name, value)))
    for name in ("continue_requested", "regenerate_requested"):
        getattr(messages, name).connect(lambda name=name: asked.append((name, None)))
    click(qtbot, messages, 2, "Edit message")
    click(qtbot, messages, 0, "Previous version")
    click(qtbot, messages, 3, "Next version")
    click(qtbot, messages, 3, "Continue the answer")
    click(qtbot, messages, 3, "Answer again")
    click(qtbot, messages, 3, "Quote")
    assert asked == [
        ("edit_requested", 2),
        ("previous_version_requested", 0),
        ("next_version_requested", 3),
        ("continue_requested", None),
        ("regenerate_requested", None),
        ("quote_requested", "Second answer"),
    ]


@pytest.mark.parametrize(("sought", "quoted"), [("answer", "answer"), ("code", "code")])
def test_quoting_takes_what_is_selected(
    sought: str, quoted: str, messages: MessageList, qtbot: QtBot
) -> None:
    view = messages.view_at(1)
    editor = view.findChild(ProseView) if sought == "answer" else view.body.parts()[1].widget.editor
    cursor: QTextCursor = editor.document().find(sought)
    editor.setTextCursor(cursor)
    with qtbot.waitSignal(messages.quote_requested) as asked:
        click(qtbot, messages, 1, "Quote")
    assert asked.args == [quoted]


def test_the_number_of_the_version_is_shown(messages: MessageList) -> None:
    row = messages.view_at(0).actions_row
    assert row.version_label.text() == "2/3"
    assert not row.version_label.isHidden()
    assert row.previous_button.accessibleDescription() == "version 2 of 3"
    messages.view_at(0).set_versions(3, 3)
    assert row.version_label.text() == "3/3"
    assert not row.next_button.isEnabled()
    messages.view_at(0).set_versions(1, 1)
    assert row.version_label.isHidden()
    assert sorted(offered(messages, 0)) == ["Copy message", "Edit message", "Quote"]


def test_one_stop_for_tab_and_arrows_from_button_to_button(messages: MessageList, qtbot: QtBot) -> None:
    row = messages.view_at(3).actions_row
    row.next_button.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(row.next_button.hasFocus)
    names = []
    for _step in range(6):
        focused = QApplication.focusWidget()
        assert focused is not None
        names.append(focused.accessibleName())
        qtbot.keyClick(focused, Qt.Key.Key_Left)
    expected = [
        "Next version",
        "Copy message",
        "Answer again",
        "Continue the answer",
        "Quote",
        "Quote",
    ]
    assert names == expected
    for _step in expected:
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Right)
    stops = [b for b in row.findChildren(IconButton) if b.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert stops == [row.next_button], "the row is entered again where it was left"
    with qtbot.waitSignal(messages.next_version_requested):
        qtbot.keyClick(row.next_button, Qt.Key.Key_Space)
    messages.view_at(3).set_versions(1, 1)
    stops = [b for b in row.findChildren(IconButton) if b.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert stops == [row.copy_button]


def test_buttons_have_room_beside_a_wide_question(messages: MessageList, qtbot: QtBot) -> None:
    messages.resize(420, 700)
    view = messages.add_user("word " * 100)
    view.set_versions(2, 9)
    quiet(qtbot, messages)
    row, body = view.actions_row.geometry(), view.body.geometry()
    arrow = view.actions_row.next_button
    assert arrow.geometry().right() == view.actions_row.rect().right(), "no room of hidden buttons beside it"
    assert not row.intersects(body)
    assert view.rect().contains(row)


def test_the_accessible_tree_has_a_name_for_everything(messages: MessageList, qtbot: QtBot) -> None:
    thinking = messages.view_at(3).thinking
    assert thinking is not None
    thinking.set_open(True)
    messages.view_at(3).set_notice("Stopped.", ("again", "Try again"))
    quiet(qtbot, messages)
    assert unnamed(messages) == []
