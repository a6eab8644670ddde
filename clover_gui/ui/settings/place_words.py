"""What the kinds of things on disk are called. Must not know: widgets."""

from __future__ import annotations

from clover_gui.i18n import _
from clover_gui.storage.places import PlaceKind


def place_title(kind: PlaceKind) -> str:
    """In the language in force."""
    return {
        PlaceKind.CHATS: _("Chats"),
        PlaceKind.MODELS: _("Models"),
        PlaceKind.ENGINES: _("Engines"),
        PlaceKind.SETTINGS: _("Settings"),
        PlaceKind.LOGS: _("Logs"),
        PlaceKind.CACHES: _("Caches"),
    }[kind]


def place_note(kind: PlaceKind) -> str:
    """What is in it, for a person who sees only the word."""
    return {
        PlaceKind.CHATS: _("Everything that was said, with its files"),
        PlaceKind.MODELS: _("All models in this folder, unfinished downloads"),
        PlaceKind.ENGINES: _("Engines that were installed beside the program's own"),
        PlaceKind.SETTINGS: _("Settings, presets, the access token, measurements"),
        PlaceKind.LOGS: _("What the program did, for a report; never what was said"),
        PlaceKind.CACHES: _("Built engines and notes of the set-up; they can be made again"),
    }[kind]
