"""Screens of other densities and larger letters: no label is cut, icons are drawn for the screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# A process each: the factor is read once, when Qt starts.
LOOK = """
import json, sys
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel
from clover_gui import i18n
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.widgets.elided_label import ElidedLabel

i18n.set_language(sys.argv[1])
app = QApplication(["clover-gui"])
theme = Theme()
theme.apply(app, Mode.LIGHT)
window = MainWindow(theme)
window.show()
cut, blurred = [], []
for show in (window.show_setup, window.show_chat):
    show()
    app.processEvents()
    page = window.pages.currentWidget()
    for widget in page.findChildren(QLabel) + page.findChildren(QAbstractButton):
        if not widget.isVisible() or isinstance(widget, ElidedLabel):
            continue
        wrapped = isinstance(widget, QLabel) and widget.wordWrap()
        hint = widget.minimumSizeHint() if wrapped else widget.sizeHint()
        wanted = QSize(0 if wrapped else hint.width(), hint.height())
        if wrapped and widget.hasHeightForWidth():
            wanted.setHeight(widget.heightForWidth(widget.width()))
        if widget.text() and (widget.width() < wanted.width() or widget.height() < wanted.height()):
            cut.append(f"{type(widget).__name__} {widget.text()!r} {widget.size()} {wanted}")
        if isinstance(widget, QAbstractButton) and not widget.icon().isNull():
            ratio = widget.devicePixelRatioF()
            drawn = widget.icon().pixmap(widget.iconSize(), ratio)
            if drawn.width() < round(widget.iconSize().width() * ratio) - 1:
                blurred.append(f"{widget.accessibleName()} {drawn.width()} {widget.iconSize()} {ratio}")
print(json.dumps({"ratio": window.devicePixelRatioF(), "cut": cut, "blurred": blurred}))
theme.formulas.stop()
"""


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("factor", ["1", "1.25", "1.5", "2"])
def test_nothing_is_cut_and_icons_are_sharp(factor: str, language: str) -> None:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": factor}
    done = subprocess.run(
        [sys.executable, "-c", LOOK, language], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["ratio"] == pytest.approx(float(factor))
    assert seen["cut"] == []
    assert seen["blurred"] == []
