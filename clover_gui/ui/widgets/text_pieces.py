"""A long text cut into pieces that an editor shows quickly, and the way between places in both.

One piece is one paragraph of the editor. A line of a million letters would be laid out whole, for seconds;
cut into pieces only what can be seen is laid out. Must not know: widgets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, islice

PIECE = 2_000
"""Letters in one paragraph at most."""

# What ends a paragraph for Qt; the last two are its own marks for frames.
_ENDS = re.compile("\r\n|[\n\r\u2029\ufdd0\ufdd1]")


class TextPieces:
    """``pieces`` of ``text`` in order, without the line ends between them; they are made by ``more``."""

    def __init__(self, text: str, longest: int = PIECE) -> None:
        self.text = text
        self.pieces: list[str] = []
        self.is_complete = False
        """Whether all pieces are made."""
        self._starts: list[int] = []
        self._cuts = self._cut(longest)

    def more(self, count: int) -> list[str]:
        """Make up to so many pieces more."""
        made = list(islice(self._cuts, count))
        for start, end in made:
            self._starts.append(start)
            self.pieces.append(self.text[start:end])
        self.is_complete = len(made) < count
        return self.pieces[len(self.pieces) - len(made) :]

    @property
    def known(self) -> int:
        """How much of the text is in pieces that are made."""
        return self._starts[-1] + len(self.pieces[-1]) if self.pieces else 0

    def _cut(self, longest: int) -> Iterator[tuple[int, int]]:
        start = 0
        for match in chain(_ENDS.finditer(self.text), (None,)):
            end, following = match.span() if match else (len(self.text), 0)
            for at in range(start, max(end, start + 1), longest):
                yield at, min(end, at + longest)
            start = following

    def offset(self, piece: int, units: int) -> int:
        """The place in the text of what stands ``units`` UTF-16 units, as Qt counts, after a piece begins."""
        words = self.pieces[piece].encode("utf-16-le", "surrogatepass")
        return self._starts[piece] + len(words[: 2 * units].decode("utf-16-le", "surrogatepass"))

    def place(self, offset: int) -> tuple[int, int]:
        """The piece that a place in the text is in, and how many UTF-16 units after its beginning."""
        piece = max(0, bisect_right(self._starts, offset) - 1)
        before = self.pieces[piece][: offset - self._starts[piece]]
        return piece, len(before.encode("utf-16-le", "surrogatepass")) // 2
