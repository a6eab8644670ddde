"""What all window tests share: no screen is needed, and a warning from Qt is a failure."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from clover_gui.ui.theme import Mode, Theme

HARMLESS = (
    "This plugin does not support",
    "propagateSizeHints",
    # The offscreen platform has no clipboard owner and no session to ask.
    "QFontDatabase: Cannot find font directory",
)
SERIOUS = (QtMsgType.QtWarningMsg, QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg)


@pytest.fixture(autouse=True)
def no_qt_complaints() -> Iterator[None]:
    """Fails a test during which Qt warned of something."""
    complaints: list[str] = []

    def note(kind: QtMsgType, _context: object, message: str) -> None:
        if kind in SERIOUS and not any(part in message for part in HARMLESS):
            complaints.append(message)

    previous = qInstallMessageHandler(note)
    yield
    qInstallMessageHandler(previous)
    assert not complaints, f"Qt complained: {complaints}"


@pytest.fixture
def make_theme(qapp: QApplication) -> Callable[[Mode], Theme]:
    """``make_theme(Mode.DARK)``: the look, applied to the application."""

    def make(mode: Mode = Mode.LIGHT) -> Theme:
        theme = Theme()
        theme.apply(qapp, mode)
        return theme

    return make


@pytest.fixture
def theme(make_theme: Callable[[Mode], Theme]) -> Theme:
    """The light look, applied to the application."""
    return make_theme(Mode.LIGHT)


@pytest.fixture(autouse=True)
def collect_in_this_thread() -> Iterator[None]:
    """Qt objects in cycles are collected here, never by a thread of a later test (see ui/garbage.py)."""
    was_enabled = gc.isenabled()
    gc.disable()
    yield
    gc.collect()
    if was_enabled:
        gc.enable()
