"""Searching a conversation: which place of which message is looked at, and how many there are.

Must not know: widgets; it gets the texts of the messages.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import chain

from clover_gui.ui.widgets.found_text import places_in

Place = tuple[int, int]
"""A message, and where in its text; both from 0."""


class MessageSearch:
    """Goes from place to place, and round at the end."""

    def __init__(self) -> None:
        self.text = ""
        self.place: Place | None = None
        """The place looked at."""

    def find(self, texts: Iterable[str], text: str, forward: bool, first: int) -> tuple[int, int]:
        """Go to the next place (or the one before), whatever the case of the letters.

        ``first``: the message to begin at if nothing was found before. A text that has just been changed
        may be found where the last one was. Returns which place it is, from 1, and how many there are;
        (0, 0) if there is none.
        """
        places = list(
            chain.from_iterable(
                ((index, at) for at in places_in(message, text)) for index, message in enumerate(texts)
            )
        )
        if not places:
            self.text, self.place = text, None
            return 0, 0
        here = self.place or (first, -1)
        if not forward:
            number = bisect_left(places, here) - 1
        elif text == self.text and self.place:
            number = bisect_right(places, here)
        else:
            number = bisect_left(places, here)
        number %= len(places)
        self.text, self.place = text, places[number]
        return number + 1, len(places)

    def clear(self) -> None:
        self.text, self.place = "", None
