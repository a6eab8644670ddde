"""One installed build of the engine: what it is, where it came from, how its trial went.

A flavour is a folder of native libraries beside the program, with a manifest; the binding (pure Python) stays
the program's own. Knows the form of the manifest, and nothing of networks, children and windows.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_gui.download.json_file import read_json, write_json

BUILT_IN = ""
"""The key of the engine that comes with the program."""

BACKENDS = ("cpu", "cuda", "vulkan", "hip", "metal")
MANIFEST = "manifest.json"
_VERSION = 1
LONGEST_NAME = 200
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
# What may be loaded, and what the loaded libraries read beside them on a Mac.
_LIBRARY_NAME = re.compile(r".+(?:\.so(?:\.\d+)*|\.dll|\.dylib|\.metal|\.metallib)", re.IGNORECASE)
_MOST_FILES = 1000
_MOST_BYTES = 1 << 40
_LONGEST_TEXT = 1000
_KEY = re.compile(r"[a-z0-9][a-z0-9.+-]{0,79}")
# A backend is known by the library that carries it.
_BACKEND_LIBRARY = re.compile(r"^(?:lib)?ggml-(cuda|vulkan|hip|metal)\b")


@dataclass(frozen=True, slots=True)
class Flavour:
    """``key`` is the folder's name. ``origin`` is the host or the file that it came from, for people.

    ``name`` is the published set ("cu124") or the backend; ``sha256`` that of the wheel; ``installed_at`` ISO
    8601 in UTC. ``devices`` are those that its trial saw, as the engine describes them; ``files`` the names
    and sizes in bytes of its libraries. ``search`` are folders of this machine that hold what it needs and
    does not bring (see ``runtime.py``).
    """

    key: str
    name: str
    backend: str
    engine_version: str
    origin: str
    sha256: str
    installed_at: str
    devices: tuple[str, ...]
    files: tuple[tuple[str, int], ...]
    search: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """What its libraries take; names that share one file count once, as the installer stores them."""
        return sum({_stem(name): size for name, size in self.files}.values())

    def missing_files(self, folder: Path) -> tuple[str, ...]:
        """The libraries that are not there any more, or not with their size."""
        return tuple(name for name, size in self.files if _size(folder / name) != size)


def is_key(text: str) -> bool:
    """Whether this may be the name of a flavour's folder: no path, nothing hidden."""
    return _KEY.fullmatch(text) is not None


def is_plain_name(text: str) -> bool:
    """Whether this may be the name of a file in a flavour's folder: no path, nothing hidden, not too long."""
    return len(text) <= LONGEST_NAME and _PLAIN_NAME.fullmatch(text) is not None


def is_library_name(text: str) -> bool:
    """Whether a file of this name is of use to an engine."""
    return is_plain_name(text) and _LIBRARY_NAME.fullmatch(text) is not None


def backend_of(names: list[str]) -> str:
    """What a set of libraries computes on, by their names."""
    found = [match[1] for name in names if (match := _BACKEND_LIBRARY.match(name))]
    return found[0] if found else "cpu"


def write_manifest(folder: Path, flavour: Flavour) -> None:
    """Raises OSError where the folder cannot be written."""
    write_json(folder / MANIFEST, {"version": _VERSION, **dataclasses.asdict(flavour)})


def read_manifest(folder: Path) -> Flavour | None:
    """The flavour in a folder; None where there is none, or none that this program understands."""
    value = read_json(folder / MANIFEST)
    if value is None or value.pop("version", None) != _VERSION or value.get("key") != folder.name:
        return None
    try:
        return _from_values(value)
    except (KeyError, TypeError, ValueError):
        return None


def _from_values(value: dict[str, Any]) -> Flavour:
    files = tuple((_text(name), size) for name, size in value["files"])
    if not 0 < len(files) <= _MOST_FILES or not all(is_plain_name(name) for name, _size in files):
        raise ValueError("names of libraries")
    if not all(type(size) is int and 0 <= size <= _MOST_BYTES for _name, size in files):
        raise ValueError("sizes of libraries")
    if value["backend"] not in BACKENDS:
        raise ValueError(value["backend"])
    texts = {
        field.name: _text(value[field.name])
        for field in dataclasses.fields(Flavour)
        if field.name not in ("devices", "files", "search")
    }
    devices = tuple(map(_text, value["devices"]))
    search = tuple(map(_text, value.get("search", ())))
    if not all(_is_full_path(folder) for folder in search):
        raise ValueError("folders")
    return Flavour(**texts, devices=devices, files=files, search=search)


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise ValueError("no text, or a very long one")
    return value


def _is_full_path(text: str) -> bool:
    """Not one that depends on where the program was started, and none that goes up again."""
    path = Path(text)
    return path.is_absolute() and ".." not in path.parts and "\0" not in text


def _stem(name: str) -> str:
    """ "libggml.so.0.25.3" and "libggml.so" are one library under two names."""
    return re.sub(r"\.so[.\d]*$", ".so", name)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
