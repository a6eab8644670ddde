"""Where set-up keeps things: the clone, its environment, the person's cache folder.

The cache folder is the program's own (``clover_gui.paths.cache_folder``), found without the packages that
are not there before set-up; a test holds the two together.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

APP_NAME = "clover-gui"
ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"


def cache_folder() -> Path:
    """Things that can be made again: built engine wheels, logs of set-up."""
    if override := os.environ.get("CLOVER_CACHE_DIR"):
        return Path(override)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / APP_NAME / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / APP_NAME
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(base) if base else Path.home() / ".cache") / APP_NAME


def python_of(environment: Path) -> Path:
    """The interpreter inside a virtual environment."""
    if sys.platform == "win32":
        return environment / "Scripts" / "python.exe"
    return environment / "bin" / "python"
