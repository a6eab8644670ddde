"""Small JSON files that are whole or absent: written beside and renamed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from clover_gui.plain_file import read_json_value

_MOST_BYTES = 8 << 20
_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace the file. Not forced to the disk: a lost one costs a second reading, never wrong data.

    Raises:
        OSError: the folder cannot be written; the old file is untouched.
    """
    beside = path.with_name(path.name + ".new")
    try:
        beside.write_text(json.dumps(value, indent=1) + "\n", encoding="ascii")
        replace_file(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def replace_file(source: Path, target: Path) -> None:
    """Rename over ``target``. On Windows a scanner may hold a new file for a moment: then once more.

    Raises:
        OSError: it cannot be done; both files are as they were.
    """
    for pause_s in _PAUSES_S if sys.platform == "win32" else ():
        try:
            source.replace(target)
            return
        except PermissionError:
            time.sleep(pause_s)
    source.replace(target)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in the file; None when it is missing, damaged, or something else."""
    try:
        value = read_json_value(path, _MOST_BYTES)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
