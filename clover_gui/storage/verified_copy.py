"""One file, copied to another disk: gone on with after an interruption, read back, and only then named.

The copy grows under another name. It is compared with the source as far as it is there, so that nothing of
an interrupted run has to be believed; both are hashed, the copy from the disk again at its end.
Must not know: what is in the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

from clover_gui.download.json_file import replace_file
from clover_gui.errors import MoveCancelled, MoveFailed, MoveNameTaken, MoveSourceInUse
from clover_gui.patching.filesystem import sync_fd, sync_folder
from clover_gui.storage.belongings import MOVING_SUFFIX

PIECE_BYTES = 4 << 20
# So that the end is not one long wait, and the disk works all the time.
_SYNC_BYTES = 256 << 20
# NTFS keeps times in steps of 100 ns, FAT in steps of two seconds or ten milliseconds.
_FINE_STEP_NS = 1_000
_COARSE_STEP_NS, _COARSE_SLACK_NS = 10_000_000, 2_000_000_000

Advance = Callable[[int], None]
"""Gets the bytes that were done since the last call."""


def growing_path(target: Path) -> Path:
    """The name of a copy that is not finished."""
    return target.with_name(target.name + MOVING_SUFFIX)


def copy_verified(
    source: Path,
    target: Path,
    advance: Advance,
    cancelled: Callable[[], bool],
    piece_bytes: int = PIECE_BYTES,
) -> None:
    """Make ``target`` the same file as ``source``; it lasts when this returns. The source is not changed.

    ``advance`` counts every byte twice: copied, and read back. A ``target`` that is there already must have
    the same content.

    Raises:
        MoveNameTaken: another file has this name there.
        MoveSourceInUse: somebody changes the source.
        MoveCancelled: the growing copy is left for the next time.
        MoveFailed: reading or writing failed, or what was read back is not what was written.
    """
    buffer = memoryview(bytearray(piece_bytes))
    try:
        with _reading(source) as reader:
            before = os.fstat(reader.fileno())
            if target.exists() or target.is_symlink():
                _require_same(source, target, reader, buffer, advance, cancelled)
                return
            growing = growing_path(target)
            with _growing(growing) as writer:
                digest = _copy(reader, writer, buffer, advance, cancelled)
                sync_fd(writer.fileno())
                _forget_cache(writer.fileno())
            if _facts(before) != _facts(os.fstat(reader.fileno())):
                growing.unlink(missing_ok=True)
                raise MoveSourceInUse(source)
            if _digest(growing, buffer, advance, cancelled) != digest:
                growing.unlink(missing_ok=True)
                raise MoveFailed(target, "what was read back is not what was written")
            with contextlib.suppress(OSError):  # some file systems have no rights
                growing.chmod(stat.S_IMODE(before.st_mode))
            os.utime(growing, ns=(before.st_atime_ns, before.st_mtime_ns))
            replace_file(growing, target)
            sync_folder(target.parent)
    except OSError as error:
        raise MoveFailed(Path(error.filename or target), error.strerror or str(error)) from error


def is_the_copy(source: Path, target: Path) -> bool:
    """Whether ``target`` has size and time of ``source``, as ``copy_verified`` leaves it. Never raises."""
    try:
        one, other = source.stat(follow_symlinks=False), target.stat(follow_symlinks=False)
    except OSError:
        return False
    apart_ns = abs(one.st_mtime_ns - other.st_mtime_ns)
    coarse = other.st_mtime_ns % _COARSE_STEP_NS == 0
    same_time = apart_ns <= (_COARSE_SLACK_NS if coarse else _FINE_STEP_NS)
    return stat.S_ISREG(other.st_mode) and one.st_size == other.st_size and same_time


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[FileIO]:
    """The file, which nobody may repair meanwhile."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    with FileIO(os.open(path, flags), "r") as file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise MoveSourceInUse(path) from error
            except OSError:
                pass  # some network file systems have no locks
        yield file


def _growing(path: Path) -> FileIO:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    return FileIO(os.open(path, flags, 0o600), "r+")


def _copy(
    reader: FileIO, writer: FileIO, buffer: memoryview, advance: Advance, cancelled: Callable[[], bool]
) -> str:
    """Go on where the writer is equal to the reader; the sha256 of everything read."""
    digest = hashlib.sha256()
    other = memoryview(bytearray(len(buffer)))
    present = os.fstat(writer.fileno()).st_size
    done = unsynced = 0
    while count := reader.readinto(buffer):
        if cancelled():
            raise MoveCancelled
        piece = buffer[:count]
        digest.update(piece)
        if done + count > present or not _has(writer, done, piece, other):
            present = 0  # from here on everything is written
            writer.seek(done)
            _write(writer, piece)
            unsynced += count
        done += count
        if unsynced >= _SYNC_BYTES:
            sync_fd(writer.fileno())
            unsynced = 0
        advance(count)
    writer.truncate(done)
    return digest.hexdigest()


def _has(file: FileIO, offset: int, piece: memoryview, buffer: memoryview) -> bool:
    file.seek(offset)
    return file.readinto(buffer[: len(piece)]) == len(piece) and buffer[: len(piece)] == piece


def _write(file: FileIO, piece: memoryview) -> None:
    while piece:
        piece = piece[file.write(piece) :]


def _digest(path: Path, buffer: memoryview, advance: Advance, cancelled: Callable[[], bool]) -> str:
    digest = hashlib.sha256()
    with FileIO(path, "r") as file:
        while count := file.readinto(buffer):
            if cancelled():
                raise MoveCancelled
            digest.update(buffer[:count])
            advance(count)
    return digest.hexdigest()


def _require_same(
    source: Path,
    target: Path,
    reader: FileIO,
    buffer: memoryview,
    advance: Advance,
    cancelled: Callable[[], bool],
) -> None:
    """The file at the target is ours from before a kill, or the person's own copy; nothing else will do."""
    other = memoryview(bytearray(len(buffer)))
    facts = target.stat(follow_symlinks=False)
    if not stat.S_ISREG(facts.st_mode) or facts.st_size != os.fstat(reader.fileno()).st_size:
        raise MoveNameTaken(target)
    with FileIO(target, "r") as file:
        done = 0
        while count := reader.readinto(buffer):
            if cancelled():
                raise MoveCancelled
            if not _has(file, done, buffer[:count], other):
                raise MoveNameTaken(target)
            done += count
            advance(2 * count)
    if not is_the_copy(source, target):
        times = source.stat()
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def _facts(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _forget_cache(fd: int) -> None:
    """Let the reading back come from the disk, where the system can be asked for that."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
