"""Reading the program's own small files, whatever somebody put in their place.

A named pipe would wait for ever, a device has no end, a deeply nested text ends the interpreter's stack: each
is an ordinary error here. Must not know what is in the files.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

MOST_BYTES = 8 << 20


def read_plain(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """All bytes of an ordinary file.

    Raises:
        OSError: it cannot be read, it is no ordinary file, or it is larger than ``most_bytes``.
    """
    # Without the flag, opening a pipe would wait for somebody who writes into it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, "not a file name") from error
    with os.fdopen(handle, "rb", closefd=True) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not an ordinary file", str(path))
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, "too large", str(path))
    return data


def read_json_value(path: Path, most_bytes: int = MOST_BYTES) -> object:
    """What a JSON file holds; a mark of its encoding at the beginning is no harm.

    Raises:
        OSError: see ``read_plain``.
        ValueError: it is no JSON, or nested deeper than anything of ours.
    """
    try:
        return json.loads(read_plain(path, most_bytes))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
