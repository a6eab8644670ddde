"""Brings one published wheel: resumed where it stopped, retried while that can help, checked at the end.

Uses the transfers' own parts (stream, retries, progress) and none of their files: a wheel has no listing
with sizes, so the server's own words (length, ETag) decide whether a part may be continued. Blocking.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clover_gui.download.answers import error_for_status
from clover_gui.download.connection import Answer, Connection
from clover_gui.download.control import Control, Wish
from clover_gui.download.hub_settings import HubSettings, tls_context
from clover_gui.download.json_file import read_json, write_json
from clover_gui.download.manager import free_bytes
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.progress import Note, Phase, Reporter, Status
from clover_gui.download.receipt import sha256_of
from clover_gui.download.retries import Retries
from clover_gui.download.stream import Interrupted, Stalled, Stream
from clover_gui.errors import (
    DestinationNotWritable,
    DownloadError,
    FlavourStopped,
    HubFailed,
    HubUnreachable,
    NotEnoughSpace,
    WrongHash,
)
from clover_gui.flavours.published import PublishedWheel
from clover_gui.flavours.store import PART_PREFIX

_TELL_INTERVAL_S = 0.5
# Libraries are packed to about half, and the wheel lies beside them meanwhile.
UNPACKED_TIMES = 3


@dataclass(frozen=True, slots=True)
class _Known:
    """What the server said of the file: a part is continued only while it says the same."""

    size_bytes: int
    etag: str


class WheelDownload:
    """``run`` once, in a thread; ``control`` stops it at once from any other."""

    def __init__(
        self,
        wheel: PublishedWheel,
        folder: Path,
        settings: HubSettings,
        control: Control,
        on_status: Callable[[Status], None],
        policy: TransferPolicy | None = None,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        self._wheel = wheel
        self._settings = settings
        self._control = control
        self._policy = policy or TransferPolicy()
        self._free = free
        self._reporter = Reporter(on_status, self._policy.report_interval_s)
        self._retries = Retries(self._policy, control, self._tell_retry)
        name = hashlib.sha256(wheel.url.encode()).hexdigest()[:16]
        self.part = folder / f"{PART_PREFIX}{name}.whl"
        self._notes = folder / f"{PART_PREFIX}{name}.json"
        self._known: _Known | None = None
        self._context = tls_context(settings)

    def run(self) -> Path:
        """The whole, checked file.

        Raises:
            FlavourStopped: the person's wish; the part is kept.
            NotEnoughSpace: before or while it is brought; the part is kept.
            DownloadError: any other of its kinds.
        """
        try:
            self._known = self._recall()
            if self._position:
                self._reporter.note(Note.RESUMED)
            while self._known is None or self._position < self._known.size_bytes:
                self._heed_wish()
                self._fetch_some()
            self._check()
        except OSError as error:
            raise DestinationNotWritable(self.part, error.strerror or str(error)) from error
        return self.part

    def forget(self) -> None:
        """Remove the file and what is known of it."""
        for path in (self.part, self._notes):
            path.unlink(missing_ok=True)

    @property
    def _position(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _recall(self) -> _Known | None:
        value = read_json(self._notes) or {}
        size, etag = value.get("size_bytes"), value.get("etag")
        fits = value.get("url") == self._wheel.url and isinstance(size, int) and isinstance(etag, str)
        if fits and isinstance(size, int) and isinstance(etag, str) and self._position <= size:
            return _Known(size, etag)
        self.forget()
        return None

    def _fetch_some(self) -> None:
        """One connection: from where we stand as far as it carries."""
        connection = Connection(
            self._settings, self._context, self._policy.connect_timeout_s, self._policy.stall_timeout_s
        )
        stream = Stream(connection, self._wheel.url, self._position)
        self._control.attach(stream.interrupt)
        try:
            self._receive(stream)
        except Interrupted:
            pass
        except Stalled:
            self._retries.failed(HubUnreachable(self._wheel.host, "silent", "stalled"))
        except NotEnoughSpace:
            raise
        except DownloadError as error:
            self._retries.failed(error)
        finally:
            self._control.attach(None)
            stream.close()

    def _receive(self, stream: Stream) -> None:
        known, start = self._judge(stream.head())
        if known != self._known:
            # Another file than before, or the first answer: nothing of what is here belongs to it.
            self.forget()
            self._known, start = known, 0
            write_json(
                self._notes,
                {"url": self._wheel.url, "size_bytes": known.size_bytes, "etag": known.etag},
            )
        elif start < self._position:
            self._reporter.note(Note.RANGE_IGNORED)
        self._check_space(known)
        with open(self.part, "r+b" if self.part.exists() else "w+b") as file:
            file.seek(start)
            file.truncate()
            while start < known.size_bytes:
                pieces = self._next_pieces(stream, start, known.size_bytes)
                if not pieces:
                    raise HubUnreachable(self._wheel.host, "broken", f"ended at {start}")
                for piece in pieces:
                    start += file.write(piece[: known.size_bytes - start])
                self._retries.progressed()
                self._reporter.progress(Phase.DOWNLOADING, start, known.size_bytes)
            file.flush()
            os.fsync(file.fileno())

    def _next_pieces(self, stream: Stream, done: int, total: int) -> list[bytes]:
        waited_s = 0.0
        while waited_s < self._policy.stall_timeout_s:
            try:
                return stream.take(_TELL_INTERVAL_S)
            except Stalled:
                waited_s += _TELL_INTERVAL_S
                self._reporter.progress(Phase.DOWNLOADING, done, total)
        raise Stalled

    def _judge(self, answer: Answer) -> tuple[_Known, int]:
        """What the server has, and where its answer begins."""
        if answer.status == 416:
            self.forget()  # it does not have the place where we stand: begin again
            self._known = None
            raise HubUnreachable(answer.host, "broken", "HTTP 416")
        if answer.status not in (200, 206):
            raise error_for_status(
                answer.status,
                answer.headers,
                host=answer.host,
                repository=self._wheel.set_name,
                token_sent=False,
                file_name=self._wheel.file_name,
            )
        etag = answer.headers.get("etag") or answer.headers.get("last-modified") or ""
        if answer.status == 206:
            found = re.fullmatch(
                r"bytes (\d+)-\d+/(\d+)", (answer.headers.get("content-range") or "").strip()
            )
            if found is None or int(found[1]) != self._position:
                raise HubFailed(answer.host, 206, "another range than asked for")
            known = _Known(int(found[2]), etag)
            if known != self._known:
                self.forget()
                self._known = None
                raise HubUnreachable(answer.host, "broken", "the file on the server is another one")
            return known, int(found[1])
        length = answer.headers.get("content-length") or ""
        if not length.isdigit() or int(length) == 0:
            raise HubFailed(answer.host, answer.status, "no length")
        return _Known(int(length), etag), 0

    def _check_space(self, known: _Known) -> None:
        folder = self.part.parent
        needed = (1 + UNPACKED_TIMES) * known.size_bytes - self._position + self._policy.space_margin_bytes
        if (free := self._free(folder)) < needed:
            raise NotEnoughSpace(folder, needed, free)

    def _check(self) -> None:
        if not self._wheel.sha256:
            return

        def progress(done: int) -> None:
            self._heed_wish()
            self._reporter.progress(Phase.VERIFYING, done, self._position)

        actual = sha256_of(self.part, progress)
        if actual != self._wheel.sha256:
            self.forget()
            raise WrongHash(self._wheel.host, self._wheel.sha256, actual, 0)

    def _heed_wish(self) -> None:
        if self._control.wish is Wish.STOP:
            raise FlavourStopped("stopped")

    def _tell_retry(self, error: DownloadError, wait_s: float) -> None:
        total = self._known.size_bytes if self._known else 0
        self._reporter.event(Phase.RETRYING, self._position, total, error=error, wait_s=wait_s)
