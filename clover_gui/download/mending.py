"""The whole is wrong: find which chunks, and fetch only those again.

The hub publishes one checksum for the whole file. So two cases:

* The disk does not hold what came in: each prefix's checksum was noted as it came in, and reading back shows
  the first chunk that differs. It is fetched again, and so on; nothing else is.
* The wrong bytes came from the server (or a proxy, or through bad memory): then only a second copy can tell.
  Chunks are fetched again, those first in which a connection broke; one that differs is rewritten and the
  whole is hashed again from there. It ends as soon as the whole is right, at the latest after one round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
        self.fetched_bytes = 0
        self.rewritten: list[int] = []

    def run(self, host: str) -> str:
        """The right sha256.

        Raises:
            WrongHash: a second copy of everything did not help.
            DownloadError: fetching failed; what was mended so far is on disk.
        """
        wanted = self._part.source.sha256
        digest = self._mend_disk()
        if digest == wanted:
            return digest
        for index in self._order():
            fresh = self._fetch(self._part.chunk_start(index), self._part.chunk_size(index))
            self.fetched_bytes += len(fresh)
            self._mending(self.fetched_bytes, self._part.source.size_bytes)
            if fresh == self._part.read_chunk(index):
                continue
            self._rewrite(index, fresh)
            digest = self._hash_from(index)
            if digest == wanted:
                return digest
        raise WrongHash(host, wanted, digest, self.fetched_bytes)

    def _mend_disk(self) -> str:
        """Fetch what lies on disk otherwise than it came in; the sha256 afterwards."""
        while (damaged := self._part.first_damaged(self._verify)) is not None:
            fresh = self._fetch(self._part.chunk_start(damaged), self._part.chunk_size(damaged))
            self.fetched_bytes += len(fresh)
            if fresh == self._part.read_chunk(damaged):
                break  # it is the noted checksum that was wrong
            self._rewrite(damaged, fresh)
        return self._hash_from(0)

    def _rewrite(self, index: int, data: bytes) -> None:
        self._part.replace_chunk(index, data)
        self.rewritten.append(index)

    def _hash_from(self, index: int) -> str:
        return self._part.hash_from(index, self._verify)

    def _verify(self, done: int) -> None:
        self._verifying(done, self._part.source.size_bytes)

    def _order(self) -> Iterator[int]:
        """Doubted chunks first, then the others as they lie."""
        count = self._part.chunk_count
        suspects = sorted(index for index in self._part.suspects if 0 <= index < count)
        yield from suspects
        yield from (index for index in range(count) if index not in self._part.suspects)
