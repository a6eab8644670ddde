"""Where the first window of a data folder can be reached, and whether it is this person's.

Other people use this machine too: a socket that lies where anybody may make one could be anybody's. It lies
in the data folder, else in a folder that only this person may enter; and before anything is sent to it, the
system is asked whose it is. On Windows it is a named pipe that only this person may open. Must not know the
window.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from clover_gui.paths import DataFolder

# Systems allow 104 or 108 bytes for the name of a socket.
_MOST_BYTES = 100


def addresses(folder: Path, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Names for the socket of this data folder, the best one first; the first that works is taken."""
    name = "clover-gui-" + hashlib.sha256(_key(folder)).hexdigest()[:16]
    if os.name != "posix":
        return (name,)
    environment = os.environ if environment is None else environment
    found = [DataFolder(Path(os.path.realpath(folder))).instance_socket]
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime and _is_own(Path(runtime)):
        found.append(Path(runtime) / name)
    if (own := _own_folder()) is not None:
        found.append(own / name)
    return tuple(str(path) for path in found if _fits(path))


def is_own_socket(address: str, descriptor: int) -> bool:
    """Whether who listens at the other end of a connection is this person."""
    if os.name != "posix":
        return True
    try:
        if os.lstat(address).st_uid != os.geteuid():  # the name itself, not where it leads
            return False
        return sys.platform != "linux" or _peer_uid(descriptor) == os.geteuid()
    except OSError:
        return False


def _peer_uid(descriptor: int) -> int:
    """Whose process listens at the other end."""
    with contextlib.closing(socket.socket(fileno=os.dup(descriptor))) as peer:
        form = struct.Struct("3i")
        _process, user, _group = form.unpack(
            peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, form.size)
        )
    return int(user)


def _key(folder: Path) -> bytes:
    user = getpass.getuser() if os.name != "posix" else str(os.geteuid())
    return os.fsencode(f"{user}\0") + os.fsencode(os.path.realpath(folder))


def _fits(path: Path) -> bool:
    """Short enough, and a text: Qt knows no other names."""
    try:
        return len(str(path).encode()) <= _MOST_BYTES
    except UnicodeEncodeError:
        return False


def _own_folder() -> Path | None:
    """A folder among the temporary ones that only this person may enter; None where somebody else has it."""
    path = Path(tempfile.gettempdir()) / f"clover-gui-{os.geteuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return path if _is_own(path) else None


def _is_own(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
