"""The note beside a model file that says it is whole: where it came from, its checksum, when.

Only a file with a receipt that still fits is taken for granted. Knows nothing of networks; whoever changes a
file with a receipt (a repair) writes the new receipt with ``dataclasses.replace`` and ``with_stamp``.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from clover_gui.download.json_file import read_json, write_json

RECEIPT_SUFFIX = ".receipt.json"
_VERSION = 1
_READ_BYTES = 4 << 20
# FAT keeps times in steps of two seconds.
_TIME_SLACK_NS = 3_000_000_000


class Standing(Enum):
    """What the receipt says of a file."""

    VERIFIED = "verified"
    CHANGED = "changed"
    NO_RECEIPT = "no-receipt"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Receipt:
    """``sha256`` and ``size_bytes`` are those of the published file, ``verified_at`` is ISO 8601 in UTC.

    ``file_size_bytes`` and ``file_time_ns`` (modification time) are the file's when the receipt was
    written: with other ones it must be verified again. ``repair`` belongs to whoever repairs: what was
    changed since, None for the file as published.
    """

    repository: str
    revision: str
    name: str
    endpoint: str
    size_bytes: int
    sha256: str
    verified_at: str
    file_size_bytes: int
    file_time_ns: int
    repair: dict[str, Any] | None = None

    def with_stamp(self, path: Path) -> Receipt:
        """The same for the file as it is now. Raises OSError when it cannot be looked at."""
        facts = path.stat()
        return dataclasses.replace(self, file_size_bytes=facts.st_size, file_time_ns=facts.st_mtime_ns)


def now_utc() -> str:
    """The time as receipts write it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def receipt_path(path: Path) -> Path:
    """Where the receipt of this model file lies."""
    return path.with_name(path.name + RECEIPT_SUFFIX)


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Put the receipt beside the file. Raises OSError when the folder cannot be written."""
    write_json(receipt_path(path), {"version": _VERSION, **dataclasses.asdict(receipt)})


def read_receipt(path: Path) -> Receipt | None:
    """The receipt of this model file; None when there is none that can be read. Never raises."""
    value = read_json(receipt_path(path))
    if value is None or value.pop("version", None) != _VERSION:
        return None
    values: dict[str, Any] = {}
    for field in dataclasses.fields(Receipt):
        kind = {"str": str, "int": int}.get(str(field.type))
        found = value.get(field.name)
        if kind is not None and type(found) is not kind:
            return None
        values[field.name] = found if kind is not None or isinstance(found, dict) else None
    return Receipt(**values)


def standing(path: Path) -> Standing:
    """Whether this file has a receipt that still fits. Looks at size and time only; never raises."""
    try:
        facts = path.stat()
    except OSError:
        return Standing.MISSING
    receipt = read_receipt(path)
    if receipt is None:
        return Standing.NO_RECEIPT
    same_time = abs(facts.st_mtime_ns - receipt.file_time_ns) <= _TIME_SLACK_NS
    return Standing.VERIFIED if facts.st_size == receipt.file_size_bytes and same_time else Standing.CHANGED


def is_verified(path: Path) -> bool:
    """True for a whole file of ours that nobody changed since it was checked."""
    return standing(path) is Standing.VERIFIED


def sha256_of(path: Path, progress: Callable[[int], None] = lambda done: None) -> str:
    """The file's sha256; ``progress`` gets the bytes read so far and may raise to end it.

    Raises:
        OSError: it cannot be read.
    """
    digest, done = hashlib.sha256(), 0
    buffer = memoryview(bytearray(_READ_BYTES))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
            done += count
            progress(done)
    return digest.hexdigest()
