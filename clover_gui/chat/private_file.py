"""Files that nobody but their owner may read, also in a folder that others may look into.

On Windows the folder's own rights decide; there these do nothing of use, and no harm.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(path: Path) -> None:
    """Create the file if it is not there, for its owner only. SQLite gives its journals the same rights.

    Raises:
        OSError: it cannot be created.
    """
    # One that is there is not opened: closing it would end the locks that SQLite holds on it.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def take_from_others(*paths: Path) -> None:
    """Take the rights of others away from files of an earlier time; what is not there or not ours stays."""
    for path in paths:
        with contextlib.suppress(OSError):
            mode = path.stat(follow_symlinks=False).st_mode
            if stat.S_ISREG(mode) and mode & _OTHERS:
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
