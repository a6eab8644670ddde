"""The conversation: follows only at the end, moves nothing that is read, stays fast with many messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractSlider, QApplication, QWidget
from pytestqt.qtbot import QtBot

from clover_gui.ui.chat.message_list import HistoryMessage, MessageList
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.prose_view import ProseView
from tests.ui.markdown_texts import MIXED
from tests.ui.test_message_body import wheel


@pytest.fixture
def messages(theme: Theme, qtbot: QtBot) -> Iterator[MessageList]:
    view = MessageList(theme)
    qtbot.addWidget(view)
    view.resize(800, 600)
    view.show()
    yield view
    view.close()


def history(count: int, text: str = MIXED) -> list[HistoryMessage]:
    return [
        HistoryMessage(True, f"Question {i}?") if i % 2 == 0 else HistoryMessage(False, f"No. {i}\n\n{text}")
        for i in range(count)
    ]


def views(messages: MessageList) -> list[MessageView]:
    return [v for v in messages.findChildren(MessageView) if not v.isHidden()]


def place_of(messages: MessageList, text: str) -> int:
    """How far below the upper edge a text stands."""
    for view in messages.findChildren(ProseView):
        if view.isVisible() and not view.document().find(text).isNull():
            cursor = view.document().find(text)
            return view.viewport().mapTo(messages, view.cursorRect(cursor).topLeft()).y()
    raise AssertionError(f"{text!r} is not shown")


def quiet(qtbot: QtBot, messages: MessageList) -> None:
    """Wait until all work in pauses is done."""
    qtbot.waitUntil(lambda: not messages._settle_timer.isActive(), timeout=20_000)
    for view in views(messages):
        if isinstance(view.body, MessageBody):
            qtbot.waitUntil(lambda b=view.body: b.is_settled, timeout=20_000)


def write(messages: MessageList, answer: MessageView, qtbot: QtBot, text: str) -> None:
    """One piece of an answer, and wait until it is drawn."""
    body = answer.body
    assert isinstance(body, MessageBody)
    answer.append_answer(text)
    qtbot.waitUntil(lambda: body._unfed == "" and not body._timer.isActive())
    QApplication.processEvents()


def test_follows_the_newest_text(messages: MessageList, qtbot: QtBot) -> None:
    messages.add_user("Tell me something long.")
    answer = messages.add_answer()
    bar = messages.verticalScrollBar()
    for number in range(20):
        write(messages, answer, qtbot, f"Paragraph {number}.\n\n")
        assert bar.value() == bar.maximum()
    answer.finish()
    quiet(qtbot, messages)
    assert messages.is_following
    assert bar.value() == bar.maximum() > 0


@pytest.mark.parametrize("how", ["wheel", "key", "drag"])
def test_scrolling_up_stops_following_at_once(how: str, messages: MessageList, qtbot: QtBot) -> None:
    answer = messages.add_answer()
    for number in range(40):
        write(messages, answer, qtbot, f"Paragraph {number}.\n\n")
    bar = messages.verticalScrollBar()
    if how == "wheel":
        wheel(messages.viewport(), QPoint(0, 8))
    elif how == "key":
        qtbot.keyClick(messages, Qt.Key.Key_Up)
    else:
        bar.setSliderDown(True)
        bar.setSliderPosition(bar.maximum() - 1)
        bar.triggerAction(QAbstractSlider.SliderAction.SliderMove)
    value = bar.value()
    assert value < bar.maximum()
    assert not messages.is_following
    for number in range(10):
        write(messages, answer, qtbot, f"More {number}.\n\n")
        assert bar.value() == value
    answer.finish()
    answer.set_details("50 tokens")
    quiet(qtbot, messages)
    assert bar.value() == value
    assert messages._jump_button.isVisible()
    qtbot.mouseClick(messages._jump_button, Qt.MouseButton.LeftButton)
    assert bar.value() == bar.maximum()
    assert messages.is_following
    assert messages._jump_button.isHidden()


def test_reaching_the_end_follows_again(messages: MessageList, qtbot: QtBot) -> None:
    answer = messages.add_answer()
    for number in range(40):
        write(messages, answer, qtbot, f"Paragraph {number}.\n\n")
    qtbot.keyClick(messages, Qt.Key.Key_Home)
    assert messages.verticalScrollBar().value() == 0
    qtbot.keyClick(messages, Qt.Key.Key_End)
    assert messages.is_following
    write(messages, answer, qtbot, "More.\n\n" * 5)
    assert messages.verticalScrollBar().value() == messages.verticalScrollBar().maximum()


def test_nothing_jumps_when_the_answer_ends(messages: MessageList, qtbot: QtBot) -> None:
    """Paragraphs are joined at the end; what is read stays where it is, to the pixel."""
    answer = messages.add_answer()
    for number in range(30):
        write(messages, answer, qtbot, f"Text {number} here.\n\n- a\n- b\n\n### Head\n\n")
    messages.verticalScrollBar().setValue(messages.verticalScrollBar().maximum() // 2)
    visible = next(f"Text {n} " for n in range(29, -1, -1) if 0 < _try_place(messages, f"Text {n} ") < 500)
    before = place_of(messages, visible)
    answer.finish()
    quiet(qtbot, messages)
    assert place_of(messages, visible) == before


def _try_place(messages: MessageList, text: str) -> int:
    try:
        return place_of(messages, text)
    except AssertionError:
        return -1


def test_a_thousand_messages_build_only_what_is_near(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history(history(1_000))
    bar = messages.verticalScrollBar()
    assert bar.value() == bar.maximum() > 100_000
    assert place_of(messages, "No. 999") < 600
    quiet(qtbot, messages)
    assert len(views(messages)) < 12
    for share in (0.7, 0.3, 0.9, 0.0, 0.5):
        bar.setValue(round(bar.maximum() * share))
        QApplication.processEvents()
        first, last = messages.visible_range()
        assert all(messages.view_at(i).isVisible() for i in range(first, last))
    quiet(qtbot, messages)
    assert len(messages.findChildren(MessageView)) < 70


@pytest.mark.parametrize("patient", [True, False])
def test_building_older_messages_keeps_the_place(patient: bool, messages: MessageList, qtbot: QtBot) -> None:
    """Heights that were guessed wrong, and texts that take several slices, move nothing in sight."""
    messages.set_history(history(60, "Short.\n\n" * 3) + history(40, MIXED * 2))
    quiet(qtbot, messages)
    for _step in range(40):
        _first, last = messages.visible_range()
        view = messages.view_at(last - 1)
        place = view.mapTo(messages, QPoint(0, 0)).y()
        wheel(messages.viewport(), QPoint(0, 240))
        if patient:
            quiet(qtbot, messages)
        else:
            QApplication.processEvents()
        assert view.mapTo(messages, QPoint(0, 0)).y() - place == 120


def test_messages_out_of_sight_are_laid_out_later(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history(history(200))
    quiet(qtbot, messages)
    messages.scroll_to(150)
    quiet(qtbot, messages)
    number = place_of(messages, "No. 151")
    messages.resize(500, 600)
    width = messages._column._text_width
    first, last = messages.visible_range()
    assert all(messages.view_at(i).width() == width for i in range(first, last))
    assert abs(place_of(messages, "No. 151") - number) < 30
    quiet(qtbot, messages)
    near = range(*messages._near_range())
    assert all(messages.view_at(i).width() == width for i in near)


def test_opened_thinking_is_remembered_and_read_from_its_beginning(
    messages: MessageList, qtbot: QtBot
) -> None:
    stored = [HistoryMessage(False, "Answer.", "Thought.\n\n" * 40, 3.0, 90) for _ in range(200)]
    messages.set_history(stored)
    quiet(qtbot, messages)
    last = messages.view_at(199)
    assert last.thinking is not None
    header = last.thinking.header
    place = header.mapTo(messages, QPoint(0, 0)).y()
    qtbot.mouseClick(header, Qt.MouseButton.LeftButton)
    quiet(qtbot, messages)
    assert header.mapTo(messages, QPoint(0, 0)).y() == place
    for index in range(0, 200, 3):
        messages.scroll_to(index)
        QApplication.processEvents()
    messages.scroll_to(0)
    quiet(qtbot, messages)
    again = messages.view_at(199).thinking
    assert again is not None
    assert again.is_open


def test_sending_goes_to_the_end(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history(history(50))
    messages.scroll_to(10)
    assert not messages.is_following
    messages.add_user("New question")
    assert messages.is_following
    assert 0 < place_of(messages, "New question") < 600


def test_only_the_last_answer_can_be_asked_for_again(messages: MessageList, qtbot: QtBot) -> None:
    first = messages.add_answer()
    first.append_answer("one")
    first.finish()
    assert not first.regenerate_button.isHidden()
    messages.add_user("next")
    second = messages.add_answer()
    second.append_answer("two")
    second.finish()
    assert first.regenerate_button.isHidden()
    with qtbot.waitSignal(messages.regenerate_requested):
        second.regenerate_button.click()
    messages.remove_last_answer()
    assert len(messages) == 2
    messages.remove_last_answer()
    assert len(messages) == 2, "a question is no answer"


def test_signals_of_messages_come_through(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history(
        [HistoryMessage(False, "[a](https://a.example)", notice="!", notice_action=("x", "X"))]
    )
    view = messages.view_at(0)
    with qtbot.waitSignal(messages.link_activated) as link:
        view.link_activated.emit("https://a.example")
    assert link.args == ["https://a.example"]
    assert view.notice is not None
    with qtbot.waitSignal(messages.action_triggered) as action:
        view.notice.button.click()
    assert action.args == ["x"]


def test_clear_frees_the_widgets(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history(history(20))
    quiet(qtbot, messages)
    messages.clear()
    qtbot.waitUntil(lambda: not messages.findChildren(MessageView))
    assert len(messages) == 0
    assert messages.verticalScrollBar().maximum() == 0


def test_a_new_theme_reaches_every_message(messages: MessageList, theme: Theme, qapp: QApplication) -> None:
    messages.set_history(history(6))
    light = messages.grab().toImage().pixelColor(3, 3)
    theme.apply(qapp, Mode.DARK)
    dark = messages.grab().toImage().pixelColor(3, 3)
    assert light.lightness() > 200 > 60 > dark.lightness()


def test_every_control_has_a_name(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history(history(6))
    quiet(qtbot, messages)
    for control in messages.findChildren(QWidget):
        if control.focusPolicy() & Qt.FocusPolicy.TabFocus and control.isVisible():
            assert control.accessibleName(), control


def test_by_keyboard_alone(messages: MessageList, qtbot: QtBot) -> None:
    """Tab goes through the parts of the messages in reading order, and what has the focus can be seen."""
    messages.set_history(
        [HistoryMessage(True, "Q"), HistoryMessage(False, "A\n\n```sh\ncode\n```\n\nEnd", "T")]
    )
    quiet(qtbot, messages)
    messages.activateWindow()
    messages.setFocus()
    qtbot.waitUntil(messages.hasFocus)
    names: list[str] = []
    for _step in range(8):
        before = messages.grab().toImage()
        messages.focusNextChild()
        focused = QApplication.focusWidget()
        assert focused is not None
        names.append(focused.accessibleName())
        assert messages.grab().toImage() != before, names
    assert names == [
        "You, message 1",
        "Copy message",
        "Thoughts, folded",
        "Answer, message 2",
        "Copy code",
        "Code, sh",
        "Answer, message 2",
        "Copy message",
    ]


def test_page_keys_scroll_while_a_text_has_the_focus(messages: MessageList, qtbot: QtBot) -> None:
    messages.set_history(history(30))
    quiet(qtbot, messages)
    text = next(v for v in messages.findChildren(ProseView) if v.isVisible() and v.visibleRegion())
    value = messages.verticalScrollBar().value()
    text.setFocus()
    qtbot.keyClick(text, Qt.Key.Key_PageUp)
    assert messages.verticalScrollBar().value() < value
