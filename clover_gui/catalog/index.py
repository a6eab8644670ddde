"""The models known by name: the list itself, and which of them are already on this machine.

Other programs' folders are only looked at, never written to. Nothing is opened or downloaded here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from clover_gui import resources
from clover_gui.catalog.entry import CatalogEntry, FoundModel, PublishedFigure, SamplingPreset
from clover_gui.catalog.places import ModelPlace, model_places, package_file
from clover_gui.errors import ModelFileMissing
from clover_gui.paths import expanded

MODEL_SUFFIX = ".gguf"


@dataclass(frozen=True, slots=True)
class Catalog:
    """All entries, the preferred model first, and the preset for files that are not among them."""

    entries: tuple[CatalogEntry, ...]
    default_preset: SamplingPreset

    def entry(self, model_id: str) -> CatalogEntry | None:
        """The entry of this id, in any case."""
        return next((entry for entry in self.entries if entry.id == model_id.lower()), None)

    def entry_for(self, path: Path, name: str = "", architecture: str = "") -> CatalogEntry | None:
        """Which known model a file is, by its file name, its own name or an architecture of its own."""
        texts = [text.replace("_", "-").replace(" ", "-") for text in (path.name, name) if text]
        for entry in self.entries:
            if architecture in entry.architectures:
                return entry
            if any(_matches(text, pattern) for text in texts for pattern in entry.name_patterns):
                return entry
        return None

    def preset(self, entry: CatalogEntry | None, thinking: bool) -> SamplingPreset:
        """The sampling values for one mode; of a model that has only one, those."""
        presets = entry.presets if entry else {}
        wanted, other = ("thinking", "direct") if thinking else ("direct", "thinking")
        return presets.get(wanted) or presets.get(other) or self.default_preset


def load_catalog() -> Catalog:
    """Read the shipped list."""
    data = tomllib.loads(resources.text("catalog.toml"))
    return Catalog(
        entries=tuple(_entry(model) for model in data["model"]),
        default_preset=SamplingPreset(**data["default_preset"]),
    )


def find_installed(
    entry: CatalogEntry, models_folder: Path, places: tuple[ModelPlace, ...] | None = None
) -> FoundModel | None:
    """A file of this model on this machine, or None.

    Looked for in the own folder, in the package that carries it, and in the folders of other programs
    (``places``, None: the usual ones). Where the size is known exactly, a file of another size does not
    count: it is half a download.
    """
    for path, origin in _candidates(entry, models_folder, places):
        try:
            size = path.stat().st_size
        except OSError:
            continue
        if size > 0 and (not entry.sha256 or size == entry.size_bytes):
            return FoundModel(entry, path, size, origin)
    return None


def find_models(
    models_folder: Path, places: tuple[ModelPlace, ...] | None = None, catalog: Catalog | None = None
) -> tuple[FoundModel, ...]:
    """Every known model that is here, then the other model files of the own folder by name."""
    catalog = catalog or load_catalog()
    known = [
        found
        for entry in catalog.entries
        if (found := find_installed(entry, models_folder, places)) is not None
    ]
    taken = {found.path for found in known}
    stray = []
    for path in ModelPlace(models_folder, "models").files("*"):
        try:
            size = path.stat().st_size
        except OSError:  # it went away while the folder was read
            continue
        if path not in taken:
            stray.append(FoundModel(catalog.entry_for(path), path, size, "models"))
    return (*known, *sorted(stray, key=lambda found: found.path.name.lower()))


def resolve_model(text: str, models_folder: Path, places: tuple[ModelPlace, ...] | None = None) -> Path:
    """The file that a person means: a catalogue id, a path, or the name of a file in the own folder.

    Raises:
        ModelFileMissing: there is none; ``detail`` is "not-installed" for an id of the catalogue, and
            "unknown-name" for what looks like such an id and is none.
    """
    entry = load_catalog().entry(text)
    if entry is not None:
        found = find_installed(entry, models_folder, places)
        if found is None:
            raise ModelFileMissing(models_folder / entry.id, "not-installed")
        return found.path
    path = expanded(text)
    if _exists(path):
        return path.absolute()
    for name in (text, text + MODEL_SUFFIX):
        own = models_folder / name
        if text and _exists(own) and own.is_file():
            return own.absolute()
    is_name = len(path.parts) == 1 and path.suffix.lower() != MODEL_SUFFIX
    raise ModelFileMissing(path.absolute(), "unknown-name" if is_name else "")


def _exists(path: Path) -> bool:
    """Also of a text that no file can be called."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _candidates(
    entry: CatalogEntry, models_folder: Path, places: tuple[ModelPlace, ...] | None
) -> Iterator[tuple[Path, str]]:
    for path in ModelPlace(models_folder, "models").files(entry.file_pattern):
        yield path, "models"
    if entry.package:
        path_in_package = package_file(entry.package, entry.package_file)
        if path_in_package is not None:
            yield path_in_package, "package"
    for place in model_places() if places is None else places:
        for path in place.repository_files(entry.repository, entry.file_pattern):
            yield path, place.origin


def _entry(model: Mapping[str, Any]) -> CatalogEntry:
    values = dict(model)
    presets = {mode: SamplingPreset(**preset) for mode, preset in values.pop("presets", {}).items()}
    figures = tuple(PublishedFigure(**figure) for figure in values.pop("figures", ()))
    for key in ("name_patterns", "architectures"):
        values[key] = tuple(values.get(key, ()))
    return CatalogEntry(**values, presets=presets, figures=figures)


def _matches(text: str, pattern: str) -> bool:
    return fnmatchcase(text.lower(), pattern.lower())
