"""One message: what it shows, says to screen readers, copies and asks for; thinking and plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from clover_gui.ui.chat import thinking_view
from clover_gui.ui.chat.message_view import MessageView, Role
from clover_gui.ui.chat.thinking_view import ThinkingView
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.plain_body import COLLAPSED, PlainBody
from clover_gui.ui.widgets.prose_view import ProseView

WIDTH = 600
ViewMaker = Callable[[Role], MessageView]


@pytest.fixture
def make_view(theme: Theme, qtbot: QtBot) -> Iterator[ViewMaker]:
    """Inside a small window, as in a conversation: only a part of a long message is painted."""
    windows: list[QWidget] = []

    def make(role: Role) -> MessageView:
        window = QWidget()
        windows.append(window)
        qtbot.addWidget(window)
        window.resize(WIDTH, 400)
        view = MessageView(role, 3, theme, window)
        view.fit(WIDTH)
        window.show()
        return view

    yield make
    for window in windows:
        window.close()


@pytest.fixture
def answer(make_view: ViewMaker) -> MessageView:
    return make_view(Role.ANSWER)


def shown_text(view: QWidget) -> str:
    return "\n".join(part.toPlainText() for part in view.findChildren(ProseView) if not part.isHidden())


def settled(view: MessageView) -> Callable[[], bool]:
    return lambda: isinstance(view.body, MessageBody) and view.body.is_settled


def test_names_for_screen_readers(make_view: ViewMaker, qtbot: QtBot) -> None:
    user, answer = make_view(Role.USER), make_view(Role.ANSWER)
    user.set_user_text("hello")
    answer.append_thinking("hm")
    answer.append_answer("hi")
    answer.set_notice("Stopped.", ("again", "Try again"))
    answer.finish()
    qtbot.waitUntil(settled(answer))
    assert user.accessibleName() == "You, message 3"
    assert answer.accessibleName() == "Answer, message 3"
    for view in (user, answer):
        for control in view.findChildren(QWidget):
            if control.focusPolicy() & Qt.FocusPolicy.TabFocus and not control.isHidden():
                text = control.text() if isinstance(control, QAbstractButton) else ""
                assert control.accessibleName() or text, control


def test_what_a_person_wrote_is_not_markdown(make_view: ViewMaker) -> None:
    text = "# not a heading\n*stars* <b>x</b>  two spaces\n\n\tindented ![i](http://x.example)"
    view = make_view(Role.USER)
    view.set_user_text(text)
    assert shown_text(view) == text
    assert view.text() == text
    view.copy_text()
    assert QApplication.clipboard().text() == text


def test_a_short_question_makes_a_small_bubble_on_the_right(make_view: ViewMaker) -> None:
    view = make_view(Role.USER)
    view.set_user_text("Hi")
    assert view.body.width() < WIDTH / 4
    assert view.body.x() > WIDTH / 2
    view.set_user_text("word " * 200)
    assert view.body.width() > WIDTH / 2
    assert view.body.x() > 0


def test_a_long_paste_is_collapsed_and_can_be_shown(make_view: ViewMaker, qtbot: QtBot) -> None:
    text = "x" * 500_000 + "\n" + "word " * 100_000
    view = make_view(Role.USER)
    view.set_user_text(text)
    body = view.body
    assert isinstance(body, PlainBody)
    assert body.is_collapsed
    assert len(shown_text(view)) <= COLLAPSED + 1
    low = view.height()
    body.show_all()
    qtbot.waitUntil(
        lambda: shown_text(view).replace("\n", "").rstrip() == text.replace("\n", "").rstrip(), timeout=30_000
    )
    assert view.height() > 10 * low
    assert view.text() == text


def test_an_answer_grows_and_tells_it(answer: MessageView, qtbot: QtBot) -> None:
    before = answer.height()
    with qtbot.waitSignal(answer.height_changed):
        answer.append_answer("# Title\n\nText\n")
    assert answer.height() > before
    answer.finish()
    qtbot.waitUntil(settled(answer))
    answer.copy_text()
    assert QApplication.clipboard().text() == "# Title\n\nText\n"


def test_details_and_notice(answer: MessageView, qtbot: QtBot) -> None:
    answer.append_answer("partial")
    answer.finish()
    qtbot.waitUntil(settled(answer))
    bare = answer.height()
    answer.set_details("204 tokens · 62.1 tok/s")
    answer.set_notice("The engine stopped. " * 10, ("again", "Try again"))
    assert answer.height() > bare
    assert answer.notice is not None
    asked: list[str] = []
    answer.action_triggered.connect(asked.append)
    qtbot.mouseClick(answer.notice.button, Qt.MouseButton.LeftButton)
    assert asked == ["again"]
    answer.set_notice("")
    assert answer.notice.isHidden()


def test_buttons_show_on_hover_and_on_focus(answer: MessageView, qtbot: QtBot) -> None:
    answer.append_answer("text")
    answer.finish()
    answer.set_can_regenerate(True)
    qtbot.waitUntil(settled(answer))
    button = answer.regenerate_button
    assert not button.isHidden()
    QApplication.sendEvent(answer, QEvent(QEvent.Type.Leave))
    hidden = button.grab().toImage()
    QApplication.sendEvent(answer, QEnterEvent(QPointF(), QPointF(), QPointF()))
    hovered = button.grab().toImage()
    QApplication.sendEvent(answer, QEvent(QEvent.Type.Leave))
    assert button.grab().toImage() == hidden != hovered
    answer.activateWindow()
    button.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(button.hasFocus)
    assert button.grab().toImage() != hidden
    with qtbot.waitSignal(answer.regenerate_requested):
        qtbot.keyClick(button, Qt.Key.Key_Space)
    with qtbot.waitSignal(answer.copy_requested):
        qtbot.keyClick(answer.copy_button, Qt.Key.Key_Space)


def test_another_answer_is_offered_only_when_it_is_possible(answer: MessageView) -> None:
    answer.append_answer("text")
    answer.set_can_regenerate(True)
    assert answer.regenerate_button.isHidden()
    answer.finish()
    assert not answer.regenerate_button.isHidden()
    answer.set_can_regenerate(False)
    assert answer.regenerate_button.isHidden()


# Thinking


def test_thinking_is_folded_and_costs_nothing(
    answer: MessageView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    class Counted(MessageBody):
        def __init__(self, *args: object, **options: object) -> None:
            made.append(self)
            super().__init__(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(thinking_view, "MessageBody", Counted)
    for number in range(500):
        answer.append_thinking(f"- thought {number}\n")
    thinking = answer.thinking
    assert thinking is not None
    assert not thinking.is_open
    QApplication.processEvents()
    assert made == []
    assert not thinking.findChildren(ProseView)
    thinking.set_open(True)
    qtbot.waitUntil(lambda: "thought 499" in shown_text(thinking), timeout=30_000)
    assert len(made) == 1
    thinking.set_open(False)
    renders = len(thinking.findChildren(ProseView))
    for number in range(500):
        answer.append_thinking(f"- later {number}\n")
    QApplication.processEvents()
    assert len(thinking.findChildren(ProseView)) <= renders
    assert len(made) == 1
    assert thinking.text().endswith("- later 499\n")


def test_thinking_is_rendered_as_markdown_while_it_runs(answer: MessageView, qtbot: QtBot) -> None:
    answer.append_thinking("First **bold**\n\n- a\n")
    assert answer.thinking is not None
    qtbot.keyClick(answer.thinking.header, Qt.Key.Key_Space)
    answer.append_thinking("- b\n")
    qtbot.waitUntil(lambda: "b" in shown_text(answer.thinking or answer).split())
    html = "".join(v.html_source for v in answer.thinking.findChildren(ProseView))
    assert "<strong>bold</strong>" in html
    assert "<li>" in html


def test_the_header_counts_and_then_stands_still(
    answer: MessageView, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(thinking_view.time, "monotonic", lambda: now[0])
    answer.append_thinking("hm")
    assert answer.thinking is not None
    header = answer.thinking.header
    assert header.text() == "Thinking… 0 s"
    now[0] += 12
    answer.set_thinking_progress(None, 340)
    assert header.text() == "Thinking… 12 s · 340 tokens"
    answer.append_answer("So:")
    assert header.text() == "Thought for 12 s · 340 tokens"
    now[0] += 60
    answer.finish()
    assert header.text() == "Thought for 12 s · 340 tokens"
    answer.end_thinking(13.4, 1_350)
    assert header.text() == "Thought for 13 s · 1,350 tokens"


def test_the_clock_runs_by_itself_and_stops(theme: Theme, qtbot: QtBot) -> None:
    view = ThinkingView(theme)
    qtbot.addWidget(view)
    view.append("x")
    view._clock.setInterval(1)
    view._started -= 5
    qtbot.waitUntil(lambda: view.header.text() == "Thinking… 5 s")
    view.finish()
    assert not view._clock.isActive()


def test_stored_thinking(answer: MessageView, qtbot: QtBot) -> None:
    answer.set_thinking("because", None, None)
    answer.set_answer("so")
    assert answer.thinking is not None
    assert answer.thinking.header.text() == "Thoughts"
    answer.set_thinking("because", 12.0, 1)
    assert answer.thinking.header.text() == "Thought for 12 s · 1 token"
    assert answer.thinking.header.accessibleName().endswith("folded")
    answer.thinking.set_open(True)
    assert shown_text(answer.thinking) == "because"
    assert answer.thinking.header.accessibleName().endswith("opened")


def test_opening_thinking_makes_room(answer: MessageView, qtbot: QtBot) -> None:
    answer.set_thinking("line\n\n" * 10, 1.0, 30)
    answer.set_answer("answer")
    assert answer.thinking is not None
    low, place = answer.height(), answer.body.y()
    answer.thinking.set_open(True)
    assert answer.height() > low
    assert answer.body.y() > place
    answer.thinking.set_open(False)
    assert answer.height() == low
