"""Which name the file gets, and whether what lies there already is the file.

Nothing that lies there is ever overwritten; only a shorter beginning of the very same file is gone on with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from clover_gui.download.hub_file import HubFile
from clover_gui.download.part_file import part_path
from clover_gui.download.part_state import STATE_SUFFIX, PartState
from clover_gui.download.receipt import Standing, read_receipt, sha256_of, standing

_BEGINNING_BYTES = 1 << 20


class Found(Enum):
    """What lies at the place."""

    NOTHING = "nothing"
    VERIFIED = "verified"
    SAME_SIZE = "same-size"
    SHORTER = "shorter"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Target:
    """Where the file goes, and what is there."""

    path: Path
    found: Found


def choose_target(folder: Path, source: HubFile) -> Target:
    """The file's own name; where another file has it, the name with a piece of the checksum."""
    own = folder / source.file_name
    first = Target(own, look_at(own, source))
    if first.found is not Found.OTHER:
        return first
    return other_target(folder, source)


def other_target(folder: Path, source: HubFile) -> Target:
    """The second choice of name."""
    name = Path(source.file_name)
    path = folder / f"{name.stem}-{source.sha256[:8]}{name.suffix}"
    return Target(path, look_at(path, source))


def look_at(path: Path, source: HubFile) -> Found:
    """By receipt and size; reads no data."""
    state = standing(path)
    if state is Standing.MISSING:
        return Found.NOTHING
    receipt = read_receipt(path)
    if state is Standing.VERIFIED and receipt is not None:
        return Found.VERIFIED if receipt.sha256 == source.sha256 else Found.OTHER
    if not path.is_file():
        return Found.OTHER
    size = path.stat().st_size
    if size == source.size_bytes:
        return Found.SAME_SIZE
    return Found.SHORTER if 0 < size < source.size_bytes else Found.OTHER


def is_the_file(path: Path, source: HubFile, progress: Callable[[int], None]) -> bool:
    """Whether the whole file there has the published checksum."""
    return sha256_of(path, progress) == source.sha256


def adopt_beginning(
    path: Path, source: HubFile, chunk_bytes: int, fetch: Callable[[int, int], bytes]
) -> bool:
    """Take an incomplete copy as the part to go on with, if it begins as the file at the hub does.

    False, and nothing is touched, when it is something else or a part is there already. ``fetch`` brings a
    range of the file at the hub.

    Raises:
        OSError: the file cannot be read or renamed.
    """
    part = part_path(path.parent, source)
    if part.exists():
        return False
    with open(path, "rb") as file:
        beginning = file.read(min(_BEGINNING_BYTES, source.size_bytes))
    if beginning != fetch(0, len(beginning)):
        return False
    PartState(source, chunk_bytes).save(part.with_name(part.stem + STATE_SUFFIX))
    path.replace(part)
    return True
