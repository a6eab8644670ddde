"""The note beside an unfinished file: what it is going to be, and checksums of what is there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from clover_gui.download.hub_file import HubFile
from clover_gui.download.json_file import read_json, write_json

PART_SUFFIX = ".part"
STATE_SUFFIX = ".part.json"
_VERSION = 1
_TEXTS = ("endpoint", "repository", "revision", "name", "sha256")


@dataclass(slots=True)
class PartState:
    """``prefix_sha256[k]`` is the sha256 of the first ``k + 1`` chunks: it falls out of the running hash.

    ``suspects`` are chunks in which a connection broke or that were there before any checksum of them:
    the first to be fetched again when the whole is wrong.
    """

    source: HubFile
    chunk_bytes: int
    prefix_sha256: list[str] = field(default_factory=list)
    suspects: set[int] = field(default_factory=set)
    started_at: float = field(default_factory=time.time)

    def save(self, path: Path) -> None:
        """Raises OSError when the folder cannot be written."""
        write_json(
            path,
            {
                "version": _VERSION,
                "source": asdict(self.source),
                "chunk_bytes": self.chunk_bytes,
                "prefix_sha256": self.prefix_sha256,
                "suspects": sorted(self.suspects),
                "started_at": self.started_at,
            },
        )


def load_state(path: Path) -> PartState | None:
    """The state in this file; None when it cannot be one. Never raises."""
    value = read_json(path)
    if value is None or value.get("version") != _VERSION:
        return None
    source = hub_file_of(value.get("source"))
    chunk, digests, suspects = value.get("chunk_bytes"), value.get("prefix_sha256"), value.get("suspects")
    if source is None or type(chunk) is not int or chunk <= 0:
        return None
    good_digests = isinstance(digests, list) and all(isinstance(digest, str) for digest in digests)
    good_suspects = isinstance(suspects, list) and all(type(index) is int for index in suspects)
    started = value.get("started_at")
    return PartState(
        source,
        chunk,
        list(digests) if isinstance(digests, list) and good_digests else [],
        set(suspects) if isinstance(suspects, list) and good_suspects else set(),
        float(started) if isinstance(started, int | float) else time.time(),
    )


def hub_file_of(value: object) -> HubFile | None:
    """A HubFile that was written as JSON; None where it is none."""
    if not isinstance(value, Mapping) or type(value.get("size_bytes")) is not int:
        return None
    if not all(isinstance(value.get(name), str) for name in _TEXTS):
        return None
    return HubFile(
        value["endpoint"],
        value["repository"],
        value["revision"],
        value["name"],
        value["size_bytes"],
        value["sha256"],
        str(value.get("architecture") or ""),
    )
