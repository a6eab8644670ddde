"""The style sheet of the window's own parts: sidebar, composer, cards, gauges.

``style_sheet.py`` has the parts that any window has; here are those with an object name.
"""

from __future__ import annotations

from string import Template

from clover_gui import resources
from clover_gui.ui.colors import Colors

_SHEET = Template(
    """
#chatMain, #setupHolder, #setupColumn, #setupArea, #chatFoot { background: $background; }
#sidebar { background: $surface; border-right: 1px solid $border; }
#sidebarTitle { color: $muted; font-weight: 600; padding: ${e3}px ${e3}px 0 ${e3}px; }
#chatList { background: transparent; border: 2px solid transparent; border-radius: ${e3}px; outline: 0; }
#chatList:focus { border-color: $focus; }
#chatList::item { padding: ${e4}px ${e4}px; border-radius: ${e3}px; color: $text; }
#chatList::item:hover { background: $raised; }
#chatList::item:selected { background: $raised; color: $text; font-weight: 600; }
#chatList QLineEdit { padding: 0 ${e3}px; }
#chatSearch { background: $background; padding-left: ${e2}px; }
QFrame[kind="chip"] { background: $raised; border: 1px solid $border; border-radius: ${e6}px; }
#dialogContent, #settingsPage { background: $surface; }
#settingsList { background: transparent; border: 2px solid transparent; border-radius: ${e3}px; outline: 0; }
#settingsList:focus { border-color: $focus; }
#settingsList::item { padding: ${e3}px ${e4}px; border-radius: ${e3}px; color: $text; }
#settingsList::item:hover { background: $raised; }
#settingsList::item:selected { background: $raised; color: $text; font-weight: 600; }
QSlider::groove:horizontal { background: $border; height: ${e2}px; border-radius: ${r2}px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: ${r2}px; }
QSlider::handle:horizontal { background: $accent; border: 1px solid $accent; width: ${e7}px; height: ${e7}px;
    margin: -${e3}px 0; border-radius: ${handle}px; }
QSlider::sub-page:horizontal:disabled, QSlider::handle:horizontal:disabled { background: $muted;
    border-color: $muted; }
QSlider:focus { border: 1px solid $focus; border-radius: ${e3}px; }
#chatHeader { background: $background; border-bottom: 1px solid $border; }
#modelButton { color: $text; font-weight: 600; }
#modelButton:hover { border-color: $border; }
#modelButton:focus { border-color: $focus; }
#welcome { color: $muted; font-size: ${welcome}pt; }
#composer { background: $background; border: 1px solid $border; border-radius: ${e6}px; }
#messageEdit { background: transparent; border: 0; }
#thinkingSwitch { border-radius: ${e6}px; padding: ${e2}px ${e6}px; color: $muted; background: transparent; }
#thinkingSwitch:checked { color: $accent; border-color: $accent; background: $raised; }
#thinkingSwitch:disabled { color: $muted; border-style: dashed; }
#thinkingSwitch:focus { border: 2px solid $focus; }
#gaugeCaption { color: $muted; }
#gauge { border: 2px solid transparent; border-radius: ${e3}px; }
#gauge[active="true"]:hover { background: $raised; }
#gauge:focus { border-color: $focus; }
#memoryPanel { background: $surface; border: 0; }
#memoryArea, #memoryContent { background: $surface; }
#card { background: $surface; border: 1px solid $border; border-radius: ${e5}px; }
#cardTitle { font-weight: 600; font-size: ${card}pt; }
#heading { font-weight: 600; font-size: ${heading}pt; }
#note, #rowCaption, #progressText { color: $muted; }
#warningNote { color: $warning; }
#setupFoot { background: $surface; border-top: 1px solid $border; }
#noticeBar { background: $notice; border: 0; border-left: ${e3}px solid $accent; }
#noticeBar[kind="warning"] { background: $notice_warning; border-left-color: $warning; }
#noticeBar[kind="error"] { background: $notice_error; border-left-color: $danger; }
#noticeIcon { image: url("$notice_icon"); }
#noticeBar[kind="warning"] #noticeIcon { image: url("$warning_icon"); }
#noticeBar[kind="error"] #noticeIcon { image: url("$error_icon"); }
QSplitter::handle { background: $border; }
QCheckBox { spacing: ${e4}px; }
QCheckBox::indicator { width: ${e7}px; height: ${e7}px; border: 2px solid $muted; border-radius: ${e2}px;
    background: $background; }
QCheckBox::indicator:checked { border-color: $accent; background: $accent; image: url("$check"); }
QCheckBox:focus { color: $accent; }
QRadioButton { spacing: ${e4}px; }
QRadioButton::indicator { width: ${e7}px; height: ${e7}px; border: 2px solid $muted; border-radius: ${r7}px;
    background: $background; }
QRadioButton::indicator:checked { border-color: $accent; background: qradialgradient(cx:0.5, cy:0.5,
    radius:0.5, fx:0.5, fy:0.5, stop:0 $accent, stop:0.55 $accent, stop:0.65 $background,
    stop:1 $background); }
QRadioButton::indicator:disabled { border-color: $border; }
QRadioButton:focus { color: $accent; }
"""
)


def window_style(colors: Colors, em: float, points: float) -> str:
    """The sheet; ``em`` is the height of a line in logical pixels, ``points`` the size of its font."""
    values: dict[str, str] = {name: str(getattr(colors, name)) for name in Colors.__slots__}
    for tenths in (2, 3, 4, 5, 6, 7, 9):
        values[f"e{tenths}"] = str(max(1, round(em * tenths / 10)))
    # White or black, whichever stands on the accent: a sheet can only name a file.
    values["check"] = resources.path(f"icons/sheet/check-{'dark' if colors.dark else 'light'}.svg").as_posix()
    look = "dark" if colors.dark else "light"
    for kind in ("notice", "warning", "error"):
        values[f"{kind}_icon"] = resources.path(f"icons/sheet/{kind}-{look}.svg").as_posix()
    values["r2"] = str(max(1, round(em * 0.2) // 2))
    # As high as its groove and the negative margins; a larger radius than half of that counts as none.
    values["handle"] = str((int(values["e2"]) + 2 * int(values["e3"])) // 2)
    values["r7"] = str(round(em * 0.7) // 2 + 2)
    values["welcome"] = f"{points * 1.5:.1f}"
    values["card"] = f"{points * 1.1:.1f}"
    values["heading"] = f"{points * 1.7:.1f}"
    return _SHEET.substitute(values)
