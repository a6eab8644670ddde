"""The whole is wrong: find which chunks, and fetch only those again.

The hub publishes one checksum for the whole file. So two cases:

* The disk does not hold what came in: each prefix's checksum was noted as it came in, and reading back shows
  the first chunk that differs. It is fetched again, and so on; nothing else is.
* The wrong bytes came from the server (or a proxy, or through bad memory): then only a second copy can tell.
  Chunks are fetched again, those first in which a connection broke; one that differs is rewritten and the
  whole is hashed again from there. It ends as soon as the whole is right, at the latest after one round.
"""

from __future__ import annotations

from collections.abc import Callable

from clover_gui.download.part_file import PartFile
from clover_gui.errors import WrongHash

FetchChunk = Callable[[int, int], bytes]
Progress = Callable[[int, int], None]


class Mending:
    """One attempt to make a whole but wrong part right. ``fetch(first, size)`` brings that range again."""

    def __init__(self, part: PartFile, fetch: FetchChunk, verifying: Progress, mending: Progress) -> None:
        self._part = part
        self._fetch = fetch
        self._verifying = verifying
        self._mending = mending
        self._noted = part.prefixes
        self._fetched: set[int] = set()
        self.fetched_bytes = 0

    def run(self, host: str) -> None:
        """Come back when the whole is right.

        Raises:
            WrongHash: a second copy of everything did not help.
            DownloadError: fetching failed; what was mended so far is on disk.
        """
        wanted = self._part.source.sha256
        digest = self._part.hash_from(0, self._verify)
        while digest != wanted:
            index = self._next()
            if index is None:
                raise WrongHash(host, wanted, digest, self.fetched_bytes)
            fresh = self._fetch(self._part.chunk_start(index), self._part.chunk_size(index))
            self._fetched.add(index)
            self.fetched_bytes += len(fresh)
            self._mending(self.fetched_bytes, self._part.source.size_bytes)
            if fresh != self._part.read_chunk(index):
                self._part.replace_chunk(index, fresh)
                digest = self._part.hash_from(index, self._verify)

    def _next(self) -> int | None:
        """The chunk to doubt next: damaged on disk, then where a connection broke, then as they lie."""
        damaged = (
            index
            for index, (noted, now) in enumerate(zip(self._noted, self._part.prefixes, strict=False))
            if noted != now
        )
        first = next(damaged, None)
        if first is not None and first not in self._fetched:
            return first
        suspects = sorted(self._part.suspects)
        left = (index for index in (*suspects, *range(self._part.chunk_count)) if index not in self._fetched)
        return next((index for index in left if 0 <= index < self._part.chunk_count), None)

    def _verify(self, done: int) -> None:
        self._verifying(done, self._part.source.size_bytes)
