"""Writing and sending: keys, states, input methods."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from clover_gui.ui.chat.composer import Composer
from clover_gui.ui.chat.message_edit import MAX_LINES


@pytest.fixture
def composer(qtbot, theme) -> Composer:
    widget = Composer(theme)
    qtbot.addWidget(widget)
    widget.set_state(ready=True, answering=False)
    widget.show()
    return widget


@pytest.fixture
def sent(composer: Composer) -> list[str]:
    texts: list[str] = []
    composer.send_requested.connect(texts.append)
    return texts


def test_enter_sends_and_empties_the_field(composer: Composer, sent: list[str]) -> None:
    composer.set_text("Hello")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == ["Hello"]
    assert composer.text() == ""


def test_shift_enter_breaks_the_line(composer: Composer, sent: list[str]) -> None:
    composer.set_text("one")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    composer.edit.insertPlainText("two")
    assert sent == []
    assert composer.text() == "one\ntwo"


def test_enter_belongs_to_the_input_method_while_it_composes(composer: Composer, sent: list[str]) -> None:
    composer.edit.insertPlainText("に")
    QApplication.sendEvent(composer.edit, QInputMethodEvent("ほん", []))
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == []
    done = QInputMethodEvent("", [])
    done.setCommitString("本")
    QApplication.sendEvent(composer.edit, done)
    composer.set_text("日本")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == ["日本"]


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_nothing_but_space_is_not_sent(composer: Composer, sent: list[str], text: str) -> None:
    composer.set_text(text)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == []
    assert not composer.send_button.isEnabled()


def test_without_a_model_nothing_is_sent_and_the_text_stays(composer: Composer, sent: list[str]) -> None:
    composer.set_state(ready=False, answering=False)
    composer.set_text("Hello")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == []
    assert composer.text() == "Hello"


def test_the_button_stops_while_an_answer_runs(qtbot, composer: Composer, sent: list[str]) -> None:
    composer.set_state(ready=True, answering=True)
    composer.set_text("next")
    assert composer.send_button.text() == "Stop"
    with qtbot.waitSignal(composer.stop_requested):
        composer.send_button.click()
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert sent == []
    assert composer.text() == "next"


def test_the_thinking_switch_tells_its_state_and_its_reason(composer: Composer) -> None:
    composer.set_thinking(True)
    assert composer.thinking is True
    composer.thinking_button.click()
    assert composer.thinking is False
    composer.set_thinking(True, "This file cannot.")
    assert composer.thinking is None
    assert not composer.thinking_button.isEnabled()
    assert composer.thinking_button.toolTip() == "This file cannot."


def test_the_field_grows_with_its_text_up_to_a_limit(qtbot, composer: Composer) -> None:
    composer.resize(400, 300)
    one = composer.edit.height()
    composer.set_text("a\nb\nc")
    three = composer.edit.height()
    composer.set_text("line\n" * 100)
    most = composer.edit.height()
    assert one < three < most
    assert most <= (MAX_LINES + 2) * composer.edit.fontMetrics().lineSpacing()
    composer.set_text("")
    assert composer.edit.height() == one
