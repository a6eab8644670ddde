"""A model file cannot be repaired, or a repair not be undone."""

from __future__ import annotations

from pathlib import Path

from clover_gui.errors.base import CloverError


class RepairError(CloverError):
    """A model file could not be repaired or brought back; ``path`` names it, ``detail`` is technical."""

    def __init__(self, path: Path, detail: str = "") -> None:
        super().__init__(f"{path}: {detail}" if detail else str(path))
        self.path = path
        self.detail = detail


class RepairImpossible(RepairError):
    """Nothing can be done to this file. ``kind``:

    "not-understood" (its form is not safe to change), "not-family" (another network, and the engine does
    not know it), "engine-too-old" (the engine knows no name for this network), "incomplete" (something is
    missing that nothing can be derived from), "no-room" (a copy would be needed and was not wanted).
    """

    def __init__(self, path: Path, kind: str, detail: str = "") -> None:
        super().__init__(path, detail)
        self.kind = kind


class RepairNeeded(RepairError):
    """The file runs only after a repair, which nobody has asked for. ``target`` names its form after it."""

    def __init__(self, path: Path, target: str) -> None:
        super().__init__(path, target)
        self.target = target


class RepairContradictory(RepairError):
    """One group of values says "original form", the other "converted form". Can be tried with force."""


class RepairNotInPlace(RepairError):
    """The file must not be changed where it lies; a repaired copy can be made.

    ``owner`` is "link", "hard-link", "hub-cache" or the name of another program.
    """

    def __init__(self, path: Path, owner: str) -> None:
        super().__init__(path, owner)
        self.owner = owner


class RepairFileInUse(RepairError):
    """Another process has the file mapped or open. ``users`` are "name (process id)", perhaps none known."""

    def __init__(self, path: Path, users: tuple[str, ...] = ()) -> None:
        super().__init__(path, ", ".join(users))
        self.users = users


class RepairNoSpace(RepairError):
    """A copy is needed. Sizes in bytes."""

    def __init__(self, path: Path, needed_bytes: int, available_bytes: int) -> None:
        super().__init__(path, f"needs {needed_bytes} bytes, {available_bytes} free")
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes


class RepairWriteFailed(RepairError):
    """The system refused a write. ``restored``: the file is as before; if not, the next start sees to it."""

    def __init__(self, path: Path, detail: str, restored: bool) -> None:
        super().__init__(path, detail)
        self.restored = restored


class RepairCancelled(RepairError):
    """Stopped on request; the file is as it was."""


class RepairUndoMissing(RepairError):
    """No record of a repair lies beside the file."""


class RepairDamaged(RepairError):
    """File and record do not fit together: neither form can be made from them."""
