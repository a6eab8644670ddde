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
from clover_gui.download.judge import accepted_start
from clover_gui.download.part_file import PartFile
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.progress import Note, Phase, Reporter
from clover_gui.download.retries import Retries
from clover_gui.download.stream import ByteStream, Interrupted, Stalled
from clover_gui.download.web_page import GGUF_MAGIC, is_web_page, page_title
from clover_gui.errors import (
    DestinationNotWritable,
    DownloadError,
    DownloadStopped,
    HubUnreachable,
    NotAModelReceived,
    WebPageReceived,
    WrongSize,
)

OpenStream = Callable[[int, int | None], ByteStream]
_DISK_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_BEGINNING_BYTES = 512


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

    def run(self) -> str:
        """Read back what is there and fetch the rest; the sha256 of the whole.

        Raises:
            DownloadStopped: the person's wish; the part is kept.
            RemoteFileChanged: the server has another file; ask the hub again.
            DownloadError: any other of its kinds; the part is kept.
        """
        try:
            self._read_back()
            while self._part.position < self._source.size_bytes:
                self._heed_wish()
                self._fetch_some()
        except OSError as error:
            raise DestinationNotWritable(self._part.path, error.strerror or str(error)) from error
        return self._part.digest()

    def _read_back(self) -> None:
        def progress(done: int) -> None:
            self._heed_wish(Phase.READING_BACK)
            self._reporter.progress(Phase.READING_BACK, done, present)

        present = self._part.open_size()
        if present == 0:
            return
        sound = self._part.read_back(progress)
        self._reporter.note(Note.RESUMED if sound else Note.PART_DAMAGED)

    def _fetch_some(self) -> None:
        """One connection: from the position as far as it carries."""
        start = self._part.position
        stream = self._open_stream(start, None)
        self._control.attach(stream.interrupt)
        try:
            body_start = accepted_start(stream.head(), self._source, start)
            self._receive(stream, body_start)
        except Interrupted:
            pass
        except Stalled:
            self._part.suspect_here()
            self._retries.failed(HubUnreachable(self._host(), "silent", "stalled"), self._part.position)
        except DownloadError as error:
            self._part.suspect_here()
            self._after(error)
        except OSError as error:
            if error.errno not in _DISK_FULL:
                raise
            stream.close()
            self._wait_for_space()
        finally:
            self._control.attach(None)
            stream.close()

    def _receive(self, stream: ByteStream, body_start: int) -> None:
        """Append a body that begins at ``body_start``; what is there already is passed over."""
        if body_start < self._part.position:
            self._reporter.note(Note.RANGE_IGNORED)
        skip = self._part.position - body_start
        beginning = b"" if body_start == 0 and self._part.position == 0 else None
        window_start, window_bytes = time.monotonic(), 0
        while self._part.position < self._source.size_bytes:
            pieces = stream.take(self._policy.stall_timeout_s)
            if not pieces:
                self._ended_early()
            for piece in pieces:
                window_bytes += len(piece)
                if skip:
                    passed = min(skip, len(piece))
                    skip -= passed
                    piece = piece[passed:]
                if beginning is not None:
                    beginning += piece
                    if len(beginning) < len(GGUF_MAGIC):
                        continue
                    self._check_beginning(beginning)
                    piece, beginning = beginning, None
                self._append(piece)
            now = time.monotonic()
            if now - window_start > self._policy.stall_timeout_s:
                if window_bytes < self._policy.stall_bytes:
                    raise Stalled
                window_start, window_bytes = now, 0

    def _append(self, piece: bytes) -> None:
        if not piece:
            return
        before = self._part.position
        self._part.append(piece[: self._source.size_bytes - before])
        after = self._part.position
        self._retries.progressed()
        self._reporter.progress(Phase.DOWNLOADING, after, self._source.size_bytes)
        if before // self._policy.chunk_bytes != after // self._policy.chunk_bytes:
            self._look_at_space()

    def _ended_early(self) -> None:
        """The body ended before the file's end. Twice at one place: there is no more to be had."""
        position = self._part.position
        if self._retries.same_place(position):
            raise WrongSize(self._host(), self._source.size_bytes, position)
        raise HubUnreachable(self._host(), "broken", f"ended at {position}")

    def _check_beginning(self, beginning: bytes) -> None:
        """Nothing but GGUF is ever written."""
        if beginning.startswith(GGUF_MAGIC):
            return
        head = beginning[:_BEGINNING_BYTES]
        if is_web_page("", head):
            raise WebPageReceived(self._host(), page_title(beginning))
        raise NotAModelReceived(self._host(), self._source.file_name)

    def _after(self, error: DownloadError) -> None:
        """Wait and come back for another try, or raise the error."""
        if getattr(error, "status", 0) == 416 and not self._restarted:
            # The server does not have the place where we stand: begin again, once.
            self._restarted = True
            self._part.cut_off()
            self._reporter.note(Note.STARTED_AGAIN)
            return
        self._retries.failed(error, self._part.position)

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
        while self._control.wish is not Wish.STOP:
            left = self._source.size_bytes - self._part.position
            needed = left + self._policy.margin_bytes(self._source.size_bytes)
            free = self._free_bytes(folder)
            if free >= needed:
                return
            self._reporter.event(
                Phase.NO_SPACE,
                self._part.position,
                self._source.size_bytes,
                missing_bytes=needed - free,
            )
            self._control.wait(self._policy.space_poll_s)
            self._heed_wish()

    def _heed_wish(self, phase: Phase = Phase.DOWNLOADING) -> None:
        """Come back when the download may go on.

        Raises:
            DownloadStopped: it may not, ever.
        """
        if self._control.wish is Wish.PAUSE:
            done = self._part.position
            self._reporter.event(Phase.PAUSED, done, self._source.size_bytes)
            self._control.wait_while_paused()
        if self._control.wish is Wish.STOP:
            raise DownloadStopped(self._part.position)

    def _host(self) -> str:
        return self._retries.host or self._source.endpoint.partition("//")[2].partition("/")[0]
