"""Errors that nobody caught reach one dialog with a report that can be copied, from any thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QPushButton

from clover_gui import i18n
from clover_gui.errors import EngineDied, ModelFileTruncated
from clover_gui.ui.errors import ErrorReporter


@pytest.fixture
def reporter(qtbot, monkeypatch: pytest.MonkeyPatch) -> Iterator[ErrorReporter]:
    i18n.set_language("en")
    hook, thread_hook = sys.excepthook, threading.excepthook
    made = ErrorReporter(lambda: ["the last line of the log"])
    made.install()
    yield made
    sys.excepthook, threading.excepthook = hook, thread_hook
    if made.dialog is not None:
        made.dialog.close()


def shown(qtbot, reporter: ErrorReporter) -> QMessageBox:
    qtbot.waitUntil(lambda: reporter.dialog is not None, timeout=5000)
    dialog = reporter.dialog
    assert dialog is not None
    return dialog


def test_a_known_failure_comes_with_its_sentence_and_next_step(qtbot, reporter: ErrorReporter) -> None:
    reporter.report(ModelFileTruncated(Path("/m/x.gguf"), "data", 41_200_000, 98_400_000))
    dialog = shown(qtbot, reporter)
    assert "98" in dialog.text()
    assert dialog.informativeText()


def test_an_error_of_another_thread_arrives_here(qtbot, reporter: ErrorReporter) -> None:
    def fail() -> None:
        raise RuntimeError("in a thread")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    dialog = shown(qtbot, reporter)
    assert "RuntimeError" in dialog.text()
    assert "in a thread" in dialog.detailedText()
    assert "the last line of the log" in dialog.detailedText()


def test_an_error_in_a_slot_arrives_and_the_report_can_be_copied(qtbot, reporter: ErrorReporter) -> None:
    button = QPushButton("x")
    qtbot.addWidget(button)
    button.clicked.connect(lambda: 1 // 0)
    with qtbot.captureExceptions():
        # Slots hand what they raise to the interpreter's hook, which the test's plug-in holds meanwhile.
        button.click()
    reporter.report(ZeroDivisionError("in a slot"))
    dialog = shown(qtbot, reporter)
    copy = next(b for b in dialog.buttons() if b.text() == "Copy report")
    copy.click()
    assert dialog.isVisible()
    assert "ZeroDivisionError" in QGuiApplication.clipboard().text()


def test_a_second_error_does_not_pile_up_dialogs(qtbot, reporter: ErrorReporter) -> None:
    reporter.report(EngineDied(-9, "killed"))
    first = shown(qtbot, reporter)
    reporter.report(EngineDied(-9, "killed again"))
    qtbot.wait(50)
    assert reporter.dialog is first
