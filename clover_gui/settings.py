"""The person's settings: typed, saved atomically, never in the way of starting.

A file that cannot be read, or a value that cannot be true, gives the default and is reported in
``LoadedSettings.problems``; the broken file is kept beside the new one. Knows nothing of Qt.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_gui.paths import DataFolder

VERSION = 1

_CHOICES: dict[str, tuple[Any, ...]] = {
    "language": ("", "en", "de"),
    "theme": ("system", "light", "dark"),
    "kv_type": ("", "f16", "q8_0", "q4_0"),
}
_SWITCHES = ("thinking", "look_for_new_versions", "memory_panel")
_RANGES: dict[str, tuple[int, int]] = {"context": (0, 1 << 22), "reserve_mb": (-1, 1 << 16)}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Empty string or 0 means: choose for me (or: the usual place or address).

    ``context`` in tokens; ``reserve_mb`` is the graphics memory that stays free, in MiB (-1: choose for me);
    ``window`` is x, y, width, height of the last window. ``engine_flavour`` is the folder name of an
    engine that was installed beside the program's own one (see ``flavours``). ``graphics`` is the graphics
    card chosen by hand (``planning.plan.Wishes.graphics``); ``memory_panel``: it stands beside the chat.
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


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings as read, and what had to be replaced by a default (field names, or "file")."""

    settings: Settings
    problems: tuple[str, ...] = ()


def models_folder(settings: Settings, data: DataFolder) -> Path:
    """Where models lie: the chosen folder, else the usual one."""
    chosen = Path(settings.models_folder).expanduser() if settings.models_folder else data.models
    return chosen if chosen.is_absolute() else data.models


def chosen_models_folder(data: DataFolder) -> Path:
    """The same for a front end that has read no settings; the file is only looked at."""
    return models_folder(load(data.settings, keep_broken=True).settings, data)


def load(path: Path, *, keep_broken: bool = False) -> LoadedSettings:
    """Read the file; a missing one gives the defaults. Never raises.

    ``keep_broken``: a file that cannot be read stays where it is.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
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
    return LoadedSettings(Settings(**values), tuple(problems))


def save(path: Path, settings: Settings) -> None:
    """Write beside the file and rename, so that a kill leaves the old or the new one whole.

    Raises:
        OSError: the folder cannot be written; the old file is untouched.
    """
    text = json.dumps({"version": VERSION, **dataclasses.asdict(settings)}, indent=2, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
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
    if name == "window":
        if not isinstance(value, list) or len(value) != 4 or any(type(v) is not int for v in value):
            return None
        return tuple(value) if value[2] > 0 and value[3] > 0 else None
    return value if isinstance(value, str) else None


def _set_aside(path: Path) -> None:
    try:
        path.replace(path.with_suffix(".broken.json"))
    except OSError:
        return
