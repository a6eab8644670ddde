"""Makes text of a model safe for a terminal: no escape sequences, no control characters, nothing else lost.

A model can write any character. Raw, some of them would move the cursor, hide text, change the title of the
terminal or write to its clipboard.
"""

from __future__ import annotations

import re
import unicodedata

HELD_LIMIT = 256
"""Longer sequences are not waited for: they are no sequences but text behind a stray escape character."""

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # two characters and charset choices
)
_UNFINISHED = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*\x1b?"
    r"|\x1b[ -/]*|\r)\Z"
)


class TerminalText:
    """A filter for streaming text: a sequence may be split over any number of pieces."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown now."""
        text, self._held = self._held + text, ""
        unfinished = _UNFINISHED.search(text)
        if unfinished and len(unfinished.group()) <= HELD_LIMIT:
            text, self._held = text[: unfinished.start()], unfinished.group()
        return _without_controls(_SEQUENCES.sub("", text))

    def finish(self) -> str:
        """The rest, when nothing more will come."""
        rest, self._held = self._held, ""
        return _without_controls(_SEQUENCES.sub("", rest))


def _without_controls(text: str) -> str:
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
