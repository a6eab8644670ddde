"""A wheel of the binding as a bringer of native libraries: what it says of itself, and taking them out.

Nothing of it is believed: names are checked before anything is written, every library is compared with the
checksum in the wheel's own list while it is unpacked, and only plain files of ``llama_cpp/lib`` are taken.
"""

from __future__ import annotations

import base64
import csv
import errno
import hashlib
import io
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clover_gui.errors import FlavourRefused
from clover_gui.flavours.flavour import LONGEST_NAME, MANIFEST, is_library_name, is_plain_name
from clover_gui.i18n import capped

LIBRARIES = "llama_cpp/lib/"
PROJECT = "llama_cpp_python"
# How wheels are packed. Other ways would bring their own kinds of failures, and none is ever used.
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_BYTES = 16 << 30
_MOST_TEXT_BYTES = 4 << 20
_MOST_MEMBERS = 20_000
_PIECE_BYTES = 1 << 20
# What the readers of archives and lists make of a file that is not sound.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    csv.Error,
    struct.error,
    EOFError,
    NotImplementedError,
    ValueError,
    RuntimeError,
    KeyError,
    IndexError,
    OverflowError,
    MemoryError,
)


@dataclass(frozen=True, slots=True)
class WheelFacts:
    """What a wheel says of itself. ``libraries`` are the plain names in ``llama_cpp/lib``."""

    version: str
    platforms: tuple[str, ...]
    libraries: tuple[str, ...]
    unpacked_bytes: int
    """What the libraries take on disk; equal ones are stored once."""


class EngineWheel:
    """An open wheel; close it, or use it in a ``with``."""

    def __init__(self, path: Path) -> None:
        """Raises:
        FlavourRefused: no wheel of the binding, damaged, or with names that are not to be unpacked.
        OSError: it cannot be read.
        """
        self.path = path
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise FlavourRefused("not-a-wheel", capped(path.name))
        try:
            self._archive = zipfile.ZipFile(path)
        except (*_DAMAGED, OSError) as error:
            if not _is_damage(error):
                raise
            kind = "damaged" if path.stat().st_size and _begins_as_zip(path) else "not-a-wheel"
            raise FlavourRefused(kind, capped(path.name), detail=capped(str(error))) from error
        try:
            self._members = self._checked_members()
            self._sums = self._read_sums()
            self.facts = self._read_facts()
        except BaseException as error:
            self.close()
            if not _is_damage(error):
                raise
            raise FlavourRefused("damaged", capped(path.name), detail=capped(str(error))) from error

    def __enter__(self) -> EngineWheel:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._archive.close()

    def _checked_members(self) -> dict[str, zipfile.ZipInfo]:
        """The libraries by plain name. One name that could lead out of the folder refuses the whole wheel."""
        entries = self._archive.infolist()
        if len(entries) > _MOST_MEMBERS:
            raise FlavourRefused("not-a-wheel", capped(self.path.name))
        found: dict[str, zipfile.ZipInfo] = {}
        seen = {MANIFEST}
        for entry in entries:
            name = entry.filename
            if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or ":" in name:
                raise FlavourRefused("unsafe-names", capped(name))
            if not name.startswith(LIBRARIES) or name.endswith("/"):
                continue
            plain = name.removeprefix(LIBRARIES)
            is_link = stat.S_ISLNK(entry.external_attr >> 16)
            # Not every disk tells "A" from "a".
            if len(plain) > LONGEST_NAME or plain.lower() in seen:
                raise FlavourRefused("damaged", capped(name), detail="a name that cannot be taken")
            if is_link or not is_plain_name(plain):
                raise FlavourRefused("unsafe-names", capped(name))
            seen.add(plain.lower())
            if is_library_name(plain):
                found[plain] = self._checked_packing(entry)
        return found

    @staticmethod
    def _checked_packing(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
        if entry.compress_type not in _PACKINGS:
            raise FlavourRefused("damaged", capped(entry.filename), detail=f"packing {entry.compress_type}")
        return entry

    def _read_sums(self) -> dict[str, str]:
        """sha256 (hexadecimal) of each library by the wheel's own list."""
        sums: dict[str, str] = {}
        text = self._text("RECORD")
        for row in csv.reader(io.StringIO(text)):
            if len(row) >= 2 and row[0].startswith(LIBRARIES) and row[1].startswith("sha256="):
                coded = row[1].removeprefix("sha256=")
                digest = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4))
                sums[row[0].removeprefix(LIBRARIES)] = digest.hex()
        return sums

    def _read_facts(self) -> WheelFacts:
        if not self._members:
            raise FlavourRefused("no-libraries", capped(self.path.name))
        if unlisted := [name for name in self._members if name not in self._sums]:
            raise FlavourRefused("damaged", capped(unlisted[0]), detail="not in RECORD")
        metadata, wheel = self._text("METADATA"), self._text("WHEEL")
        version = re.search(r"^Version:\s*(\S+)", metadata, re.MULTILINE)
        tags = re.findall(r"^Tag:\s*\S+?-\S+?-(\S+)", wheel, re.MULTILINE)
        once: dict[str, int] = {}
        for name, entry in self._members.items():
            if once.setdefault(self._sums[name], entry.file_size) != entry.file_size:
                raise FlavourRefused("damaged", capped(name), detail="one checksum for two sizes")
        if sum(once.values()) > _MOST_BYTES:
            raise FlavourRefused("unsafe-names", capped(self.path.name), detail="too large")
        return WheelFacts(
            version[1] if version else "",
            tuple(part for tag in tags for part in tag.split(".")),
            tuple(sorted(self._members)),
            sum(once.values()),
        )

    def _text(self, name: str) -> str:
        """A file of the wheel's description. A wheel of another project is none of ours."""
        pattern = re.compile(rf"{PROJECT}-[^/]+\.dist-info/{name}")
        places = [entry for entry in self._archive.infolist() if pattern.fullmatch(entry.filename)]
        if not places:
            raise FlavourRefused("not-a-wheel", capped(self.path.name))
        if places[0].file_size > _MOST_TEXT_BYTES:
            raise FlavourRefused("damaged", capped(name))
        return self._archive.read(self._checked_packing(places[0])).decode("utf-8", "replace")

    def unpack(self, folder: Path, progress: Callable[[int, int], None]) -> tuple[tuple[str, int], ...]:
        """Write the libraries into ``folder``; names and sizes. Equal ones become one file with two names.

        ``progress`` gets bytes done and in all, and may raise to end it.

        Raises:
            FlavourRefused: a library is not the one of the wheel's list.
            OSError: the disk is full, or cannot be written.
        """
        done, total = 0, self.facts.unpacked_bytes
        written: dict[str, Path] = {}
        sizes = []
        for name in self.facts.libraries:
            target, known = folder / name, self._sums[name]
            if known in written:
                _same_file(written[known], target)
            else:
                done = self._write(name, target, lambda count: progress(count, total), done)
                written[known] = target
            sizes.append((name, target.stat().st_size))
        return tuple(sizes)

    def _write(self, name: str, target: Path, progress: Callable[[int], None], done: int) -> int:
        digest = hashlib.sha256()
        with open(target, "xb") as file:
            for piece in self._pieces(name):
                digest.update(piece)
                file.write(piece)
                done += len(piece)
                progress(done)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != self._sums[name]:
            raise FlavourRefused("damaged", name, detail="its checksum is another one")
        target.chmod(0o755)
        return done

    def _pieces(self, name: str) -> Iterator[bytes]:
        """What is in a library, never more than its entry says."""
        left = self._members[name].file_size
        try:
            with self._archive.open(self._members[name]) as source:
                while piece := source.read(_PIECE_BYTES):
                    left -= len(piece)
                    if left < 0:
                        raise zipfile.BadZipFile("longer than its entry says")
                    yield piece
        except (*_DAMAGED, OSError) as error:
            if not _is_damage(error):
                raise
            raise FlavourRefused("damaged", name, detail=capped(str(error))) from error


def _is_damage(error: BaseException) -> bool:
    """Whether the content is to blame. A place before the file's begin is one that the system refuses."""
    if isinstance(error, OSError):
        return error.errno == errno.EINVAL
    return isinstance(error, _DAMAGED)


def _same_file(first: Path, second: Path) -> None:
    try:
        os.link(first, second)
    except OSError:  # a file system without a second name for a file
        shutil.copyfile(first, second)
        second.chmod(0o755)


def _begins_as_zip(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"
