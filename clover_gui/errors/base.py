"""The root of all failures, and the one that belongs to no stage."""

from __future__ import annotations

from pathlib import Path


class CloverError(Exception):
    """Base of all failures that are shown to people."""


class DataFolderError(CloverError):
    """The data folder cannot be created or written."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder}: {reason}")
        self.folder = folder
        self.reason = reason
