"""Chats and their files."""

from __future__ import annotations

from pathlib import Path

from clover_gui.errors.base import CloverError


class ChatStoreError(CloverError):
    """The chat database cannot be opened, read or written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ChatFileError(CloverError):
    """A chat could not be exported or imported.

    ``kind``: "exists" and "unwritable" of writing; "unreadable", "too-big", "not-ours", "damaged" and
    "too-new" of reading.
    """

    def __init__(self, path: Path, kind: str, detail: str = "") -> None:
        super().__init__(f"{path}: {kind} {detail}".rstrip())
        self.path = path
        self.kind = kind
        self.detail = detail


class AttachmentRefused(CloverError):
    """A file cannot go with a message.

    ``kind``: "missing", "unreadable", "empty", "binary", "too-big" (``size`` and ``limit`` in bytes),
    "too-long" (in pages), "too-many-tokens" (in tokens; "too-many-for-model" where the context is already the
    largest of the model), "encrypted", "no-text", "damaged".
    """

    def __init__(self, name: str, kind: str, detail: str = "", *, size: int = 0, limit: int = 0) -> None:
        super().__init__(f"{name}: {kind} {detail}".rstrip())
        self.name = name
        self.kind = kind
        self.detail = detail
        self.size = size
        self.limit = limit
