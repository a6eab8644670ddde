"""What a native library is made for, read from its first bytes: ELF, PE and Mach-O. Loads nothing.

Also which libraries a Windows library asks for: Windows itself does not say which of them is missing.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

_HEAD_BYTES = 4096
# e_machine of elf.h, Machine of winnt.h, cputype of mach/machine.h.
_ELF_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "arm64", 243: "riscv64", 21: "ppc64", 22: "s390x"}
_PE_MACHINES = {0x14C: "x86", 0x8664: "x86_64", 0xAA64: "arm64"}
_MACHO_MACHINES = {0x01000007: "x86_64", 0x0100000C: "arm64"}
_MOST_IMPORTS = 256


@dataclass(frozen=True, slots=True)
class LibraryKind:
    """``system`` is "linux", "windows" or "macos"; ``machines`` such as "x86_64", several in a fat file."""

    system: str
    machines: frozenset[str]


def library_kind(path: Path) -> LibraryKind | None:
    """What the file is made for; None where it is no library at all, or cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
        return _kind(head)
    except (OSError, struct.error, IndexError):
        return None


def _kind(head: bytes) -> LibraryKind | None:
    if head.startswith(b"\x7fELF"):
        order = "<" if head[5] == 1 else ">"
        (machine,) = struct.unpack_from(f"{order}H", head, 18)
        return LibraryKind("linux", frozenset({_ELF_MACHINES.get(machine, f"ELF {machine}")}))
    if head.startswith(b"MZ"):
        (offset,) = struct.unpack_from("<I", head, 0x3C)
        if head[offset : offset + 4] != b"PE\0\0":
            return None
        (machine,) = struct.unpack_from("<H", head, offset + 4)
        return LibraryKind("windows", frozenset({_PE_MACHINES.get(machine, f"PE {machine:#x}")}))
    if head.startswith(b"\xcf\xfa\xed\xfe"):
        (machine,) = struct.unpack_from("<I", head, 4)
        return LibraryKind("macos", frozenset({_MACHO_MACHINES.get(machine, f"Mach-O {machine:#x}")}))
    if head.startswith(b"\xca\xfe\xba\xbe"):  # several architectures in one file
        (count,) = struct.unpack_from(">I", head, 4)
        found = [struct.unpack_from(">I", head, 8 + 20 * index)[0] for index in range(min(count, 8))]
        return LibraryKind("macos", frozenset(_MACHO_MACHINES.get(m, f"Mach-O {m:#x}") for m in found))
    return None


def windows_imports(path: Path) -> tuple[str, ...]:
    """The names of the libraries that a Windows library asks for at its start; () where none can be read."""
    try:
        # Mapped: those for graphics cards have some hundred megabytes.
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _imports(data)
    except (OSError, ValueError, struct.error, IndexError):
        return ()


def _imports(data: mmap.mmap) -> tuple[str, ...]:
    (start,) = struct.unpack_from("<I", data, 0x3C)
    sections, optional_size = struct.unpack_from("<2xH12xH", data, start + 4)
    optional = start + 24
    (magic,) = struct.unpack_from("<H", data, optional)
    directories = optional + (112 if magic == 0x20B else 96)
    (address,) = struct.unpack_from("<I", data, directories + 8)  # the second directory: imports
    table = [
        struct.unpack_from("<8x4I", data, optional + optional_size + 40 * index) for index in range(sections)
    ]

    def place(virtual: int) -> int:
        for virtual_size, begin, raw_size, raw in table:
            if begin <= virtual < begin + max(virtual_size, raw_size):
                return int(raw + virtual - begin)
        raise IndexError(virtual)

    names: list[str] = []
    entry = place(address) if address else 0
    while entry and len(names) < _MOST_IMPORTS:
        (name,) = struct.unpack_from("<12xI", data, entry)
        if not name:
            break
        at = place(name)
        names.append(data[at : data.find(b"\0", at)].decode("ascii", "replace"))
        entry += 20
    return tuple(names)
