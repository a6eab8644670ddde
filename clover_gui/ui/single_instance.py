"""One window per data folder: a second start hands over, with the model file it was given, and ends.

A QLockFile decides who is first (it notices locks of dead processes by itself), a local socket that
only this person may open carries the wish to be raised (see ``instance_address``). Two data folders are two
instances.
"""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from clover_gui.ui.instance_address import addresses, is_own_socket

RAISE = b"raise\n"
OPEN = b"open "  # and the file's name as a JSON string, which has no line ends
REQUEST_TIMEOUT_MS = 300
# No file has a longer name; whoever asks for one only gets the window.
MOST_BYTES = 1 << 18

log = logging.getLogger(__name__)


class SingleInstance(QObject):
    """``acquire`` is True for the first; the others call ``hand_over`` and end.

    ``open_requested`` carries the absolute name of a model file, as another start of this person gave it.
    """

    raise_requested = Signal()
    open_requested = Signal(str)

    def __init__(self, folder: Path, lock_path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._addresses = addresses(folder)
        self._lock = QLockFile(str(lock_path))
        self._lock.setStaleLockTime(0)
        self._server: QLocalServer | None = None

    def acquire(self) -> bool:
        """Whether this process is the first. Also True where no lock can be written (read-only folder)."""
        if not self._lock.tryLock(0) and self._lock.error() is QLockFile.LockError.LockFailedError:
            return False
        self._listen()
        return True

    def _listen(self) -> None:
        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        server.newConnection.connect(self._connected)
        for address in self._addresses:
            QLocalServer.removeServer(address)
            if server.listen(address):
                self._server = server
                return
        log.warning("a second start cannot reach this window: %s", server.errorString() or "no place for it")
        server.deleteLater()

    def hand_over(self, model_file: str = "", timeout_s: float = 3.0) -> bool:
        """Ask the first window to come to the front and to show ``model_file``; whether it answered."""
        request = OPEN + json.dumps(model_file).encode() + b"\n" if model_file else RAISE
        if len(request) > MOST_BYTES:
            request = RAISE
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            for address in self._addresses:
                socket = QLocalSocket()
                socket.connectToServer(address)
                if socket.waitForConnected(200):
                    if is_own_socket(address, int(socket.socketDescriptor())):
                        return _ask(socket, request)
                    log.warning("somebody else listens in place of the first window")
                    socket.abort()
            time.sleep(0.05)  # the first one may stand between its lock and its socket
        return False

    def release(self) -> None:
        """Let another process be the first."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self._lock.unlock()

    def _connected(self) -> None:
        assert self._server is not None
        while (socket := self._server.nextPendingConnection()) is not None:
            # Waited for on the spot: it comes from a process of the same person that has just been started,
            # and a socket without slots of ours cannot outlive what they refer to.
            request = _read_request(socket)
            model_file = _named_file(request)
            if request == RAISE or model_file:
                socket.write(b"ok\n")
                socket.flush()
                self.raise_requested.emit()
            if model_file:
                self.open_requested.emit(model_file)
            socket.disconnectFromServer()


def _ask(socket: QLocalSocket, request: bytes) -> bool:
    socket.write(request)
    while socket.bytesToWrite() and socket.waitForBytesWritten(500):
        pass
    return socket.waitForReadyRead(1000)


def _read_request(socket: QLocalSocket) -> bytes:
    """One line, or what there is of it in time."""
    request = b""
    end = time.monotonic() + REQUEST_TIMEOUT_MS / 1000
    while not request.endswith(b"\n") and len(request) <= MOST_BYTES:
        left_ms = int((end - time.monotonic()) * 1000)
        if left_ms <= 0 or not (socket.bytesAvailable() or socket.waitForReadyRead(left_ms)):
            break
        request += bytes(socket.readAll().data())
    return request


def _named_file(request: bytes) -> str:
    """The file of an OPEN request; "" for anything else."""
    if not request.startswith(OPEN) or not request.endswith(b"\n"):
        return ""
    try:
        name = json.loads(request[len(OPEN) :])
    except (ValueError, RecursionError):
        return ""
    return name if isinstance(name, str) and os.path.isabs(name) else ""  # noqa: PTH117  # "" stays ""
