"""Links of an answer: shown whole before they open, and only of kinds that a browser should get."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox, QWidget

from clover_gui.ui import links


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: addresses.append(url.toString()))
    return addresses


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://example.org/x",
        "//example.org/x",
        "vbscript:x",
        "clover:open",
        "",
        "not an address",
    ],
)
def test_other_kinds_never_open_and_are_not_even_asked_about(qtbot, opened: list[str], address: str) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    assert links.ask_to_open(address, parent) is None
    assert opened == []


def test_a_web_address_is_shown_whole_and_opens_only_when_agreed_to(qtbot, opened: list[str]) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    box = links.ask_to_open("https://exämple.org/a?b=c", parent)
    assert isinstance(box, QMessageBox)
    assert "xn--exmple-cua.org" in box.informativeText()
    assert opened == []
    box.reject()
    assert opened == []
    box = links.ask_to_open("https://example.org/page", parent)
    assert box is not None
    next(b for b in box.buttons() if box.buttonRole(b) is QMessageBox.ButtonRole.AcceptRole).click()
    assert opened == ["https://example.org/page"]
