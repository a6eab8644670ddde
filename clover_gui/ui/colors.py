"""The colours of the window: one light and one dark set, all by name.

Text colours reach a contrast of at least 4.5:1 on every background they are used on (a test computes it).
The gauge colours start from the palette of Okabe and Ito, which people with any kind of colour blindness
can tell apart, darkened where they would be too pale on white.
Must not know: widgets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Colors:
    """Named colours as ``#rrggbb``. ``dark`` says whether they are meant for light text on dark."""

    dark: bool
    background: str
    """Where the conversation is read."""
    surface: str
    """Side bars, headers, the composer."""
    raised: str
    """What lies on top: a person's own messages, menus, hovered rows."""
    text: str
    muted: str
    """Secondary text: details, thinking, hints."""
    accent: str
    accent_text: str
    """Text on ``accent``."""
    accent_hover: str
    border: str
    focus: str
    """The ring around what has the keyboard."""
    selection: str
    """The background of selected text; ``text`` is readable on it."""
    link: str
    code_background: str
    code_header: str
    code_keyword: str
    code_string: str
    code_comment: str
    code_number: str
    code_name: str
    danger: str
    warning: str
    ok: str
    notice: str
    """Behind a notice that informs ..."""
    notice_warning: str
    notice_error: str
    """... or tells of a failure."""
    gauge_ours: str
    """Memory that this program uses."""
    gauge_others: str
    """Memory that other programs use."""
    gauge_free: str
    gauge_reading: str
    gauge_writing: str
    gauge_context: str


LIGHT = Colors(
    dark=False,
    background="#ffffff",
    surface="#f5f7f4",
    raised="#e9f0ea",
    text="#1b201d",
    muted="#58625c",
    accent="#1c7448",
    accent_text="#ffffff",
    accent_hover="#155c38",
    border="#d5dcd6",
    focus="#1c7448",
    selection="#bfe3cd",
    link="#0b5fa8",
    code_background="#f5f7f4",
    code_header="#e9eeea",
    code_keyword="#8a2b8f",
    code_string="#1b6b3a",
    code_comment="#5f6963",
    code_number="#9a4a00",
    code_name="#0b5a9e",
    danger="#b3261e",
    warning="#8a5200",
    ok="#1c7448",
    notice="#e9f0ea",
    notice_warning="#fbf0d9",
    notice_error="#fbe7e4",
    gauge_ours="#0072b2",
    gauge_others="#d55e00",
    gauge_free="#dfe5e0",
    gauge_reading="#7b5fc7",
    gauge_writing="#00875f",
    gauge_context="#0072b2",
)

DARK = Colors(
    dark=True,
    background="#161a18",
    surface="#1c211f",
    raised="#27302b",
    text="#e6ebe7",
    muted="#a2ada6",
    accent="#5cc98f",
    accent_text="#0b1f14",
    accent_hover="#7ed8a8",
    border="#38423c",
    focus="#5cc98f",
    selection="#2c5a42",
    link="#7cbcf0",
    code_background="#1d2320",
    code_header="#28302c",
    code_keyword="#d99be0",
    code_string="#8fd6a5",
    code_comment="#98a39c",
    code_number="#f0b072",
    code_name="#8cc4f5",
    danger="#ff8a80",
    warning="#f2b84b",
    ok="#5cc98f",
    notice="#27302b",
    notice_warning="#3a3018",
    notice_error="#43231f",
    gauge_ours="#56b4e9",
    gauge_others="#e69f00",
    gauge_free="#343d38",
    gauge_reading="#cc79a7",
    gauge_writing="#2fc492",
    gauge_context="#56b4e9",
)
