"""The unfinished file on disk: appended to, hashed on the way, found again after a crash.

The running sha256 is copied at every chunk's end. On disk that gives checksums of all prefixes for nothing,
so that reading back after a crash finds the first damaged chunk; in memory it gives the states from which
the whole can be hashed again from any chunk on. Knows nothing of networks.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path

from clover_gui.download.file_lock import FileLock
from clover_gui.download.hub_file import HubFile
from clover_gui.download.json_file import replace_file
from clover_gui.download.part_state import PART_SUFFIX, STATE_SUFFIX, PartState, load_state
from clover_gui.errors import DestinationNotWritable, DownloadInUse

_READ_BYTES = 4 << 20
# Short, so that the deepest folder that Windows allows still has room for it.
_STEM_CHARACTERS = 12


def part_path(folder: Path, source: HubFile) -> Path:
    """Where the unfinished file of this content lies."""
    return folder / (source.sha256[:_STEM_CHARACTERS] + PART_SUFFIX)


class PartFile:
    """One unfinished file. Open it, ``read_back``, ``append`` until it is whole, ``finish`` or ``close``."""

    def __init__(self, folder: Path, source: HubFile, chunk_bytes: int, sync_bytes: int) -> None:
        self.source = source
        self.path = part_path(folder, source)
        self.state_path = folder / (source.sha256[:_STEM_CHARACTERS] + STATE_SUFFIX)
        self._lock = FileLock(folder / (source.sha256[:_STEM_CHARACTERS] + ".lock"))
        self._sync_bytes = sync_bytes
        self._synced = 0
        self._sync: threading.Thread | None = None
        self._file: FileIO | None = None
        self._hash = hashlib.sha256()
        self._marks = [self._hash.copy()]
        self._state = PartState(source, chunk_bytes)
        self._chunk = chunk_bytes
        self.position = 0
        self.present_bytes = 0

    @property
    def suspects(self) -> set[int]:
        """Chunks that are doubted first when the whole is wrong."""
        return self._state.suspects

    @property
    def prefixes(self) -> tuple[str, ...]:
        """sha256 of the first chunk, of the first two, and so on, as hashed last."""
        return tuple(self._state.prefix_sha256)

    @property
    def chunk_count(self) -> int:
        return -(-self.source.size_bytes // self._chunk)

    def open(self) -> None:
        """Take the part for this process; ``present_bytes`` says what lies there already.

        Raises:
            DownloadInUse: another process has it.
            DestinationNotWritable: no rights, or a full disk that has no room for a name.
        """
        try:
            if not self._lock.take():
                raise DownloadInUse(self.path)
            known = load_state(self.state_path)
            same = known is not None and known.source.sha256 == self.source.sha256
            if same and known is not None and known.chunk_bytes == self._chunk:
                self._state = known
                self._state.source = self.source
            self._file = FileIO(self.path, "r+" if self.path.exists() else "w+")
            present = os.fstat(self._file.fileno()).st_size
            if present and not same:
                # Bytes that nothing is known of cannot be gone on with.
                self._file.truncate(0)
                present = 0
            self._state.save(self.state_path)
        except OSError as error:
            self._release()
            raise DestinationNotWritable(self.path, error.strerror or str(error)) from error
        self.present_bytes = min(present, self.source.size_bytes)

    def read_back(self, progress: Callable[[int], None]) -> bool:
        """Hash what is there. False: it was damaged from some chunk on and was cut off there.

        ``progress`` gets the bytes read so far; an exception that it raises ends the reading. More than
        1 GB/s where the disk gives it.
        """
        known = list(self._state.prefix_sha256)
        self._go_to_chunk(0)
        try:
            sound = self._hash_on(progress, known)
        except BaseException:
            self._state.prefix_sha256 = known  # what was not read is not forgotten
            raise
        if self.position % self._chunk:
            self.suspect_here()
        self._opened().truncate(self.position)
        self._opened().seek(self.position)
        self._synced = self.position
        return sound

    def cut_off(self) -> None:
        """Begin again: nothing is there any more."""
        self._go_to_chunk(0)
        self._opened().truncate(0)

    def append(self, data: bytes) -> None:
        """Write at the position, hash what was written, save the state at each chunk's end.

        Raises:
            OSError: from the disk. Position and hash then stand where the written bytes end.
        """
        view = memoryview(data)
        while view:
            room = self._chunk - self.position % self._chunk
            written = self._opened().write(view[:room])
            self._hash.update(view[:written])
            self.position += written
            view = view[written:]
            if self.position % self._chunk == 0:
                self._mark()
                self._state.save(self.state_path)
                if self.position - self._synced >= self._sync_bytes:
                    self._sync_beside()

    def suspect_here(self) -> None:
        """The chunk at the position is doubted first, should the whole be wrong."""
        self._state.suspects.add(self.position // self._chunk)

    def digest(self) -> str:
        """sha256 of everything up to the position."""
        return self._hash.hexdigest()

    def read_chunk(self, index: int) -> bytes:
        """The chunk as it lies on disk."""
        self._opened().seek(index * self._chunk)
        wanted = self.chunk_size(index)
        data = bytearray()
        while len(data) < wanted and (piece := self._opened().read(wanted - len(data))):
            data += piece
        return bytes(data)

    def chunk_size(self, index: int) -> int:
        """Its bytes: all are of one size but the last."""
        return min(self._chunk, self.source.size_bytes - index * self._chunk)

    def chunk_start(self, index: int) -> int:
        """Its offset in the file."""
        return index * self._chunk

    def replace_chunk(self, index: int, data: bytes) -> None:
        """Write other bytes there. The hash counts again only after ``hash_from``."""
        self._opened().seek(index * self._chunk)
        view = memoryview(data)
        while view:
            view = view[self._opened().write(view) :]

    def hash_from(self, index: int, progress: Callable[[int], None]) -> str:
        """Hash from the start of this chunk to the end of the file, from the state kept there; the sha256."""
        self._go_to_chunk(index)
        self._hash_on(progress, [])
        return self.digest()

    def finish(self, target: Path) -> None:
        """Force it to the disk and give it its name, in one step that cannot be seen half done.

        Raises:
            DestinationNotWritable: the name is taken by a file that cannot be replaced.
        """
        try:
            self._join_sync()
            os.fsync(self._opened().fileno())
            self._opened().close()
            replace_file(self.path, target)
            self.state_path.unlink(missing_ok=True)
            _sync_folder(target.parent)
        except OSError as error:
            raise DestinationNotWritable(target, error.strerror or str(error)) from error
        finally:
            self._release()

    def close(self) -> None:
        """Leave the part as it is, to go on from later. May be called twice."""
        if self._file is not None and not self._file.closed:
            try:
                self._state.save(self.state_path)
            except OSError:
                pass  # the last saved state still fits: it only knows less
        self._release()

    def discard(self) -> None:
        """Remove the part and all that belongs to it."""
        self._join_sync()
        self._opened().close()
        self.path.unlink(missing_ok=True)
        self.state_path.unlink(missing_ok=True)
        self._release()

    def _hash_on(self, progress: Callable[[int], None], known: list[str]) -> bool:
        """Hash from the position to the end of what is there; False where a known checksum does not fit.

        The position then stands at the start of the chunk that is damaged.
        """
        buffer = memoryview(bytearray(min(_READ_BYTES, self._chunk)))
        while self.position < self.source.size_bytes:
            limit = min(len(buffer), self._chunk - self.position % self._chunk, self._left())
            count = self._opened().readinto(buffer[:limit])
            if not count:
                break
            self._hash.update(buffer[:count])
            self.position += count
            if self.position % self._chunk == 0:
                index = self.position // self._chunk - 1
                if index < len(known) and self._hash.hexdigest() != known[index]:
                    self._go_to_chunk(index)
                    return False
                if known and index >= len(known):
                    self._state.suspects.add(index)
                self._mark()
            progress(self.position)
        return True

    def _go_to_chunk(self, index: int) -> None:
        self._hash = self._marks[index].copy()
        del self._marks[index + 1 :]
        del self._state.prefix_sha256[index:]
        self.position = index * self._chunk
        self._opened().seek(self.position)

    def _mark(self) -> None:
        self._marks.append(self._hash.copy())
        self._state.prefix_sha256.append(self._hash.hexdigest())

    def _left(self) -> int:
        return self.source.size_bytes - self.position

    def _opened(self) -> FileIO:
        if self._file is None:
            raise ValueError("the part is not open")
        return self._file

    def _sync_beside(self) -> None:
        """Force what is there to the disk without holding up the transfer: a power cut costs little then."""
        self._synced = self.position
        if self._sync is None or not self._sync.is_alive():
            self._sync = threading.Thread(
                target=_sync_file, args=(self._opened().fileno(),), name="download-sync", daemon=True
            )
            self._sync.start()

    def _join_sync(self) -> None:
        if self._sync is not None:
            self._sync.join()
            self._sync = None

    def _release(self) -> None:
        self._join_sync()
        if self._file is not None:
            self._file.close()
        self._lock.release()


def _sync_file(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # a failing disk shows itself at the next write or at the end


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut; only POSIX systems can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some network file systems refuse it
    finally:
        os.close(descriptor)
