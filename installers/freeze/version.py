"""The program's version, for everything that is packed; it stands in ``clover_gui/__init__.py`` only."""

from __future__ import annotations

import re
from pathlib import Path

from installers.places import ROOT


def version(root: Path = ROOT) -> str:
    """The version, read without importing the program.

    Raises:
        ValueError: the file names none.
    """
    text = (root / "clover_gui" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise ValueError("clover_gui/__init__.py names no version")
    return found[1]
