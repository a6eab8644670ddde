"""Bytes of tokens to text for people: whole characters, and nothing of a stop string.

Pure; knows nothing of the engine.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence


class TextStream:
    """Feed it the bytes of each token; it gives back the text that may be shown."""

    def __init__(self, stop_strings: Sequence[str] = (), *, strip_start: bool = False) -> None:
        """``strip_start`` drops white space before the first character (plain transcripts have some)."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stops = tuple(s for s in stop_strings if s)
        self._strip_start = strip_start
        self._held = ""
        self._given_out = 0  # characters of what is held that an earlier part of the answer has
        # The stop string that was found, "" as long as there is none.
        self.stopped_by = ""

    @property
    def stopped(self) -> bool:
        return bool(self.stopped_by)

    def characters(self, data: bytes) -> str:
        """The characters that these bytes complete; the rest waits for the next ones."""
        return self._decoder.decode(data)

    def resume(self, text: str) -> None:
        """The answer begins with this, which was given out before; a stop string may have begun in it."""
        keep = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held, self._given_out = text[len(text) - keep :], keep

    def feed(self, text: str) -> str:
        """What can be shown now: all but a tail that may be the beginning of a stop string."""
        if self._strip_start:
            text = text.lstrip()
            self._strip_start = not text
        if not self._stops or self.stopped:
            return "" if self.stopped else text
        self._held += text
        places = [(at, stop) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if places:
            at, self.stopped_by = min(places)
            shown, self._held = self._held[:at], ""
            return self._new(shown)
        keep = max(_overlap(self._held, stop) for stop in self._stops)
        shown = self._held[: len(self._held) - keep]
        self._held = self._held[len(shown) :]
        return self._new(shown)

    def finish(self) -> str:
        """What was held back, once the answer is over. Incomplete bytes of a character are left out."""
        shown, self._held = self._held, ""
        return "" if self.stopped else self._new(shown)

    def _new(self, shown: str) -> str:
        known = min(self._given_out, len(shown))
        self._given_out -= known
        return shown[known:]


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of ``text`` with which ``stop`` begins."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
