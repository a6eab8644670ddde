"""A person's own sets of instructions, settings and the thinking switch, under names they chose.

Kept in one small file of the data folder, replaced as a whole. What cannot be read is set aside under another
name, so that nothing is lost by the next save. Must not know: the store of the chats, widgets.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from clover_gui.chat.options import ChatOptions, options_from_dict, options_to_dict
from clover_gui.errors import DataFolderError
from clover_gui.i18n import capped
from clover_gui.plain_file import read_plain

VERSION = 1
NAME_LIMIT = 60
LIMIT_BYTES = 16 * 1024 * 1024
"""A larger file is none of ours."""


@dataclass(frozen=True, slots=True)
class Preset:
    """``thinking`` None: leave the switch as it is."""

    name: str = ""
    instructions: str = ""
    options: ChatOptions = field(default_factory=ChatOptions)
    thinking: bool | None = None

    def agrees_with(self, other: Preset) -> bool:
        """Whether both would set a chat alike, whatever they are called."""
        if None not in (self.thinking, other.thinking) and self.thinking is not other.thinking:
            return False
        return self.instructions.strip() == other.instructions.strip() and self.options == other.options


@dataclass(frozen=True, slots=True)
class Presets:
    """In the order of their names. ``default``: the name of the one that new chats begin with, or ""."""

    entries: tuple[Preset, ...] = ()
    default: str = ""

    def named(self, name: str) -> Preset | None:
        """The one of this name, whatever its case."""
        return next((p for p in self.entries if p.name.casefold() == name.casefold()), None)

    @property
    def for_new_chats(self) -> Preset | None:
        return self.named(self.default) if self.default else None

    def with_entry(self, preset: Preset) -> Presets:
        """With this one, in place of one of the same name."""
        others = [p for p in self.entries if p.name.casefold() != preset.name.casefold()]
        entries = tuple(sorted((*others, preset), key=lambda p: p.name.casefold()))
        same = self.default.casefold() == preset.name.casefold()
        return Presets(entries, preset.name if same else self.default)

    def without(self, name: str) -> Presets:
        entries = tuple(p for p in self.entries if p.name != name)
        return Presets(entries, "" if self.default == name else self.default)

    def renamed(self, old: str, new: str) -> Presets:
        preset = self.named(old)
        if preset is None:
            return self
        default = new if self.default == old else self.default
        kept = self.without(old).with_entry(dataclasses.replace(preset, name=new))
        return dataclasses.replace(kept, default=default)

    def with_default(self, name: str) -> Presets:
        """``name`` "": new chats begin as the model's makers say."""
        return dataclasses.replace(self, default=name)


def clean_name(text: str) -> str:
    """A name as it is kept and shown; "" if nothing is left of it."""
    return capped(text, NAME_LIMIT)


def load_presets(path: Path) -> tuple[Presets, Path | None]:
    """What is in the file, and where a copy of it lies if not all of it could be read. Never raises."""
    try:
        data = read_plain(path, LIMIT_BYTES)
    except FileNotFoundError:
        return Presets(), None
    except OSError:
        return Presets(), _set_aside(path)
    presets = _read(data)
    if presets is None:
        return Presets(), _set_aside(path)
    entries, default, whole = presets
    if whole:
        return Presets(entries, default), None
    kept = _set_aside(path)
    if kept is not None:
        with contextlib.suppress(DataFolderError):  # then they are saved with the next change
            save_presets(path, Presets(entries, default))
    return Presets(entries, default), kept


def save_presets(path: Path, presets: Presets) -> None:
    """Write beside the file and rename, so that a kill leaves the old or the new one whole.

    Raises:
        DataFolderError: it cannot be written; the old file is untouched.
    """
    entries = [
        {
            "name": preset.name,
            "instructions": preset.instructions,
            "thinking": preset.thinking,
            "options": options_to_dict(preset.options),
        }
        for preset in presets.entries
    ]
    values = {"version": VERSION, "default": presets.default, "presets": entries}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
        try:
            # A half of a pair of letters, from a bad paste, is kept as a code and not refused.
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(json.dumps(values, indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DataFolderError(path.parent, error.strerror or str(error)) from error


def _read(data: bytes) -> tuple[tuple[Preset, ...], str, bool] | None:
    """Presets, default, and whether nothing was left out; None: it is no file of presets of this version."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or values.get("version") != VERSION:
        return None
    entries = values.get("presets")
    if not isinstance(entries, list):
        return None
    presets = Presets()
    for entry in entries:
        if preset := _preset(entry):
            presets = presets.with_entry(dataclasses.replace(preset, name=_free_name(preset.name, presets)))
    default = values.get("default")
    known = presets.named(default) if isinstance(default, str) else None
    return presets.entries, known.name if known else "", len(presets.entries) == len(entries)


def _preset(values: object) -> Preset | None:
    if not isinstance(values, dict):
        return None
    name, instructions = values.get("name"), values.get("instructions", "")
    thinking = values.get("thinking")
    if not isinstance(name, str) or not isinstance(instructions, str) or not clean_name(name):
        return None
    return Preset(
        clean_name(name),
        instructions,
        options_from_dict(values.get("options")),
        thinking if isinstance(thinking, bool) else None,
    )


def _free_name(name: str, presets: Presets) -> str:
    """The name, with a number where another one differs from it in case only, or in nothing."""
    number, free = 2, name
    while presets.named(free) is not None:
        ending = f" {number}"
        free = name[: NAME_LIMIT - len(ending)] + ending
        number += 1
    return free


def _set_aside(path: Path) -> Path | None:
    """Give the file another name that is not taken; None if that is not possible."""
    for number in range(1, 100):
        other = path.with_name(f"{path.stem}.broken-{number}{path.suffix}")
        try:
            if not other.exists():
                path.rename(other)
                return other
        except OSError:
            return None
    return None


class PresetBook:
    """The presets in force, and their file. ``set_aside``: where a file lies that could not be read.

    Without a path they are kept until the program ends.
    """

    def __init__(
        self, path: Path | None, presets: Presets | None = None, set_aside: Path | None = None
    ) -> None:
        self.presets = presets or Presets()
        self.set_aside = set_aside
        self._path = path
        self._writing = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path) -> PresetBook:
        return cls(path, *await asyncio.to_thread(load_presets, path))

    async def change(self, presets: Presets) -> None:
        """In force at once, and in the file when this returns.

        Raises:
            DataFolderError: they could not be saved; they are in force until the program ends.
        """
        self.presets = presets
        if self._path is not None:
            async with self._writing:
                await asyncio.to_thread(save_presets, self._path, self.presets)
