"""The look of the window: light, dark or as the system has it.

``Theme`` gives colours, fonts, distances and coloured icons; whoever shows them listens to ``changed``.
All distances come from the font, so that the window scales with the text; nothing is in pixels.
Must not know: pages, settings, what is shown where.
"""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontMetricsF, QIcon, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from clover_gui.ui.colors import DARK, LIGHT, Colors
from clover_gui.ui.style_sheet import style_sheet
from clover_gui.ui.widgets.formula_store import FormulaStore
from clover_gui.ui.widgets.icons import load_icon

READING_SCALE = 1.1
"""Text that is read for hours is a little larger than labels and menus."""
SMALL_SCALE = 0.9


class Mode(Enum):
    """What the person chose."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class Theme(QObject):
    """Colours, fonts and distances in force. One for the whole window, handed to those who draw."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app: QApplication | None = None
        self._mode = Mode.SYSTEM
        self._colors = LIGHT
        self._icons: dict[tuple[str, str], QIcon] = {}
        self.formulas = FormulaStore(self)
        """Drawn once for all messages, like the icons."""
        self._font = QApplication.font()

    @property
    def colors(self) -> Colors:
        """The colours in force."""
        return self._colors

    @property
    def mode(self) -> Mode:
        """What the person chose; ``colors.dark`` says what came of it."""
        return self._mode

    def apply(self, app: QApplication, mode: Mode) -> None:
        """Give the application this look and keep it, following the system where ``mode`` says so."""
        if self._app is None:
            self._app = app
            self._font = app.font()
            app.setStyle(QStyleFactory.create("Fusion"))
            app.styleHints().colorSchemeChanged.connect(self._follow_system)
        self._mode = mode
        hints = app.styleHints()
        # Where the platform listens, its window frames and file dialogs follow too.
        if mode is Mode.SYSTEM:
            hints.unsetColorScheme()
        else:
            hints.setColorScheme(Qt.ColorScheme.Dark if mode is Mode.DARK else Qt.ColorScheme.Light)
        self._set_colors(self._wanted())

    @property
    def em(self) -> float:
        """The height of a line of ordinary text, in logical pixels: the unit of all distances."""
        return QFontMetricsF(self._font).height()

    def space(self, ems: float) -> int:
        """A distance of so many ``em``, at least 1."""
        return max(1, round(self.em * ems))

    def reading_font(self) -> QFont:
        """For messages."""
        return self._scaled(READING_SCALE)

    def small_font(self) -> QFont:
        """For details and hints."""
        return self._scaled(SMALL_SCALE)

    def code_font(self) -> QFont:
        """Fixed width, for code in messages."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPointSizeF(self._font.pointSizeF() * READING_SCALE * 0.95)
        font.setStyleHint(QFont.StyleHint.Monospace)
        return font

    def icon(self, name: str, color: str | None = None) -> QIcon:
        """The icon ``resources/icons/<name>.svg`` in this colour (``#rrggbb``), by default that of text."""
        key = (name, color or self._colors.text)
        if key not in self._icons:
            self._icons[key] = load_icon(*key)
        return self._icons[key]

    def _scaled(self, factor: float) -> QFont:
        font = QFont(self._font)
        font.setPointSizeF(font.pointSizeF() * factor)
        return font

    def _wanted(self) -> Colors:
        if self._mode is Mode.SYSTEM:
            assert self._app is not None
            return DARK if self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark else LIGHT
        return DARK if self._mode is Mode.DARK else LIGHT

    def _follow_system(self) -> None:
        if self._mode is Mode.SYSTEM and self._wanted() is not self._colors:
            self._set_colors(self._wanted())

    def _set_colors(self, colors: Colors) -> None:
        assert self._app is not None
        self._colors = colors
        self._icons.clear()
        self._app.setPalette(palette(colors))
        self._app.setStyleSheet(style_sheet(colors, self.em))
        self.changed.emit()


def palette(colors: Colors) -> QPalette:
    """The colours as Qt's roles, for everything that the style sheet does not name."""
    made = QPalette()
    role = QPalette.ColorRole
    for which, value in (
        (role.Window, colors.surface),
        (role.WindowText, colors.text),
        (role.Base, colors.background),
        (role.AlternateBase, colors.surface),
        (role.Text, colors.text),
        (role.Button, colors.raised),
        (role.ButtonText, colors.text),
        (role.BrightText, colors.danger),
        (role.Highlight, colors.selection),
        (role.HighlightedText, colors.text),
        (role.ToolTipBase, colors.raised),
        (role.ToolTipText, colors.text),
        (role.PlaceholderText, colors.muted),
        (role.Link, colors.link),
        (role.LinkVisited, colors.link),
        (role.Accent, colors.accent),
        (role.Light, colors.raised),
        (role.Midlight, colors.raised),
        (role.Mid, colors.border),
        (role.Dark, colors.border),
        (role.Shadow, colors.border),
    ):
        made.setColor(which, QColor(value))
    faint = QColor(colors.muted)
    faint.setAlphaF(0.75)
    for which in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, which, faint)
    made.setColor(QPalette.ColorGroup.Inactive, role.Highlight, QColor(colors.selection))
    return made
