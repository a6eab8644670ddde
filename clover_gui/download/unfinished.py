"""The unfinished downloads in a folder: list them, remove them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clover_gui.download.hub_file import HubFile
from clover_gui.download.part_state import PART_SUFFIX, STATE_SUFFIX, load_state
from clover_gui.errors import DestinationNotWritable


@dataclass(frozen=True, slots=True)
class Unfinished:
    """One download that can be gone on with. ``source`` is None for a part whose note is lost."""

    path: Path
    source: HubFile | None
    present_bytes: int
    started_at: str = ""

    @property
    def name(self) -> str:
        """What the file is going to be called, or the part's own name."""
        return self.source.file_name if self.source else self.path.name


def list_unfinished(folder: Path) -> tuple[Unfinished, ...]:
    """All parts in this folder, also those of which nothing is known. Never raises."""
    try:
        paths = sorted(folder.glob(f"*{PART_SUFFIX}"))
    except OSError:
        return ()
    found = []
    for path in paths:
        try:
            present = path.stat().st_size
        except OSError:
            continue  # finished or removed meanwhile
        state = load_state(path.with_name(path.name.removesuffix(PART_SUFFIX) + STATE_SUFFIX))
        started = datetime.fromtimestamp(state.started_at, UTC).isoformat(timespec="seconds") if state else ""
        found.append(Unfinished(path, state.source if state else None, present, started))
    return tuple(found)


def remove_unfinished(unfinished: Unfinished) -> None:
    """Delete the part and its note.

    Raises:
        DestinationNotWritable: the system refuses it (rights, or another program has it open).
    """
    path = unfinished.path
    try:
        path.unlink(missing_ok=True)
        path.with_name(path.name.removesuffix(PART_SUFFIX) + STATE_SUFFIX).unlink(missing_ok=True)
    except OSError as error:
        raise DestinationNotWritable(path, error.strerror or str(error)) from error
