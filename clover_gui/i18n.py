"""Texts in the person's language, for the window and the terminal alike (gettext catalogues).

English is in the source; ``resources/locale/<language>/LC_MESSAGES/clover_gui.mo`` holds the others.
``_`` looks the text up at call time, so a change of language needs no restart of the module.
Also here: numbers, sizes and durations as people of that language write them.
"""

from __future__ import annotations

import gettext
import locale
import os
import unicodedata

from clover_gui import resources

DOMAIN = "clover_gui"
LANGUAGES = ("en", "de")

_current: list[gettext.NullTranslations] = [gettext.NullTranslations()]
_language: list[str] = ["en"]


def system_language() -> str:
    """The language of this session that we have, else "en"."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"):
        value = os.environ.get(name)
        if value:
            return "de" if value.lower().startswith("de") else "en"
    try:
        code = locale.getlocale()[0] or ""
    except ValueError:
        code = ""
    return "de" if code.lower().startswith(("de", "german")) else "en"


def set_language(language: str | None) -> str:
    """Choose "en" or "de"; None or anything else means the system's. Returns the language in force."""
    chosen = language if language in LANGUAGES else system_language()
    folder = resources.path("locale")
    _current[0] = gettext.translation(DOMAIN, folder, languages=[chosen], fallback=True)
    _language[0] = chosen
    return chosen


def current_language() -> str:
    """The language in force: "en" or "de"."""
    return _language[0]


def _(text: str) -> str:
    """The text in the language in force."""
    return _current[0].gettext(text)


def ngettext(one: str, many: str, count: int) -> str:
    """The form for this count in the language in force; the caller formats the number in."""
    return _current[0].ngettext(one, many, count)


def number(value: float, decimals: int = 0) -> str:
    """1234.5 -> "1,234.5" (en), "1.234,5" (de)."""
    text = f"{value:,.{decimals}f}"
    if _language[0] == "de":
        text = text.translate(str.maketrans(",.", ".,"))
    return text


def size(size_bytes: float) -> str:
    """A size in binary units, as memory is sold: "3.7 GB", "98 MB". 1 GB = 2**30 bytes."""
    value = float(size_bytes)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(value) < 1024 or unit == "TB":
            decimals = 1 if unit in ("GB", "TB") and abs(value) < 100 else 0
            return f"{number(value, decimals)} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def file_size(size_bytes: float) -> str:
    """The size of a file in decimal units, as hubs and shops give it: "19.6 GB", "98 MB". 1 GB = 10**9."""
    value = float(size_bytes)
    for unit in ("B", "KB", "MB", "GB"):
        if abs(value) < 1000 or unit == "GB":
            exact = unit == "GB" or (unit == "MB" and abs(value) < 10)
            return f"{number(value, 1 if exact else 0)} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def duration(seconds: float) -> str:
    """A short span of time: "0.4 s", "12 s", "3 min 20 s"."""
    if seconds < 0.05:
        return _("less than 0.1 s")
    if seconds < 10:
        return _("{seconds} s").format(seconds=number(seconds, 1))
    if seconds < 60:
        return _("{seconds} s").format(seconds=number(seconds))
    minutes, rest = divmod(round(seconds), 60)
    return _("{minutes} min {seconds} s").format(minutes=number(minutes), seconds=rest)


def capped(text: str, limit: int = 80) -> str:
    """A string that came from a file or a model, made safe for a title, label or log line.

    Control characters (line breaks, bidirectional overrides) become spaces, runs of spaces one space,
    and the result has at most ``limit`` characters with an ellipsis in place of the rest.
    """
    head = text[: limit * 4]
    clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") else c for c in head)
    clean = " ".join(clean.split())
    return clean if len(clean) <= limit and len(text) <= limit * 4 else clean[: limit - 1].rstrip() + "…"
