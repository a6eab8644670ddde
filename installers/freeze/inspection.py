"""Looks a frozen Linux folder over before it is packed: libraries, their versions, traces of building.

Everything is read from the files themselves with readelf, so that libraries that happen to be on the building
machine cannot hide that something is missing elsewhere.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clover_gui.system_libraries import LIBRARIES

# Of the C library itself; the package of this name brings them all.
_C_LIBRARY = re.compile(
    r"(?:libc|libm|libdl|libpthread|librt|libutil|libresolv|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d"
)
# In the same packages as libstdc++, libglib and libbrotlidec, or brought by those.
_COMPANIONS = frozenset({"libgcc_s.so.1", "libgthread-2.0.so.0", "libbrotlicommon.so.1"})
# A plugin that is only used where the desktop has these anyway; Qt goes on without it.
OPTIONAL_FILES = frozenset({"libqgtk3.so"})

NEWEST_VERSIONS = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GOMP": (5, 0, 1)}
"""What Debian 12 has. A program that asks for more would not start there."""


@dataclass(frozen=True, slots=True)
class Library:
    """What one file of machine code asks of others: names, and the newest version of each symbol family."""

    path: Path
    needed: frozenset[str]
    versions: dict[str, tuple[int, ...]]


def libraries(folder: Path) -> list[Library]:
    """All programs and libraries of the folder; links are left out."""
    files = [path for path in sorted(folder.rglob("*")) if not path.is_symlink() and _is_elf(path)]
    return [_read(path) for path in files]


def _is_elf(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _read(path: Path) -> Library:
    done = subprocess.run(
        ["readelf", "--dynamic", "--version-info", "--wide", path],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    needed = frozenset(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", done.stdout))
    versions: dict[str, tuple[int, ...]] = {}
    # Only what is asked for; a library also lists what it offers.
    asked = done.stdout.partition("Version needs section")[2]
    for family, number in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GOMP)_([\d.]+)", asked):
        found = tuple(int(part) for part in number.split("."))
        versions[family] = max(versions.get(family, found), found)
    return Library(path, needed, versions)


def undeclared(found: Iterable[Library], folder: Path) -> dict[str, list[str]]:
    """Libraries that are neither in the folder nor in our table of the system's: name → who asks for it."""
    own = {path.name for path in folder.rglob("*")}
    declared = {part.name for parts in LIBRARIES.values() for part in parts} | _COMPANIONS
    missing: dict[str, list[str]] = {}
    for library in found:
        if library.path.name in OPTIONAL_FILES:
            continue
        for name in library.needed - own - declared:
            if not _C_LIBRARY.fullmatch(name):
                missing.setdefault(name, []).append(library.path.name)
    return missing


def newest_versions(found: Iterable[Library]) -> dict[str, tuple[int, ...]]:
    """The newest version of each family that any file asks for."""
    newest: dict[str, tuple[int, ...]] = {}
    for library in found:
        for family, version in library.versions.items():
            newest[family] = max(newest.get(family, version), version)
    return newest


def traces(folder: Path, places: Iterable[Path]) -> list[str]:
    """Files that name something below a folder of the building machine, as "file: folder"."""
    found = []
    words = [(place, re.compile(rb"(?<![\w/.-])" + re.escape(bytes(place)) + rb"/")) for place in places]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            found += [f"{path.relative_to(folder)}: {place}" for place, word in words if word.search(content)]
    return found


def complaints(folder: Path, places: Iterable[Path]) -> list[str]:
    """Everything that must not be so; empty when the folder may be packed."""
    found = libraries(folder)
    said = [
        f"{name} is neither packed nor declared in system_libraries.py (asked for by {', '.join(users[:3])})"
        for name, users in sorted(undeclared(found, folder).items())
    ]
    for family, version in newest_versions(found).items():
        if version > NEWEST_VERSIONS[family]:
            shown = ".".join(str(part) for part in version)
            users = [lib.path.name for lib in found if lib.versions.get(family) == version]
            said.append(f"{family}_{shown} is newer than Debian 12 has (asked for by {', '.join(users[:3])})")
    # A Python below somebody's home folder has that folder in it: pack with the system's.
    return [*said, *(f"a folder of this machine is named in {trace}" for trace in traces(folder, places))]
