"""One process at a time per file: a lock that the system itself drops when the process ends."""

from __future__ import annotations

import os
import sys
from io import FileIO
from pathlib import Path


class FileLock:
    """Held from ``take`` to ``release`` through a small file beside the data."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None

    def take(self) -> bool:
        """True when the lock is ours now; False when another process (or object) holds it.

        Raises:
            OSError: the lock file cannot be made.
        """
        file = FileIO(self.path, "a+")
        try:
            _lock(file)
        except OSError:
            file.close()
            return False
        if not _is_still(self.path, file):
            # Its last holder removed it between our opening and our locking.
            file.close()
            return self.take()
        self._file = file
        return True

    def release(self) -> None:
        """Give it up and take the lock file away."""
        if self._file is None:
            return
        if os.name == "posix":
            # Removed while it is still held: whoever opens the name from now on gets another file.
            self.path.unlink(missing_ok=True)
            self._file.close()
        else:
            self._file.close()
            try:
                self.path.unlink(missing_ok=True)
            except OSError:
                pass  # another process has it open already
        self._file = None


def _is_still(path: Path, file: FileIO) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock(file: FileIO) -> None:
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
