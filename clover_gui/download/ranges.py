"""A small range of the file into memory, with the same patience as the transfer."""

from __future__ import annotations

from collections.abc import Callable

from clover_gui.download.control import Control
from clover_gui.download.hub_file import HubFile
from clover_gui.download.judge import accepted_start, check_beginning
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.retries import Retries
from clover_gui.download.stream import ByteStream, Interrupted, OpenStream, Stalled
from clover_gui.errors import DownloadError, HubUnreachable, WrongSize


class RangeFetcher:
    """Fetches ranges of one file. ``heed`` is called before each request and may raise."""

    def __init__(
        self,
        source: HubFile,
        open_stream: OpenStream,
        policy: TransferPolicy,
        control: Control,
        retries: Retries,
        heed: Callable[[], None],
    ) -> None:
        self._source = source
        self._open_stream = open_stream
        self._policy = policy
        self._control = control
        self._retries = retries
        self._heed = heed

    def fetch(self, first: int, size: int) -> bytes:
        """``size`` bytes from ``first``. Memory: twice that, for a server that ignores ranges no more.

        Raises:
            DownloadError: one of its kinds; DownloadStopped through ``heed``.
        """
        data = bytearray()
        while len(data) < size:
            self._heed()
            stream = self._open_stream(first + len(data), first + size - 1)
            self._control.attach(stream.interrupt)
            try:
                self._receive(stream, first + len(data), data, size)
            except Interrupted:
                continue
            except Stalled:
                self._retries.failed(HubUnreachable(self._retries.host, "silent", "stalled"))
            except DownloadError as error:
                self._retries.failed(error)
            finally:
                self._control.attach(None)
                stream.close()
        return bytes(data)

    def _receive(self, stream: ByteStream, wanted_start: int, data: bytearray, size: int) -> None:
        answer = stream.head()
        body_start = accepted_start(answer, self._source, wanted_start)
        skip = wanted_start - body_start
        unchecked = body_start == 0
        while len(data) < size:
            pieces = stream.take(self._policy.stall_timeout_s)
            if not pieces:
                if self._retries.ended_short():
                    raise WrongSize(answer.host, self._source.size_bytes, wanted_start + len(data))
                raise HubUnreachable(answer.host, "broken", "ended early")
            arrived = b"".join(pieces)
            if unchecked:
                check_beginning(answer, self._source, arrived)
                unchecked = False
            self._retries.progressed()
            data += arrived[skip : skip + size - len(data)]
            skip = max(0, skip - len(arrived))
