"""Why the engine's libraries cannot be loaded: from the loader's words to the file that is missing.

The words are those of Linux (glibc and musl), Windows and macOS. Windows names only the library that was
asked for, not the one that is missing: then the imports of the libraries in the folder are looked through.
Knows no sentences for people.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PureWindowsPath

from clover_gui.engine.library_file import windows_imports
from clover_gui.errors import EngineDied, EngineError, EngineStartFailed


class FaultKind(StrEnum):
    """What is wrong, as far as the loader's words tell."""

    MISSING_LIBRARY = "missing-library"
    MISSING_DRIVER = "missing-driver"  # a library that comes with the driver of a graphics card
    SYSTEM_TOO_OLD = "system-too-old"
    OTHER_VERSION = "other-version"
    DAMAGED = "damaged"  # no library, or one for another processor
    ILLEGAL_INSTRUCTION = "illegal-instruction"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class StartFault:
    """``what`` is the library, symbol or version that it is about; "" where nobody says."""

    kind: FaultKind
    what: str = ""


_BUS_ERROR = -7
# SIGILL, and STATUS_ILLEGAL_INSTRUCTION of Windows (signed and unsigned).
ILLEGAL_INSTRUCTION_CODES = (-4, 0xC000001D, 0xC000001D - (1 << 32))

_PATTERNS = (
    (FaultKind.SYSTEM_TOO_OLD, r"version [`'](GLIBC(?:XX)?_[\d.]+)' not found"),
    (FaultKind.DAMAGED, r"([^\s'\":/\\]+): (?:invalid ELF header|file too short|wrong ELF class|ELF load)"),
    (FaultKind.MISSING_LIBRARY, r"([^\s'\":/\\]+): cannot open shared object file"),
    (FaultKind.MISSING_LIBRARY, r"Error loading shared library ([^\s:]+): No such file"),
    (FaultKind.MISSING_LIBRARY, r"Library not loaded: ([^\s,]+)"),
    (FaultKind.MISSING_LIBRARY, r"Could not find module '([^']+)'"),
    (FaultKind.MISSING_LIBRARY, r"Shared library with base name '([^']+)' not found"),
    (FaultKind.OTHER_VERSION, r"undefined symbol: (\w+)"),
    (FaultKind.OTHER_VERSION, r"function '(\w+)' not found"),
    (FaultKind.OTHER_VERSION, r"Symbol not found: (\w+)"),
    (FaultKind.DAMAGED, r"Failed to load shared library '([^']+)': .*WinError 193"),
    (FaultKind.MISSING_LIBRARY, r"Failed to load shared library '([^']+)': .*WinError 126"),
)  # fmt: skip
_DRIVER_LIBRARIES = re.compile(
    r"^(libcuda\.so|nvcuda\.dll|libvulkan\.so|vulkan-1\.dll|libamdhip64\.so|libhsa-runtime)", re.IGNORECASE
)
# The engine child's own words where structures or defaults are not those of the supported version.
_VERSION_SIGNS = ("bytes, ", "_default_params: ", "is installed, this program needs")
# Always there: parts of Windows itself, also under names that no file has.
_WINDOWS_OWN = re.compile(
    r"^(api-ms-|ext-ms-|kernel32|kernelbase|ntdll|user32|advapi32|ole32|ws2_32|shell32)"
)


def read_fault(
    reason: str,
    exit_code: int | None = None,
    folder: Path | None = None,
    search: Iterable[Path] = (),
    platform: str = sys.platform,
) -> StartFault:
    """What the engine child's last words mean. ``folder`` holds its libraries; ``search`` are the other
    places where the system looks for libraries (only of use under Windows)."""
    if exit_code in ILLEGAL_INSTRUCTION_CODES or "illegal instruction" in reason.lower():
        return StartFault(FaultKind.ILLEGAL_INSTRUCTION)
    for kind, pattern in _PATTERNS:
        if found := re.search(pattern, reason):
            name = _name(found[1])
            if "base name" in found[0]:
                name = {"win32": f"{name}.dll", "darwin": f"lib{name}.dylib"}.get(platform, f"lib{name}.so")
            if kind is not FaultKind.MISSING_LIBRARY:
                return StartFault(kind, name)
            if folder is not None and (folder / name).is_file():
                # It is there: something that it needs itself is not, or it is none for this machine.
                if not name.lower().endswith(".dll"):
                    return StartFault(FaultKind.DAMAGED, name)
                name = next(iter(missing_imports(folder, search)), name)
            return StartFault(_missing_kind(name), name)
    if (
        "LibraryUnsupported" in reason
        or " expected" in reason
        or "is installed, this program needs" in reason
    ):
        return StartFault(FaultKind.OTHER_VERSION)
    return StartFault(FaultKind.OTHER)


def fault_of(error: EngineError, folder: Path | None = None) -> StartFault:
    """What a failed start, or the sudden end, of the engine child means."""
    code = error.exit_code if isinstance(error, EngineDied) else None
    if code is None and (found := re.search(r"it ended with code (-?\d+)", error.reason)):
        code = int(found[1])
    if code == _BUS_ERROR and isinstance(error, EngineStartFailed):
        return StartFault(FaultKind.DAMAGED)  # a library that is shorter than its own header says
    words = " ".join((error.reason, *error.log_lines[-3:]))
    return read_fault(words, code, folder, library_search_path())


def missing_imports(folder: Path, search: Iterable[Path]) -> tuple[str, ...]:
    """Names that the Windows libraries in ``folder`` ask for and that lie neither there nor in ``search``."""
    here = {path.name.lower(): path for path in folder.glob("*.dll")}
    places = list(search)
    missing: dict[str, None] = {}
    for path in here.values():
        for name in windows_imports(path):
            low = name.lower()
            found = low in here or _WINDOWS_OWN.match(low) or any((p / name).is_file() for p in places)
            if not found:
                missing[name] = None
    # A driver's library is the better news: the person can do something about it.
    return tuple(sorted(missing, key=lambda name: not _DRIVER_LIBRARIES.match(name)))


def library_search_path(environment: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Where Windows looks for libraries beside the engine's own folder; () elsewhere."""
    if sys.platform != "win32":
        return ()
    environment = os.environ if environment is None else environment
    places = [Path(environment.get("SystemRoot", r"C:\Windows")) / "System32"]
    places += [Path(environment[name]) / "bin" for name in ("CUDA_PATH", "HIP_PATH") if name in environment]
    places += [Path(place) for place in environment.get("PATH", "").split(os.pathsep) if place]
    return tuple(places)


def _missing_kind(name: str) -> FaultKind:
    return FaultKind.MISSING_DRIVER if _DRIVER_LIBRARIES.match(name) else FaultKind.MISSING_LIBRARY


def _name(text: str) -> str:
    """The file name of a path of any system."""
    return PureWindowsPath(text).name if "\\" in text else text.rpartition("/")[2]
