"""One file of a repository, as the hub lists it, and the choice of one by a pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from urllib.parse import quote

from clover_gui.errors import ModelChoiceFailed

_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
# Parts of a model that are no model by themselves: vision projector, importance matrix, draft.
_COMPANION = re.compile(r"^(mmproj|imatrix)|[-_.](mmproj|imatrix)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HubFile:
    """``name`` is the path within the repository; ``revision`` the commit, which never changes.

    ``sha256`` is lower-case hexadecimal, "" where the hub states none. ``architecture`` is what the hub
    says of the repository's GGUF files, "" when it says nothing.
    """

    endpoint: str
    repository: str
    revision: str
    name: str
    size_bytes: int
    sha256: str
    architecture: str = ""

    @property
    def file_name(self) -> str:
        """The name without folders: what the file is called on disk."""
        return PurePosixPath(self.name).name

    @property
    def url(self) -> str:
        """Where the bytes are asked for; the hub may redirect from here."""
        path = f"{quote(self.repository)}/resolve/{quote(self.revision, safe='')}/{quote(self.name)}"
        return f"{self.endpoint}/{path}"


def choose_file(repository: str, files: Sequence[HubFile], pattern: str, prefer: str = "") -> HubFile:
    """The one GGUF file whose path or name matches ``pattern`` (``*`` and ``?``; case does not count).

    An exact path or name wins over everything. Without wildcards the pattern may also be a piece of the
    name ("Q4_K_M"). Of several the only one with ``prefer`` in its name is taken.

    Raises:
        ModelChoiceFailed: none, several, or only files that are split into parts.
    """
    models = [file for file in files if file.name.lower().endswith(".gguf")]
    exact = [file for file in models if pattern in (file.name, file.file_name)]
    if len(exact) == 1:
        found = exact
    else:
        found = [file for file in models if matches(file, pattern) and not _COMPANION.search(file.file_name)]
    whole = [file for file in found if not _SPLIT.search(file.name)]
    preferred = [file for file in whole if prefer and prefer.lower() in file.file_name.lower()]
    for candidates in (whole, preferred):
        if len(candidates) == 1:
            return candidates[0]
    names = tuple(sorted(file.name for file in (whole or found or models)))
    kind = "several" if whole else "split" if found else "none"
    raise ModelChoiceFailed(repository, pattern, kind, names)


def matches(file: HubFile, pattern: str) -> bool:
    """Whether path or name match, without regard to case."""
    lower = pattern.lower() or "*.gguf"
    if not any(mark in lower for mark in "*?["):
        return lower in file.file_name.lower()
    return fnmatchcase(file.name.lower(), lower) or fnmatchcase(file.file_name.lower(), lower)
