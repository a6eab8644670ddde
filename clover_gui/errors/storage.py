"""Models cannot be moved."""

from __future__ import annotations

from pathlib import Path

from clover_gui.errors.base import CloverError


class StorageError(CloverError):
    """The models could not be moved; they are where they were. ``path`` is the file or folder."""

    def __init__(self, path: Path, detail: str = "") -> None:
        super().__init__(f"{path}: {detail}" if detail else str(path))
        self.path = path
        self.detail = detail


class MoveTargetUnusable(StorageError):
    """The chosen folder cannot be used. ``detail``: "same" (the models lie there) or the system's reason."""


class MoveNoSpace(StorageError):
    """Too little room on the chosen disk. Sizes in bytes."""

    def __init__(self, folder: Path, needed_bytes: int, free_bytes: int) -> None:
        super().__init__(folder, f"needs {needed_bytes} bytes, {free_bytes} free")
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes


class MoveNameTaken(StorageError):
    """Another file has this name in the chosen folder; it is not touched."""


class MoveSourceInUse(StorageError):
    """A download or a repair of this file is going on, perhaps in another process."""


class MoveFailed(StorageError):
    """Reading or writing failed; ``detail`` is the system's reason."""


class MoveCancelled(CloverError):
    """Stopped by the person; the models are where they were."""
