"""Copies of a file of the hub that other programs have on this machine. Looks only; changes nothing there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clover_gui.catalog.places import ModelPlace, model_places
from clover_gui.download.hub_file import HubFile


@dataclass(frozen=True, slots=True)
class Copy:
    """A file of the right name and size. ``origin`` is the program's name as in ``catalog/places.py``.

    Whether its bytes are right only ``receipt.sha256_of`` tells.
    """

    path: Path
    origin: str


def find_copies(source: HubFile, places: Sequence[ModelPlace] | None = None) -> tuple[Copy, ...]:
    """Whole files with this name and exactly this size, in the usual folders of other programs."""
    found = []
    for place in model_places() if places is None else places:
        for path in place.files(source.file_name):
            try:
                if path.stat().st_size == source.size_bytes:
                    found.append(Copy(path, place.origin))
            except OSError:
                continue
    return tuple(found)
