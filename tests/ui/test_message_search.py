"""Searching in a conversation: every place is found, whether its message has a widget or not, and shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from clover_gui.ui.chat.find_bar import FindBar
from clover_gui.ui.chat.message_list import HistoryMessage, MessageList
from clover_gui.ui.chat.message_search import MessageSearch
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.code_block import CodeBlock
from clover_gui.ui.widgets.found_text import places_in
from clover_gui.ui.widgets.prose_view import ProseView
from tests.ui.accessible_tree import unnamed
from tests.ui.markdown_texts import MIXED
from tests.ui.test_message_list import quiet, views


@pytest.mark.parametrize(
    ("text", "sought", "places"),
    [
        ("One two ONE", "one", [0, 8]),
        ("aaaa", "aa", [0, 2]),
        ("Straße STRASSE", "straße", [0]),
        ("ÄÖÜ äöü", "äöü", [0, 4]),
        ("İstanbul x", "x", [9]),
        ("a.b (c) [d]", ".b (", [1]),
        ("", "a", []),
        ("a", "", []),
    ],
)
def test_places(text: str, sought: str, places: list[int]) -> None:
    assert places_in(text, sought) == places


def test_going_from_place_to_place() -> None:
    texts = ["a x", "x", "none", "x a x"]
    search = MessageSearch()
    assert search.find(texts, "x", True, first=1) == (2, 4), "it begins with what is read"
    assert [search.find(texts, "x", True, 0)[0] for _step in range(4)] == [3, 4, 1, 2]
    assert search.find(texts, "x", False, 0) == (1, 4)
    assert search.find(texts, "x", False, 0) == (4, 4)
    assert search.place == (3, 4)
    assert search.find(texts, "X A", True, 0) == (1, 1)
    assert search.find(texts, "nothing", True, 0) == (0, 0)
    assert search.place is None


def test_typing_on_stays_where_it_fits() -> None:
    texts = ["abc", "abd", "abc"]
    search = MessageSearch()
    assert search.find(texts, "a", True, 1) == (2, 3)
    assert search.find(texts, "ab", True, 1) == (2, 3)
    assert search.find(texts, "abc", True, 1) == (2, 2)


# In the conversation


@pytest.fixture
def messages(theme: Theme, qtbot: QtBot) -> Iterator[MessageList]:
    view = MessageList(theme)
    qtbot.addWidget(view)
    view.resize(800, 600)
    view.show()
    yield view
    view.close()


def marked(view: MessageView, current: bool = False) -> list[str]:
    """The texts that are marked in a message, or only the one that is looked at."""
    accent = view._theme.colors.accent
    editors: list[QTextEdit | QPlainTextEdit] = [
        *view.findChildren(ProseView),
        *view.findChildren(QPlainTextEdit),
    ]
    return [
        mark.cursor.selectedText()
        for editor in editors
        if not editor.isHidden()
        for mark in editor.extraSelections()
        if not current or mark.format.background().color().name() == accent
    ]


def found_place(messages: MessageList) -> int:
    """How far below the upper edge the place looked at stands."""
    assert messages._search.place is not None
    view = messages.view_at(messages._search.place[0])
    rect = view.found_rect()
    assert rect is not None
    return view.mapTo(messages, rect.topLeft()).y()


def test_all_messages_are_searched(messages: MessageList, qtbot: QtBot) -> None:
    stored = [
        HistoryMessage(i % 2 == 0, f"Message {i} with a needle." if i % 100 == 7 else MIXED)
        for i in range(500)
    ]
    messages.set_history(stored)
    quiet(qtbot, messages)
    assert len(views(messages)) < 20
    for number in (1, 2, 3, 4, 5, 1):
        assert messages.find_text("NEEDLE") == (number, 5)
        place = messages._search.place
        assert place is not None
        assert marked(messages.view_at(place[0]), current=True) == ["needle"]
        assert 0 < found_place(messages) < 560
    assert not messages.is_following
    assert messages.find_text("needle", forward=False) == (5, 5)
    quiet(qtbot, messages)
    assert 0 < found_place(messages) < 560
    assert len(messages.findChildren(MessageView)) < 70


def test_text_code_and_tables_are_marked(messages: MessageList, qtbot: QtBot) -> None:
    text = "Word **word** [link](https://word.example)\n\n```word\nx = word\n```\n\n| word |\n|---|\n| b |\n"
    messages.set_history([HistoryMessage(False, text)])
    quiet(qtbot, messages)
    assert messages.find_text("word") == (1, 6)
    view = messages.view_at(0)
    assert marked(view) == ["Word", "word", "word", "word"]
    assert marked(view, current=True) == ["Word"]
    code = view.findChild(CodeBlock)
    assert code is not None
    for _step in range(4):
        messages.find_text("word")
    assert [mark.cursor.selectedText() for mark in code.editor.extraSelections()] == ["word"]
    assert marked(view, current=True) == ["word"]
    assert code.found_rect() is not None, "the place in the code is looked at"
    messages.clear_find()
    assert marked(view) == []


def test_marks_come_to_text_that_is_written_later(messages: MessageList, qtbot: QtBot) -> None:
    messages.add_user("a needle")
    answer = messages.add_answer()
    assert messages.find_text("needle") == (1, 1)
    answer.append_answer("First needle.\n\nSecond **needle**.\n\n```\nneedle\n```\n")
    answer.finish()
    quiet(qtbot, messages)
    assert marked(answer) == ["needle"] * 3
    assert messages.find_text("needle") == (2, 4)


def test_a_place_far_down_in_long_texts_is_shown_when_it_is_drawn(
    messages: MessageList, qtbot: QtBot
) -> None:
    paste = "line\n" * 20_000 + "a needle\n" + "line\n" * 5_000
    answer = "Paragraph.\n\n" * 3_000 + "A needle.\n\n" + "Paragraph.\n\n" * 500
    messages.set_history([HistoryMessage(True, paste), HistoryMessage(False, answer)])
    quiet(qtbot, messages)
    assert messages.find_text("needle") == (2, 2), "it begins with what is read"
    qtbot.waitUntil(lambda: not messages._reveal_found, timeout=20_000)
    assert 0 < found_place(messages) < 560
    assert messages.find_text("needle") == (1, 2)
    qtbot.waitUntil(lambda: not messages._reveal_found, timeout=20_000)
    quiet(qtbot, messages)
    assert 0 < found_place(messages) < 560
    assert marked(messages.view_at(0), current=True) == ["needle"]


def test_a_place_far_right_in_code_is_scrolled_to(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history([HistoryMessage(False, "```\n" + "x" * 2_000 + " needle\n```\n")])
    quiet(qtbot, messages)
    messages.find_text("needle")
    code = messages.view_at(0).findChild(CodeBlock)
    assert code is not None
    assert code.editor.horizontalScrollBar().value() > 1_000
    rect = code.found_rect()
    assert rect is not None
    assert 0 < rect.x() < code.width()


def test_what_is_in_sight_is_not_moved(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history([HistoryMessage(False, "text\n\none needle\n\ntwo needle\n\n" + "text\n\n" * 60)])
    messages.scroll_to(0)
    quiet(qtbot, messages)
    value = messages.verticalScrollBar().value()
    messages.find_text("needle")
    messages.find_text("needle")
    assert messages.verticalScrollBar().value() == value


def test_nothing_is_left_when_messages_go(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history([HistoryMessage(True, "needle"), HistoryMessage(False, "needle")])
    messages.find_text("needle")
    messages.remove_from(0)
    assert messages.find_text("needle") == (0, 0)
    assert messages.find_text("") == (0, 0)


# The bar


@pytest.fixture
def bar(theme: Theme, qtbot: QtBot) -> Iterator[FindBar]:
    window = QWidget()
    qtbot.addWidget(window)
    made = FindBar(theme)
    QVBoxLayout(window).addWidget(made)
    window.show()
    window.activateWindow()
    made.open()
    qtbot.waitUntil(made.field.hasFocus)
    yield made
    window.close()


def test_the_bar_by_keyboard(bar: FindBar, qtbot: QtBot) -> None:
    asked: list[tuple[str, bool]] = []
    bar.find_requested.connect(lambda text, forward: asked.append((text, forward)))
    qtbot.keyClicks(bar.field, "ab")
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert asked == [("a", True), ("ab", True), ("ab", True), ("ab", False)]
    with qtbot.waitSignal(bar.closed):
        qtbot.keyClick(bar.field, Qt.Key.Key_Escape)
    assert bar.isHidden()


def test_the_bar_tells_the_number_of_places(bar: FindBar, qtbot: QtBot) -> None:
    assert bar.count.text() == ""
    assert not bar.next_button.isEnabled()
    bar.field.setText("x")
    bar.show_place(3, 1_234)
    assert bar.count.text() == "3 of 1,234"
    asked: list[bool] = []
    bar.find_requested.connect(lambda _text, forward: asked.append(forward))
    qtbot.mouseClick(bar.next_button, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    qtbot.mouseClick(bar.previous_button, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert asked == [True, False]
    bar.show_place(0, 0)
    assert bar.count.text() == "Not found"
    assert not bar.next_button.isEnabled()
    assert unnamed(bar) == []


def test_opening_the_bar_again_looks_for_the_last_text(bar: FindBar, qtbot: QtBot) -> None:
    bar.field.setText("again")
    bar.dismiss()
    with qtbot.waitSignal(bar.find_requested) as asked:
        bar.open()
    assert asked.args == ["again", True]
    assert bar.field.selectedText() == "again"
