"""PySide6 6.12.0 loses a reference to None or True per call on Python 3.11 and aborts after some thousand.

A short smoke test does not show it, counting does. From Python 3.12 on these objects are immortal.
"""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QLabel

CALLS = 200


class Sender(QObject):
    plain = Signal()
    flag = Signal(bool)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None and True are immortal from Python 3.12 on")
@pytest.mark.parametrize("what", ["setText", "emit", "emit(bool)"])
def test_calls_do_not_take_references(qtbot, what: str) -> None:
    label, sender = QLabel("x"), Sender()
    qtbot.addWidget(label)
    sender.plain.connect(lambda: None)
    sender.flag.connect(lambda _on: None)
    call = {
        "setText": lambda: label.setText("a"),
        "emit": lambda: sender.plain.emit(),
        "emit(bool)": lambda: sender.flag.emit(True),
    }[what]
    call()
    before = sys.getrefcount(None), sys.getrefcount(True)
    for _ in range(CALLS):
        call()
    after = sys.getrefcount(None), sys.getrefcount(True)
    for old, new in zip(before, after, strict=True):
        assert abs(new - old) < CALLS // 4
