"""The transfer itself: read back, fetch the rest, check, mend. Blocking; runs in a thread of its own.

It owns the part file and decides what an answer, a break, a full disk and the person's wish mean. It gets
its streams from a callable, so that nothing here knows of sockets.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path

from clover_gui.download.control import Control, Wish
from clover_gui.download.judge import accepted_start, check_beginning
from clover_gui.download.mending import Mending
from clover_gui.download.part_file import PartFile
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.progress import Note, Phase, Reporter
from clover_gui.download.ranges import RangeFetcher
from clover_gui.download.retries import Retries
from clover_gui.download.stream import ByteStream, Interrupted, OpenStream, Stalled
from clover_gui.download.web_page import GGUF_MAGIC
from clover_gui.errors import (
    DestinationNotWritable,
    DownloadError,
    DownloadStopped,
    HubFailed,
    HubUnreachable,
    WrongSize,
)

_DISK_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))

_TELL_INTERVAL_S = 0.5


class Transfer:
    """Fills one open part file. ``run`` once; all waiting is ended by ``control``."""

    def __init__(
        self,
        part: PartFile,
        open_stream: OpenStream,
        policy: TransferPolicy,
        control: Control,
        reporter: Reporter,
        free_bytes: Callable[[Path], int],
    ) -> None:
        self._part = part
        self._source = part.source
        self._open_stream = open_stream
        self._policy = policy
        self._control = control
        self._reporter = reporter
        self._free_bytes = free_bytes
        self._retries = Retries(policy, control, self._tell_retry)
        self._restarted = False
        self._space_seen_at = 0

    def run(self) -> None:
        """Read back what is there, fetch the rest, check the whole, mend it where that is needed.

        Raises:
            DownloadStopped: the person's wish; the part is kept.
            RemoteFileChanged: the server has another file; ask the hub again.
            WrongHash: the server's bytes are not the published ones; the part is of no use.
            DownloadError: any other of its kinds; the part is kept.
        """
        try:
            self._read_back()
            while self._part.position < self._source.size_bytes:
                self._heed_wish()
                self._fetch_some()
            if self._part.digest() != self._source.sha256:
                self._mend()
        except OSError as error:
            raise DestinationNotWritable(self._part.path, error.strerror or str(error)) from error

    def _read_back(self) -> None:
        present = self._part.present_bytes
        if present == 0:
            return

        def progress(done: int) -> None:
            self._heed_wish()
            self._reporter.progress(Phase.READING_BACK, done, present)

        sound = self._part.read_back(progress)
        self._retries.progressed()
        self._reporter.note(Note.RESUMED if sound else Note.PART_DAMAGED)

    def _mend(self) -> None:
        self._reporter.note(Note.WRONG_BYTES)
        self._retries.progressed()
        ranges = RangeFetcher(
            self._source, self._open_stream, self._policy, self._control, self._retries, self._heed_wish
        )

        def verifying(done: int, total: int) -> None:
            self._heed_wish()
            self._reporter.progress(Phase.VERIFYING, done, total)

        def mending(done: int, total: int) -> None:
            self._reporter.progress(Phase.MENDING, done, total)

        Mending(self._part, ranges.fetch, verifying, mending).run(self._host())

    def _fetch_some(self) -> None:
        """One connection: from the position as far as it carries."""
        start = self._part.position
        stream = self._open_stream(start, None)
        self._control.attach(stream.interrupt)
        try:
            self._receive(stream, start)
        except Interrupted:
            pass
        except Stalled:
            self._after(HubUnreachable(self._host(), "silent", "stalled"))
        except DownloadError as error:
            self._after(error)
        except OSError as error:
            if error.errno not in _DISK_FULL:
                raise
            stream.close()
            self._wait_for_space()
        finally:
            self._control.attach(None)
            stream.close()

    def _receive(self, stream: ByteStream, start: int) -> None:
        """Append what comes; what is there already (a server that ignores ranges) is passed over."""
        answer = stream.head()
        body_start = accepted_start(answer, self._source, start)
        if body_start < start:
            self._reporter.note(Note.RANGE_IGNORED)
        skip = start - body_start
        beginning = b"" if body_start == 0 else None
        window = _Window(self._policy.stall_timeout_s, self._policy.stall_bytes)
        while self._part.position < self._source.size_bytes:
            pieces = self._next_pieces(stream)
            if not pieces:
                self._ended_early(answer.host)
            for piece in pieces:
                window.arrived(len(piece))
                if beginning is not None:
                    beginning += piece
                    if len(beginning) < len(GGUF_MAGIC):
                        continue
                    check_beginning(answer, self._source, beginning)
                    piece, beginning = beginning, None
                passed = min(skip, len(piece))
                skip -= passed
                self._append(piece[passed:] if passed else piece)

    def _next_pieces(self, stream: ByteStream) -> list[bytes]:
        """What comes next. While nothing comes, the falling speed is told."""
        give_up_at = time.monotonic() + self._policy.stall_timeout_s
        while (left_s := give_up_at - time.monotonic()) > 0:
            try:
                return stream.take(min(left_s, _TELL_INTERVAL_S))
            except Stalled:
                self._reporter.progress(Phase.DOWNLOADING, self._part.position, self._source.size_bytes)
        raise Stalled

    def _append(self, piece: bytes) -> None:
        if not piece:
            return
        before = self._part.position
        self._part.append(piece[: self._source.size_bytes - before])
        after = self._part.position
        self._retries.progressed()
        self._reporter.progress(Phase.DOWNLOADING, after, self._source.size_bytes)
        if self._space_seen_at + self._policy.chunk_bytes <= after:
            self._space_seen_at = after
            self._look_at_space()

    def _ended_early(self, host: str) -> None:
        """The body ended in good order, but before the file's end."""
        position = self._part.position
        if self._retries.ended_short():
            raise WrongSize(host, self._source.size_bytes, position)
        raise HubUnreachable(host, "broken", f"ended at {position}")

    def _after(self, error: DownloadError) -> None:
        """Wait and come back for another try, or raise the error."""
        self._part.suspect_here()
        if isinstance(error, HubFailed) and error.status == 416 and not self._restarted:
            # The server does not have the place where we stand: begin again, once.
            self._restarted = True
            self._part.cut_off()
            self._reporter.note(Note.STARTED_AGAIN)
            return
        self._retries.failed(error)

    def _tell_retry(self, error: DownloadError, wait_s: float) -> None:
        self._reporter.event(
            Phase.RETRYING, self._part.position, self._source.size_bytes, error=error, wait_s=wait_s
        )

    def _look_at_space(self) -> None:
        """Stop before the disk is full, so that other programs still have room."""
        if self._part.position >= self._source.size_bytes:
            return
        if self._free_bytes(self._part.path.parent) < min(
            self._policy.space_margin_bytes // 4, self._source.size_bytes - self._part.position
        ):
            raise OSError(errno.ENOSPC, "too little room left")

    def _wait_for_space(self) -> None:
        """Report what is missing until it is there; the person may make room, stop, or ask to try now."""
        folder = self._part.path.parent
        total = self._source.size_bytes
        while True:
            since = self._control.changes
            needed = total - self._part.position + self._policy.margin_bytes(total)
            missing = needed - self._free_bytes(folder)
            # A quota can forbid what the disk has room for: then only trying tells.
            self._reporter.event(
                Phase.NO_SPACE,
                self._part.position,
                total,
                missing_bytes=missing if missing > 0 else total - self._part.position,
            )
            self._control.wait(self._policy.space_poll_s, since)
            self._heed_wish()
            if self._free_bytes(folder) >= needed:
                self._retries.progressed()
                return

    def _heed_wish(self) -> None:
        """Come back when the download may go on.

        Raises:
            DownloadStopped: it may not, ever.
        """
        if self._control.wish is Wish.PAUSE:
            done = self._part.position
            self._reporter.event(Phase.PAUSED, done, self._source.size_bytes)
            self._control.wait_while_paused()
            self._retries.progressed()
        if self._control.wish is Wish.STOP:
            raise DownloadStopped(self._part.position)

    def _host(self) -> str:
        return self._retries.host or self._source.endpoint.partition("//")[2].partition("/")[0]


class _Window:
    """Bytes per span of time: a connection that only drips is dead as well."""

    def __init__(self, span_s: float, least_bytes: int) -> None:
        self._span_s = span_s
        self._least_bytes = least_bytes
        self._start = time.monotonic()
        self._bytes = 0

    def arrived(self, count: int) -> None:
        """Raises Stalled when a whole span brought too little."""
        self._bytes += count
        now = time.monotonic()
        if now - self._start > self._span_s:
            if self._bytes < self._least_bytes:
                raise Stalled
            self._start, self._bytes = now, 0
