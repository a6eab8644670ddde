"""The style sheet of the application: buttons, fields, scroll bars, menus.

A button says what it is by the property ``kind``: ``primary`` (one a page), ``quiet`` (text only),
``link`` (a next step in a sentence), ``aside`` (a link of less weight, in line with the text), ``icon`` (a
picture only), ``pill`` (floats over a text); without it, it is an ordinary button. Frames with the property
``kind`` = ``card`` are raised a little. All distances are in parts of ``em``, the height of a line.
"""

from __future__ import annotations

from string import Template

from clover_gui import resources
from clover_gui.ui.colors import Colors

_SHEET = Template(
    """
QToolTip { background: $raised; color: $text; border: 1px solid $border; padding: ${em3}px; }
QMenu { background: $surface; border: 1px solid $border; padding: ${em3}px; }
QMenu::item { padding: ${em3}px ${em10}px; border-radius: ${em3}px; }
QMenu::item:selected { background: $raised; }
QMenu::separator { height: 1px; background: $border; margin: ${em2}px ${em5}px; }

QPushButton { background: $background; color: $text; border: 1px solid $border; border-radius: ${em4}px;
    padding: ${em4}px ${em8}px; }
QPushButton:hover { background: $raised; }
QPushButton:pressed { background: $border; }
QPushButton:focus { border: 2px solid $focus; padding: ${em4_less}px ${em8_less}px; }
QPushButton:disabled { color: $muted; background: $surface; }
QPushButton[kind="primary"] { background: $accent; color: $accent_text; border-color: $accent;
    font-weight: 600; }
QPushButton[kind="primary"]:hover, QPushButton[kind="primary"]:pressed { background: $accent_hover; }
QPushButton[kind="primary"]:focus { border-color: $text; }
QPushButton[kind="primary"]:disabled { background: $border; color: $muted; border-color: $border; }
QPushButton[kind="quiet"] { background: transparent; border: 2px solid transparent; color: $muted;
    padding: ${em2}px ${em5}px; }
QPushButton[kind="quiet"]:hover { color: $text; background: $raised; }
QPushButton[kind="quiet"]:pressed { background: $border; }
QPushButton[kind="quiet"]:checked { color: $accent; }
QPushButton[kind="quiet"]:focus { border-color: $focus; }
QPushButton[kind="link"] { background: transparent; border: 2px solid transparent; color: $accent;
    padding: ${em2}px ${em5}px; font-weight: 600; }
QPushButton[kind="link"]:hover { background: $raised; }
QPushButton[kind="link"]:focus { border-color: $focus; }
QPushButton[kind="aside"] { background: transparent; border: 2px solid transparent; color: $accent;
    padding: ${em2}px 0; }
QPushButton[kind="aside"]:hover { text-decoration: underline; }
QPushButton[kind="aside"]:focus { border-color: $focus; }
QPushButton[kind="icon"] { background: transparent; border: 2px solid transparent; padding: ${em2}px; }
QPushButton[kind="icon"]:hover { background: $raised; }
QPushButton[kind="icon"]:pressed { background: $border; }
QPushButton[kind="icon"]:focus { border-color: $focus; }
QPushButton[kind="pill"] { background: $raised; border: 1px solid $border; border-radius: ${em10}px;
    padding: ${em4}px ${em9}px; }
QPushButton[kind="pill"]:hover { background: $border; }
QPushButton[kind="pill"]:focus { border: 2px solid $focus; padding: ${em4_less}px ${em9_less}px; }

QLineEdit, QPlainTextEdit[kind="field"], QComboBox {
    background: $background; color: $text; border: 1px solid $border; border-radius: ${em4}px;
    padding: ${em4}px ${em5}px; selection-background-color: $selection; selection-color: $text; }
QLineEdit:focus, QPlainTextEdit[kind="field"]:focus, QComboBox:focus {
    border: 2px solid $focus; padding: ${em4_less}px ${em5_less}px; }

QLineEdit[kind="value"] {
    background: transparent; border: 1px solid transparent; padding: ${em2}px ${em3}px; }
QLineEdit[kind="value"][own="false"], QLineEdit[kind="value"]:disabled { color: $muted; }
QLineEdit[kind="value"]:hover { border-color: $border; }
QLineEdit[kind="value"]:focus { background: $background; color: $text; border: 1px solid $focus; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QComboBox::drop-down { border: 0; width: ${em10}px; }
QComboBox::down-arrow { image: url("$combo_arrow"); width: ${em8}px; height: ${em8}px; }

QFrame[kind="card"] { background: $background; border: 1px solid $border; border-radius: ${em5}px; }
QLabel[kind="muted"] { color: $muted; }
QLabel[kind="strong"] { font-weight: 600; }
QLabel[kind="badge"] { color: $accent; font-weight: 600; }
QLabel[kind="badge-warning"] { color: $warning; font-weight: 600; }
QLabel[kind="warning"] { color: $warning; }
QLabel[kind="danger"] { color: $danger; }
QLabel[kind="title"] { font-size: ${title}pt; font-weight: 600; }

QProgressBar { background: $gauge_free; border: 0; border-radius: ${em2}px; text-align: center;
    min-height: ${em4}px; }
QProgressBar::chunk { background: $accent; border-radius: ${em2}px; }

QScrollBar:vertical { background: transparent; width: ${em8}px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: ${em7}px; margin: 0; }
QScrollBar::handle { background: $border; border-radius: ${em2}px; margin: ${em2}px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: $muted; }
QScrollBar::handle:vertical { min-height: ${em20}px; }
QScrollBar::handle:horizontal { min-width: ${em20}px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: 0; }
"""
)


def style_sheet(colors: Colors, em: float, title_points: float = 15.0) -> str:
    """The sheet for these colours; ``em`` is the height of a line in logical pixels."""
    values: dict[str, str] = {name: str(getattr(colors, name)) for name in Colors.__slots__}
    for tenths in (2, 3, 4, 5, 7, 8, 9, 10, 20):
        pixels = max(1, round(em * tenths / 10))
        values[f"em{tenths}"] = str(pixels)
        # A focus ring is one pixel wider than the border it replaces; the padding gives way.
        values[f"em{tenths}_less"] = str(max(0, pixels - 1))
    # A grey that is seen on light and dark: a sheet can only name a file.
    values["combo_arrow"] = resources.path("styles/combo-arrow.svg").as_posix()
    values["title"] = f"{title_points:g}"
    return _SHEET.substitute(values)
