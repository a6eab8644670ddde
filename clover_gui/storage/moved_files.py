"""The list in the data folder of the models that this program has moved: they stay its own wherever they lie.

A file counts only as long as it is the one that was moved: of the same size and time. Must not know: how
files are moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clover_gui.download.json_file import read_json, write_json

FILE_NAME = "moved-models.json"
# FAT keeps times in steps of two seconds.
_SLACK_NS = 2_000_000_000


class MovedFiles:
    """``data_root`` is the data folder. Reading never raises: a damaged list knows nothing."""

    def __init__(self, data_root: Path) -> None:
        self._note = data_root / FILE_NAME
        files = (read_json(self._note) or {}).get("files")
        self._files: dict[str, Any] = files if isinstance(files, dict) else {}

    def knows(self, path: Path) -> bool:
        """Whether this is a file that was moved here, and nobody has put another one in its place."""
        noted = self._files.get(str(path))
        return isinstance(noted, list) and _is_same(noted, _facts(path))

    def add(self, paths: Iterable[Path]) -> None:
        """These were moved to where they are now; what is gone from its place is forgotten.

        Raises:
            OSError: the list cannot be written; the old one is untouched.
        """
        added = {str(path): facts for path in paths if (facts := _facts(path)) is not None}
        # One that cannot be seen may lie on a disk that is away; so only those of a folder that is there.
        gone = [name for name in self._files if not Path(name).exists() and Path(name).parent.is_dir()]
        files = {name: facts for name, facts in self._files.items() if name not in gone} | added
        if files != self._files:
            write_json(self._note, {"version": 1, "files": files})
            self._files = files


def _facts(path: Path) -> list[int] | None:
    try:
        facts = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return [facts.st_size, facts.st_mtime_ns]


def _is_same(noted: list[Any], facts: list[int] | None) -> bool:
    if facts is None or len(noted) != 2 or any(type(value) is not int for value in noted):
        return False
    return bool(noted[0] == facts[0] and abs(noted[1] - facts[1]) <= _SLACK_NS)
