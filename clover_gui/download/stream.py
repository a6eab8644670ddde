"""Bytes of one request, read by a thread of its own and handed over in bulk.

The reading thread touches the socket and nothing else, so that whoever takes the bytes may leave at any
moment, also while a name is looked up or a server is silent. Taking and reading overlap: while the taker
hashes and writes, the next bytes come in.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from typing import Protocol

from clover_gui.download.connection import Answer, Connection, connection_error

_MOST_WAITING_BYTES = 16 << 20


class Stalled(Exception):
    """The server sent next to nothing for too long."""


class Interrupted(Exception):
    """The taker was woken from outside."""


class ByteStream(Protocol):
    """What ``transfer.py`` needs of a request that is under way."""

    def head(self) -> Answer: ...

    def take(self, timeout_s: float) -> list[bytes]: ...

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


OpenStream = Callable[[int, int | None], ByteStream]


class Stream:
    """One request. ``head`` and ``take`` are for one thread, ``interrupt`` and ``close`` for any."""

    def __init__(self, connection: Connection, url: str, first: int, last: int | None = None) -> None:
        self._connection = connection
        self._changed = threading.Condition()
        self._answer: Answer | None = None
        self._pieces: list[bytes] = []
        self._waiting_bytes = 0
        self._error: Exception | None = None
        self._ended = False
        self._interrupted = False
        self._closed = False
        threading.Thread(
            target=self._read, args=(url, first, last), name="download-reader", daemon=True
        ).start()

    def head(self) -> Answer:
        """Wait for the answer's head.

        Raises:
            DownloadError: from ``Connection.get``.
            Interrupted: ``interrupt`` was called.
        """
        with self._changed:
            self._wait(lambda: self._answer is not None, None)
            assert self._answer is not None
            return self._answer

    def take(self, timeout_s: float) -> list[bytes]:
        """All bytes that have come in since the last call, at least some; [] at the end of the body.

        Raises:
            DownloadError: the connection broke.
            Stalled: nothing came for ``timeout_s``.
            Interrupted: ``interrupt`` was called.
        """
        with self._changed:
            if not self._wait(lambda: bool(self._pieces) or self._ended, timeout_s):
                raise Stalled
            pieces, self._pieces, self._waiting_bytes = self._pieces, [], 0
            self._changed.notify_all()
            return pieces

    def interrupt(self) -> None:
        """Wake the thread that takes; it gets ``Interrupted``."""
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

    def close(self) -> None:
        """End the request. The reading thread ends by itself; nobody waits for it."""
        with self._changed:
            self._closed = True
            self._pieces, self._waiting_bytes = [], 0
            self._changed.notify_all()
        self._connection.abort()

    def _wait(self, ready: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait under the lock; what came before an error is taken first."""
        self._changed.wait_for(lambda: self._interrupted or ready() or self._error is not None, timeout_s)
        if self._interrupted:
            raise Interrupted
        if ready():
            return True
        if self._error is not None:
            raise self._error
        return False

    def _read(self, url: str, first: int, last: int | None) -> None:
        host = ""
        try:
            answer = self._connection.get(url, first, last)
            host = answer.host
            with self._changed:
                self._answer = answer
                self._changed.notify_all()
            while piece := answer.read():
                if not self._put(piece):
                    return
            with self._changed:
                self._ended = True
                self._changed.notify_all()
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            # ValueError and AttributeError: what http.client makes of a socket that is closed under it.
            self._fail(connection_error(error, host))
        except Exception as error:
            self._fail(error)
        finally:
            self._connection.close()

    def _put(self, piece: bytes) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting_bytes < _MOST_WAITING_BYTES)
            if self._closed:
                return False
            was_empty = not self._pieces
            self._pieces.append(piece)
            self._waiting_bytes += len(piece)
            if was_empty:
                self._changed.notify_all()
            return True

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._error = error
            self._changed.notify_all()
