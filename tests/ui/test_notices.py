"""The stack of notices: order, number, what replaces what, and when one ends by itself."""

from __future__ import annotations

from itertools import combinations

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from clover_gui.ui import announce as announcing
from clover_gui.ui.colors import DARK, LIGHT, Colors
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets import notice as notice_module
from clover_gui.ui.widgets import notice_bar
from clover_gui.ui.widgets.notice_bar import MOST, NoticeBar, NoticeKind
from clover_gui.ui.window_style import window_style
from tests.ui.accessible_tree import unnamed


@pytest.fixture
def page(qtbot: QtBot) -> QWidget:
    page = QWidget()
    layout = QVBoxLayout(page)
    page.bar = NoticeBar()
    page.field = QLineEdit()
    layout.addWidget(page.bar)
    layout.addWidget(page.field)
    qtbot.addWidget(page)
    page.show()
    page.activateWindow()
    page.field.setFocus()
    return page


def texts(bar: NoticeBar) -> list[str]:
    return [notice.text for notice in bar.notices]


def test_the_newest_is_on_top_and_the_oldest_information_makes_room(page: QWidget) -> None:
    bar: NoticeBar = page.bar
    assert bar.isHidden()
    bar.show_notice("damaged", NoticeKind.ERROR)
    bar.show_notice("written")
    bar.show_notice("tight", NoticeKind.WARNING)
    assert texts(bar) == ["tight", "written", "damaged"]
    assert bar.isVisible()
    bar.show_notice("another", NoticeKind.ERROR)
    assert texts(bar) == ["another", "tight", "damaged"]
    bar.show_notice("one more")
    assert texts(bar) == ["one more", "another", "tight"]
    assert len(bar.notices) == MOST
    tops = [notice.mapTo(page, notice.rect().topLeft()).y() for notice in bar.notices]
    QApplication.processEvents()
    assert tops == sorted(tops)


def test_what_was_said_is_not_said_twice(page: QWidget) -> None:
    bar: NoticeBar = page.bar
    bar.show_notice("Loading, 10 %", about="load", lasting=True)
    bar.show_notice("damaged", NoticeKind.ERROR)
    first = bar.notices[1]
    bar.show_notice("Loading, 20 %", about="load", lasting=True)
    # The same notice in its place: nothing jumps while it counts.
    assert texts(bar) == ["damaged", "Loading, 20 %"]
    assert bar.notices[1] is first
    bar.show_notice("It failed.", NoticeKind.ERROR, about="load")
    assert texts(bar) == ["It failed.", "damaged"]
    bar.show_notice("damaged", NoticeKind.ERROR)
    assert len(bar.notices) == 2
    bar.withdraw("load")
    assert texts(bar) == ["damaged"]
    assert not bar.says("load")
    bar.withdraw("load")
    bar.hide()
    assert bar.isHidden()
    assert texts(bar) == []


def test_each_can_be_closed_and_its_action_ends_it(page: QWidget, qtbot: QtBot) -> None:
    bar: NoticeBar = page.bar
    bar.show_notice("deleted", action=("undo", "Undo"))
    bar.show_notice("damaged", NoticeKind.ERROR)
    with qtbot.waitSignal(bar.action_triggered) as acted:
        QTest.mouseClick(bar.notices[1].action_button, Qt.MouseButton.LeftButton)
    assert acted.args == ["undo"]
    assert texts(bar) == ["damaged"]
    with qtbot.waitSignal(bar.closed):
        QTest.mouseClick(bar.close_button, Qt.MouseButton.LeftButton)
    assert bar.isHidden()


def test_by_keyboard_the_focus_goes_to_the_next_one(page: QWidget) -> None:
    bar: NoticeBar = page.bar
    bar.show_notice("first", NoticeKind.ERROR)
    bar.show_notice("second", NoticeKind.ERROR)
    bar.close_button.setFocus()
    QTest.keyClick(bar.close_button, Qt.Key.Key_Space)
    assert texts(bar) == ["first"]
    assert bar.close_button.hasFocus()


def test_information_ends_by_itself_and_errors_stay(
    page: QWidget, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notice_module, "LEAST_MS", 20)
    monkeypatch.setattr(notice_module, "MS_PER_CHARACTER", 0)
    bar: NoticeBar = page.bar
    bar.show_notice("error", NoticeKind.ERROR)
    bar.show_notice("warning", NoticeKind.WARNING)
    bar.show_notice("information")
    qtbot.waitUntil(lambda: texts(bar) == ["warning", "error"])
    assert not any(notice.ends_by_itself for notice in bar.notices)
    bar.show_notice("lasting", lasting=True)
    assert not bar.notices[0].ends_by_itself


def test_not_while_somebody_looks_at_it(page: QWidget, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice_module, "LEAST_MS", 20)
    monkeypatch.setattr(notice_module, "MS_PER_CHARACTER", 0)
    bar: NoticeBar = page.bar
    bar.show_notice("read me")
    notice = bar.notices[0]
    point = QPointF(3, 3)
    notice.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, True)
    QApplication.sendEvent(notice, QEnterEvent(point, point, point))
    assert not notice.ends_by_itself
    notice.close_button.setFocus()
    notice.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
    QApplication.sendEvent(notice, QEvent(QEvent.Type.Leave))
    QApplication.processEvents()
    assert not notice.ends_by_itself  # the keyboard is there
    page.field.setFocus()
    qtbot.waitUntil(lambda: texts(bar) == [])


def test_news_are_announced_and_progress_is_not(page: QWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(notice_bar, "announce", lambda _widget, text: said.append(text))
    assert announcing.announce is not notice_bar.announce
    bar: NoticeBar = page.bar
    for percent in range(5):
        bar.show_notice(f"Loading, {percent} %", about="load", lasting=True)
    bar.show_notice("failed", NoticeKind.ERROR, about="load")
    assert said == ["Loading, 0 %", "failed"]


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_a_failure_does_not_look_like_good_news(page: QWidget, theme: Theme, colors: Colors) -> None:
    bar: NoticeBar = page.bar
    page.setStyleSheet(window_style(colors, theme.em, 10.0))
    looks = {}
    for kind in NoticeKind:
        bar.show_notice(f"some {kind.value}", kind)
        QApplication.processEvents()
        notice = bar.notices[0]
        picture = notice.grab().toImage()
        icon = notice.icon.grab().toImage()
        looks[kind] = picture.pixelColor(picture.width() // 2, 2).name(), icon
        assert notice.icon.accessibleName() == {"info": "Information"}.get(
            kind.value, kind.value.capitalize()
        )
    grounds = [ground for ground, _icon in looks.values()]
    assert grounds == [colors.notice, colors.notice_warning, colors.notice_error]
    icons = [icon for _ground, icon in looks.values()]
    assert all(one != other for one, other in combinations(icons, 2))


def test_what_is_said_of_a_chat_goes_with_it(page: QWidget) -> None:
    bar: NoticeBar = page.bar
    bar.show_notice("of the chat", NoticeKind.ERROR, of_chat=True)
    bar.show_notice("of all", NoticeKind.ERROR)
    bar.leave_chat()
    assert texts(bar) == ["of all"]


def test_a_click_leaves_the_keyboard_where_it_is(page: QWidget, qtbot: QtBot) -> None:
    bar: NoticeBar = page.bar
    qtbot.waitUntil(page.field.hasFocus)
    bar.show_notice("deleted", action=("undo", "Undo"))
    QTest.mouseClick(bar.action_button, Qt.MouseButton.LeftButton)
    assert page.field.hasFocus()
    bar.show_notice("deleted", action=("undo", "Undo"))
    bar.action_button.setFocus()
    with qtbot.waitSignal(bar.focus_freed):
        QTest.keyClick(bar.action_button, Qt.Key.Key_Space)


def test_every_part_has_a_name(page: QWidget) -> None:
    page.field.setAccessibleName("Field")
    page.bar.show_notice("a")
    page.bar.show_notice("b", NoticeKind.ERROR, ("key", "Do it"))
    assert unnamed(page) == []
