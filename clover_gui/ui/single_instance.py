"""One window per data folder: a second start hands over and raises the first window.

A QLockFile decides who is first (it notices locks of dead processes by itself), a local socket that
only this person may open carries the wish to be raised. Two data folders are two instances.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import time
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

RAISE = b"raise\n"
REQUEST_TIMEOUT_MS = 300


class SingleInstance(QObject):
    """``acquire`` is True for the first; the others call ``hand_over`` and end."""

    raise_requested = Signal()

    def __init__(self, folder: Path, lock_path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = _socket_name(folder)
        self._lock = QLockFile(str(lock_path))
        self._lock.setStaleLockTime(0)
        self._server: QLocalServer | None = None

    def acquire(self) -> bool:
        """Whether this process is the first. Also True where no lock can be written (read-only folder)."""
        if not self._lock.tryLock(0) and self._lock.error() is QLockFile.LockError.LockFailedError:
            return False
        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(self._name)
        server.newConnection.connect(self._connected)
        server.listen(self._name)
        self._server = server
        return True

    def hand_over(self, timeout_s: float = 3.0) -> bool:
        """Ask the first window to come to the front; whether it answered in time."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            socket = QLocalSocket()
            socket.connectToServer(self._name)
            if socket.waitForConnected(200):
                socket.write(RAISE)
                socket.waitForBytesWritten(500)
                return socket.waitForReadyRead(1000)
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
            socket.waitForReadyRead(REQUEST_TIMEOUT_MS)
            if bytes(socket.readAll().data()) == RAISE:
                socket.write(b"ok\n")
                socket.flush()
                self.raise_requested.emit()
            socket.disconnectFromServer()


def _socket_name(folder: Path) -> str:
    key = f"{getpass.getuser()}\0{os.path.realpath(folder)}"
    return "clover-gui-" + hashlib.sha256(key.encode()).hexdigest()[:16]
