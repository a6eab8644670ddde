"""Whose file is this, and who is using it? Both are asked before a file is changed in place."""

from __future__ import annotations

import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from clover_gui.errors import ModelFileMissing, ModelFileUnreadable
from clover_gui.i18n import capped

_ACCESS_MODE = 0o3  # O_ACCMODE of Linux
_HUB_REPOSITORY = re.compile(r"(models|datasets|spaces)--.+")
_PROGRAM_FOLDERS = {
    "LM Studio": (".lmstudio", ".cache/lm-studio", "AppData/Local/LM-Studio"),
    "Jan": (
        "jan",
        ".local/share/Jan",
        ".config/Jan",
        "AppData/Roaming/Jan",
        "Library/Application Support/Jan",
    ),
    "Ollama": (".ollama",),
    "GPT4All": (
        ".local/share/nomic.ai/GPT4All",
        "AppData/Local/nomic.ai/GPT4All",
        "Library/Application Support/nomic.ai/GPT4All",
    ),
    "KoboldCpp": ("koboldcpp",),
    "text-generation-webui": ("text-generation-webui",),
}


@dataclass(frozen=True, slots=True)
class FileUser:
    """A process that would be disturbed: ``how`` is "mapped" or "writing". ``name`` is capped."""

    pid: int
    name: str
    how: str


def require_regular_file(path: Path) -> None:
    """Before anything is opened: opening a pipe would wait for ever.

    Raises:
        ModelFileMissing: there is nothing.
        ModelFileUnreadable: a folder, a pipe, a device, or out of reach.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise ModelFileMissing(path) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else ""
        raise ModelFileUnreadable(path, reason or str(error)) from error
    if not stat.S_ISREG(mode):
        raise ModelFileUnreadable(path, "a folder" if stat.S_ISDIR(mode) else "not a regular file")


def foreign_owner(path: Path, home: Path | None = None) -> str:
    """Why a file must not be changed in place; "" if it may be.

    "link" (symbolic), "hard-link" (another name for the same bytes exists), "hub-cache" (Hugging Face), or
    the name of the program in whose folder it lies.
    """
    if path.is_symlink():
        return "link"
    folder = Path(os.path.realpath(path.parent))
    if any(_HUB_REPOSITORY.fullmatch(part) for part in folder.parts):
        return "hub-cache"
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HF_HOME")
    if cache and folder.is_relative_to(os.path.realpath(cache)):
        return "hub-cache"
    base = Path(os.path.realpath(home or Path.home()))
    for program, places in _PROGRAM_FOLDERS.items():
        if any(folder.is_relative_to(base / place) for place in places):
            return program
    return "hard-link" if path.stat().st_nlink > 1 else ""


def users(path: Path) -> tuple[FileUser, ...]:
    """Other processes that have the file mapped or open for writing, as far as the system tells.

    Linux only; elsewhere, and for processes of other people, the list is empty. Never raises.
    """
    if sys.platform != "linux":
        return ()
    try:
        status = path.stat()
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    except OSError:
        return ()
    real = Path(os.path.realpath(path))
    found = []
    for pid in pids:
        if pid == os.getpid():
            continue
        how = "mapped" if _maps(pid, real, status) else "writing" if _writes(pid, real) else ""
        if how:
            found.append(FileUser(pid, _name(pid), how))
    return tuple(found)


def _maps(pid: int, real: Path, status: os.stat_result) -> bool:
    try:
        text = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return False
    if os.fsencode(real.name) not in text:
        return False
    inode = str(status.st_ino)
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        # Device numbers differ between stat and maps on some file systems; the inode and the name do not.
        same = len(fields) == 6 and fields[4].decode() == inode
        if same and Path(os.fsdecode(fields[5])).name == real.name:
            return True
    return False


def _writes(pid: int, real: Path) -> bool:
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
    for entry in entries:
        try:
            if entry.readlink() == real and _open_for_writing(pid, entry.name):
                return True
        except OSError:
            continue
    return False


def _open_for_writing(pid: int, fd: str) -> bool:
    for line in Path(f"/proc/{pid}/fdinfo/{fd}").read_text().splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & _ACCESS_MODE != os.O_RDONLY
    return False


def _name(pid: int) -> str:
    try:
        return capped(Path(f"/proc/{pid}/comm").read_text(), 40)
    except OSError:
        return ""
