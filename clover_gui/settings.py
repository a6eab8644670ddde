"""The person's settings: typed, saved atomically, never in the way of starting.

A file that cannot be read, or a value that cannot be true, gives the default and is reported in
``LoadedSettings.problems``; the file as it was is kept beside the new one. Knows nothing of Qt.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_gui.paths import DataFolder, expanded
from clover_gui.plain_file import read_json_value, read_plain

VERSION = 1

_CHOICES: dict[str, tuple[Any, ...]] = {
    "language": ("", "en", "de"),
    "theme": ("system", "light", "dark"),
    "kv_type": ("", "f16", "q8_0", "q4_0"),
}
_SWITCHES = ("thinking", "look_for_new_versions", "memory_panel")
_RANGES: dict[str, tuple[int, int]] = {"context": (0, 1 << 22), "reserve_mb": (-1, 1 << 16)}


MOST_BY_HAND = 24
# No desktop is wider; numbers beyond would not fit the window system's.
_FARTHEST_PIXEL = 1 << 17
_MOST_KEPT = 100


@dataclass(frozen=True, slots=True)
class ByHand:
    """What a model file was loaded with by hand. 0, "" and -1: it was left to the program."""

    path: str
    context: int = 0
    kv_type: str = ""
    cpu_expert_layers: int = -1


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Empty string or 0 means: choose for me (or: the usual place or address).

    ``context`` in tokens; ``reserve_mb`` is the graphics memory that stays free, in MiB (-1: choose for me);
    ``window`` is x, y, width, height of the last window. ``engine_flavour`` is the folder name of an
    engine that was installed beside the program's own one (see ``flavours``). ``graphics`` is the graphics
    card chosen by hand (``planning.plan.Wishes.graphics``); ``memory_panel``: it stands beside the chat.
    ``by_hand`` are the files that were loaded with something set by hand, the last one first, a few at most.
    """

    language: str = ""
    theme: str = "system"
    model_path: str = ""
    models_folder: str = ""
    hub_endpoint: str = ""
    proxy: str = ""
    context: int = 0
    kv_type: str = ""
    reserve_mb: int = -1
    thinking: bool = True
    look_for_new_versions: bool = False
    memory_panel: bool = False
    graphics: str = ""
    engine_flavour: str = ""
    window: tuple[int, int, int, int] | None = None
    by_hand: tuple[ByHand, ...] = ()

    def by_hand_for(self, path: Path) -> ByHand | None:
        """What this file was last loaded with by hand."""
        return next((one for one in self.by_hand if one.path == str(path)), None)

    def with_by_hand(self, one: ByHand) -> Settings:
        """The same with this; where everything is left to the program, the file is forgotten."""
        others = tuple(other for other in self.by_hand if other.path != one.path)
        first = () if one == ByHand(one.path) else (one,)
        return dataclasses.replace(self, by_hand=(*first, *others)[:MOST_BY_HAND])


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings as read, and what had to be replaced by a default (field names, or "file")."""

    settings: Settings
    problems: tuple[str, ...] = ()


def models_folder(settings: Settings, data: DataFolder) -> Path:
    """Where models lie: the chosen folder, else the usual one."""
    chosen = expanded(settings.models_folder) if settings.models_folder else data.models
    return chosen if chosen.is_absolute() else data.models


def chosen_models_folder(data: DataFolder) -> Path:
    """The same for a front end that has read no settings; the file is only looked at."""
    return models_folder(load(data.settings, keep_broken=True).settings, data)


def load(path: Path, *, keep_broken: bool = False) -> LoadedSettings:
    """Read the file; a missing one gives the defaults. Never raises.

    ``keep_broken``: a file that cannot be read stays where it is.
    """
    try:
        data = read_json_value(path)
        if not isinstance(data, dict):
            raise ValueError("not an object")
    except FileNotFoundError:
        return LoadedSettings(Settings())
    except (OSError, ValueError):
        if not keep_broken:
            _set_aside(path)
        return LoadedSettings(Settings(), ("file",))
    values: dict[str, Any] = {}
    problems: list[str] = []
    for field in dataclasses.fields(Settings):
        if field.name in data:
            value = _checked(field.name, data[field.name])
            if value is None and data[field.name] is not None:
                problems.append(field.name)
            elif value is not None:
                values[field.name] = value
    if problems and not keep_broken:
        _keep_copy(path)
    return LoadedSettings(Settings(**values), tuple(problems))


def save(path: Path, settings: Settings) -> None:
    """Write beside the file and rename, so that a kill leaves the old or the new one whole.

    Raises:
        OSError: the folder cannot be written; the old file is untouched.
    """
    text = json.dumps({"version": VERSION, **dataclasses.asdict(settings)}, indent=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    # In ASCII: the name of a file may hold bytes that are no text, and they come back as they were.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _checked(name: str, value: object) -> object:
    """The value if it can be true for this field, else None."""
    if name in _CHOICES:
        return value if value in _CHOICES[name] else None
    if name in _RANGES:
        low, high = _RANGES[name]
        return value if type(value) is int and low <= value <= high else None
    if name in _SWITCHES:
        return value if isinstance(value, bool) else None
    if name == "by_hand":
        return _by_hand(value)
    if name == "window":
        if not isinstance(value, list) or len(value) != 4 or any(type(v) is not int for v in value):
            return None
        within = all(-_FARTHEST_PIXEL <= v <= _FARTHEST_PIXEL for v in value)
        return tuple(value) if within and value[2] > 0 and value[3] > 0 else None
    return value if isinstance(value, str) and _can_be_name(value) else None


def _can_be_name(text: str) -> bool:
    """Whether the system could be asked for a file of this name, and a server for a host."""
    try:
        return "\0" not in text and os.fsencode(text) is not None
    except UnicodeEncodeError:
        return False


def _by_hand(value: object) -> tuple[ByHand, ...] | None:
    if not isinstance(value, list):
        return None
    found = []
    for one in value[:MOST_BY_HAND]:
        if (
            not isinstance(one, dict)
            or not isinstance(path := one.get("path"), str)
            or not _can_be_name(path)
        ):
            return None
        context, kv_type = _checked("context", one.get("context")), _checked("kv_type", one.get("kv_type"))
        experts = one.get("cpu_expert_layers")
        if not isinstance(context, int) or not isinstance(kv_type, str):
            return None
        if type(experts) is not int or not -1 <= experts <= 1 << 16:
            return None
        found.append(ByHand(path, context, kv_type, experts))
    return tuple(found)


def _set_aside(path: Path) -> None:
    """Rename it, never over one that was set aside before."""
    for other in _names_aside(path):
        if not os.path.lexists(other):
            with contextlib.suppress(OSError):
                path.rename(other)
            return


def _keep_copy(path: Path) -> None:
    """Keep the file as it is now under another name, once: the next save leaves out what was wrong in it."""
    with contextlib.suppress(OSError):
        data = read_plain(path)
        for other in _names_aside(path):
            if not os.path.lexists(other):
                # A proxy's password may be in it.
                handle = os.open(
                    other, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
                )
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                return
            if _holds(other, data):
                return


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_plain(path) == data
    except OSError:
        return False


def _names_aside(path: Path) -> Iterator[Path]:
    yield path.with_suffix(".broken.json")
    for number in range(2, _MOST_KEPT + 1):
        yield path.with_suffix(f".broken-{number}.json")
