"""The only door to the files that are shipped with the program.

They lie in ``resources/`` of a checkout, and in ``clover_gui/_resources`` of an installed wheel.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def path(name: str) -> Path:
    """The path of a shipped file or folder, for example ``path("catalog.toml")``."""
    installed = _PACKAGE / "_resources"
    root = installed if installed.is_dir() else _PACKAGE.parent / "resources"
    return root / name


def text(name: str) -> str:
    """The text of a shipped UTF-8 file."""
    return path(name).read_text(encoding="utf-8")
