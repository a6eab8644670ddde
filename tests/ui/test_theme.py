"""Colours that can be read and told apart, and a look that follows what was chosen."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from PySide6.QtGui import QColor, QIcon, QPalette
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QStyle
from pytestqt.qtbot import QtBot

from clover_gui import resources
from clover_gui.ui.colors import DARK, LIGHT, Colors
from clover_gui.ui.theme import Mode, Theme

TEXTS = ("text", "muted", "link", "danger", "warning", "ok", "accent")
BACKGROUNDS = ("background", "surface", "raised")
CODE = ("text", "code_keyword", "code_string", "code_comment", "code_number", "code_name", "danger", "ok")
GAUGES = ("gauge_ours", "gauge_others", "gauge_reading", "gauge_writing")


def luminance(color: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    bright, dim = sorted((luminance(a), luminance(b)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def seen_without_red_and_green(color: str) -> tuple[float, float]:
    """Roughly what is left for a person who cannot tell red from green: lightness and blue-yellow."""
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    yellow = 0.55 * red + 0.45 * green
    return luminance(color), blue - yellow


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_all_text_can_be_read(colors: Colors) -> None:
    pairs = [(t, b) for t in TEXTS for b in BACKGROUNDS]
    pairs += [(t, b) for t in CODE for b in ("code_background",)]
    pairs += [("text", "code_header"), ("muted", "code_header"), ("text", "selection")]
    pairs += [(t, b) for t in ("text", "muted", "danger") for b in ("notice", "notice_error")]
    pairs += [(t, "notice_warning") for t in ("text", "muted", "warning")]
    pairs += [("accent_text", "accent"), ("accent_text", "accent_hover")]
    too_faint = {
        f"{a} on {b}": round(contrast(getattr(colors, a), getattr(colors, b)), 2)
        for a, b in pairs
        if contrast(getattr(colors, a), getattr(colors, b)) < 4.5
    }
    assert not too_faint


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_gauges_and_focus_stand_out_and_can_be_told_apart(colors: Colors) -> None:
    for name in (*GAUGES, "focus"):
        assert contrast(getattr(colors, name), colors.surface) >= 3, name
    for one, other in (("gauge_ours", "gauge_others"), ("gauge_reading", "gauge_writing")):
        a, b = (seen_without_red_and_green(getattr(colors, n)) for n in (one, other))
        assert abs(a[0] - b[0]) + abs(a[1] - b[1]) > 0.2, (one, other)
    assert len({getattr(colors, n) for n in GAUGES}) == len(GAUGES)


def test_dialogs_have_no_pictures_on_their_buttons(theme: Theme, qapp: QApplication, qtbot: QtBot) -> None:
    """Where the desktop has none of its own, Qt would draw a red cross and a black one."""
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel | QDialogButtonBox.StandardButton.Close)
    qtbot.addWidget(box)
    assert "QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }" in qapp.styleSheet()
    assert box.style().styleHint(QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons, None, box) == 0
    assert all(button.icon().isNull() for button in box.buttons())


def test_modes_change_palette_and_tell_it(
    make_theme: Callable[[Mode], Theme], qapp: QApplication, qtbot: QtBot
) -> None:
    theme = make_theme(Mode.LIGHT)
    assert qapp.palette().color(QPalette.ColorRole.Base) == QColor(LIGHT.background)
    with qtbot.waitSignal(theme.changed):
        theme.apply(qapp, Mode.DARK)
    assert theme.colors is DARK
    assert qapp.palette().color(QPalette.ColorRole.Text) == QColor(DARK.text)
    theme.apply(qapp, Mode.SYSTEM)
    assert theme.colors in (LIGHT, DARK)


def test_distances_grow_with_the_font(theme: Theme) -> None:
    assert theme.space(1) == round(theme.em)
    assert theme.reading_font().pointSizeF() > theme.small_font().pointSizeF()


def test_every_icon_can_be_drawn_in_any_colour(theme: Theme) -> None:
    names = [path.stem for path in resources.path("icons").glob("*.svg")]
    assert {"send", "stop", "copy", "check", "new-chat", "settings", "clover"} <= set(names)
    for name in names:
        image = theme.icon(name, "#ff0000").pixmap(32, 32).toImage()
        drawn = [image.pixelColor(x, y) for x in range(32) for y in range(32)]
        solid = [c for c in drawn if c.alpha() > 250]
        assert solid, name
        if name != "clover":
            assert all(c.red() > 240 and c.green() < 15 for c in solid), name


def test_icons_are_kept_until_the_colours_change(theme: Theme, qapp: QApplication) -> None:
    first = theme.icon("copy")
    assert isinstance(first, QIcon)
    assert theme.icon("copy").cacheKey() == first.cacheKey()
    theme.apply(qapp, Mode.DARK)
    assert theme.icon("copy").cacheKey() != first.cacheKey()


def test_no_pixel_font_sizes(theme: Theme, qapp: QApplication) -> None:
    for line in qapp.styleSheet().splitlines():
        assert not ("font-size" in line and "px" in line)


def test_colour_names_do_not_repeat_values_that_must_differ() -> None:
    for colors in (LIGHT, DARK):
        for a, b in combinations(("background", "raised", "border", "text"), 2):
            assert getattr(colors, a) != getattr(colors, b)
