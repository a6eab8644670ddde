"""What repairing needs of the file system: exact writes, flushes, insertion at the front, cheap copies.

Everything that only some systems have answers "no" elsewhere instead of raising.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

_COLLAPSE_RANGE, _INSERT_RANGE = 0x08, 0x20  # linux/falloc.h
_FICLONE = 0x40049409  # linux/fs.h
_PIECE_BYTES = 16 << 20
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EBUSY, errno.ETXTBSY)


class Busy(Exception):
    """Another process holds the file."""


class ModelBytes:
    """A file open for reading at exact places."""

    def __init__(self, path: Path, fd: int | None = None) -> None:
        """Raises:
        OSError: it cannot be opened.
        """
        self.path = path
        self._file = io.FileIO(path, "r") if fd is None else io.FileIO(fd, "r+")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def raw(self) -> io.FileIO:
        """For reading."""
        return self._file

    @property
    def size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes; fewer at the end of the file."""
        self._file.seek(offset)
        pieces = []
        while length > 0:
            piece = self._file.read(length)
            if not piece:
                break
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)


class PatchFile(ModelBytes):
    """A file open for changes, closed to other repairs. Counts what it writes."""

    def __init__(self, path: Path) -> None:
        """Raises:
        Busy: another process holds it.
        OSError: it cannot be opened for writing.
        """
        super().__init__(path, _open_exclusive(path))
        self.written_bytes = 0

    def write_at(self, offset: int, data: bytes) -> None:
        self._file.seek(offset)
        view = memoryview(data)
        while view:
            done = self._file.write(view)
            self.written_bytes += done
            view = view[done:]

    def sync(self) -> None:
        """Return when everything is on the disk."""
        sync_fd(self._file.fileno())

    def insert_front(self, length: int) -> None:
        """Put ``length`` bytes (whole blocks) in before the first byte, without copying."""
        _fallocate(self._file.fileno(), _INSERT_RANGE, length)

    def collapse_front(self, length: int) -> None:
        """Take the first ``length`` bytes (whole blocks) away, without copying."""
        _fallocate(self._file.fileno(), _COLLAPSE_RANGE, length)


def block_bytes(path: Path) -> int:
    """The unit in which the file system of ``path`` can insert; 0 where it cannot.

    Tried on a small file beside it, because neither the name nor the options of a file system tell.
    """
    if sys.platform != "linux":
        return 0
    try:
        block = os.statvfs(path).f_bsize
        with tempfile.TemporaryFile(dir=path.parent) as file:
            file.write(b"x" * (2 * block))
            file.flush()
            _fallocate(file.fileno(), _INSERT_RANGE, block)
            _fallocate(file.fileno(), _COLLAPSE_RANGE, block)
        return block
    except (OSError, AttributeError):
        return 0


def _fallocate(fd: int, mode: int, length: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "fallocate64", None) or library.fallocate
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    while function(fd, mode, 0, length) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))


def sync_fd(fd: int) -> None:
    """Flush to the device; on macOS through the drive's own cache as well."""
    if sys.platform == "darwin":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
    os.fsync(fd)


def sync_folder(folder: Path) -> None:
    """Make new, renamed and removed names last; Windows does so by itself."""
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems cannot; their names are as lasting as they can be.
        with contextlib.suppress(OSError):
            os.fsync(fd)
    finally:
        os.close(fd)


def write_new(path: Path, data: bytes) -> None:
    """A file that is there with all its bytes or not at all, also after a loss of power."""
    part = unfinished(path)
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            sync_fd(file.fileno())
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def unfinished(path: Path) -> Path:
    """The name under which ``write_new`` begins."""
    return path.with_name(path.name + ".tmp")


def remove(path: Path) -> None:
    """Remove a file for good; nothing happens if it is not there."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def clone(source: int, target: int) -> bool:
    """Let ``target`` share the blocks of ``source``, where the file system can; instantly."""
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        fcntl.ioctl(target, _FICLONE, source)
        return True
    except OSError:
        return False


def copy_range(source: int, target: int, start: int, length: int, to: int) -> Iterator[int]:
    """Copy bytes between two open files; yields the bytes done after each piece.

    In the kernel where it can, so that file systems which can share blocks do.
    """
    in_kernel: Callable[..., int] | None = getattr(os, "copy_file_range", None)
    done = 0
    while done < length:
        piece = min(_PIECE_BYTES, length - done)
        if in_kernel is not None:
            try:
                count = in_kernel(source, target, piece, start + done, to + done)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                    raise
                in_kernel = None
                continue
        else:
            count = _copy_piece(source, target, start + done, piece, to + done)
        if not count:
            raise OSError(errno.EIO, "the file became shorter while it was copied")
        done += count
        yield count


def _copy_piece(source: int, target: int, start: int, length: int, to: int) -> int:
    os.lseek(source, start, os.SEEK_SET)
    data = memoryview(os.read(source, length))
    os.lseek(target, to, os.SEEK_SET)
    count = len(data)
    while data:
        data = data[os.write(target, data) :]
    return count


def _open_exclusive(path: Path) -> int:
    if sys.platform == "win32":
        return _open_unshared(path)
    import fcntl

    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems have no locks; there the check of other processes must do.
        if error.errno in _BUSY:
            os.close(fd)
            raise Busy(str(path)) from error
    return fd


def _open_unshared(path: Path) -> int:
    """Windows: opening without sharing fails as long as anybody else has the file open."""
    if sys.platform != "win32":
        raise AssertionError("only on Windows")
    import msvcrt

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateFileW.restype = ctypes.c_void_p
    kernel.CreateFileW.argtypes = [ctypes.c_wchar_p, *[ctypes.c_uint32] * 2, ctypes.c_void_p,
                                   *[ctypes.c_uint32] * 2, ctypes.c_void_p]  # fmt: skip
    handle = kernel.CreateFileW(str(path), 0xC0000000, 0, None, 3, 0x80, None)
    if handle in (None, ctypes.c_void_p(-1).value):
        number = ctypes.get_last_error()
        if number in (32, 33):  # sharing violation, lock violation
            raise Busy(str(path))
        raise ctypes.WinError(number)
    return msvcrt.open_osfhandle(handle, os.O_RDWR | os.O_BINARY)
