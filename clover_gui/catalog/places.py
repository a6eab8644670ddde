"""Where model files lie on a machine: folders of this and of other programs, and Python packages.

Only looks. A folder that does not exist or may not be read has no files.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

DEPTH = 3
"""How many folders deep models are looked for."""

MOST_ENTRIES = 20_000
"""A folder with more entries than this is somebody's archive, not a model folder."""


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """A folder with models and the program that it belongs to."""

    folder: Path
    origin: str

    def files(self, pattern: str) -> Iterator[Path]:
        """Whole model files below the folder whose name matches, three folders deep at most."""
        yield from _walk(self.folder, pattern.lower(), DEPTH, [MOST_ENTRIES])

    def repository_files(self, repository: str, pattern: str) -> Iterator[Path]:
        """Files of one hub repository, in the way in which this program files them."""
        owner, _, name = repository.partition("/")
        if self.origin == "hugging-face":
            below = self.folder / f"models--{owner}--{name}" / "snapshots"
        else:
            below = self.folder / owner / name
        yield from _walk(below, pattern.lower(), DEPTH, [MOST_ENTRIES])


def model_places(
    home: Path | None = None, environment: Mapping[str, str] | None = None, platform: str = sys.platform
) -> tuple[ModelPlace, ...]:
    """The usual model folders of the Hugging Face tools, LM Studio and Jan on this system."""
    environment = os.environ if environment is None else environment
    try:
        home = home or Path.home()
    except RuntimeError:  # no home folder at all
        return ()
    hub = environment.get("HF_HUB_CACHE")
    if not hub:
        cache = environment.get("HF_HOME") or Path(
            environment.get("XDG_CACHE_HOME") or home / ".cache", "huggingface"
        )
        hub = str(Path(cache) / "hub")
    return (
        ModelPlace(Path(hub), "hugging-face"),
        ModelPlace(home / ".lmstudio" / "models", "lm-studio"),
        ModelPlace(home / ".cache" / "lm-studio" / "models", "lm-studio"),
        ModelPlace(_jan_data(home, environment, platform) / "llamacpp" / "models", "jan"),
    )


def package_file(package: str, name: str) -> Path | None:
    """A data file within an installed Python package, which is not imported for that."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / name
        if path.is_file():
            return path
    return None


def _jan_data(home: Path, environment: Mapping[str, str], platform: str) -> Path:
    if platform == "win32":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming") / "Jan" / "data"
    if platform == "darwin":
        return home / "Library" / "Application Support" / "Jan" / "data"
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "Jan" / "data"


def _walk(folder: Path, pattern: str, depth: int, budget: list[int]) -> Iterator[Path]:
    """Files first, then folders, each by name. ``budget`` counts down over the whole walk."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name.lower())
    except OSError:
        return
    folders = []
    for entry in entries:
        budget[0] -= 1
        if budget[0] < 0:
            return
        try:
            if entry.is_dir():
                folders.append(Path(entry.path))
            elif entry.is_file() and _is_model(entry.name) and fnmatchcase(entry.name.lower(), pattern):
                yield Path(entry.path)
        except OSError:
            continue
    for below in folders if depth > 0 else ():
        yield from _walk(below, pattern, depth - 1, budget)


def _is_model(name: str) -> bool:
    """A language model in one file: no vision part, and no piece of a split one."""
    lower = name.lower()
    return lower.endswith(".gguf") and not lower.startswith("mmproj") and "-of-0" not in lower
