"""Bring a known model to this machine: ask the hub, say what it would mean, fetch, check.

Up to the offer nothing is changed here; the front ends show it and go on only when the person agrees.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from clover_gui.catalog.entry import CatalogEntry
from clover_gui.download.download import Download
from clover_gui.download.hub_file import HubFile
from clover_gui.download.manager import DownloadManager, Offer
from clover_gui.download.progress import Status
from clover_gui.errors import DownloadError
from clover_gui.patching.findings import FAMILY

PREFERRED_QUANTIZATION = "q4_k_m"


class Runnable(StrEnum):
    """Whether this engine can run a file of this architecture; said before it is fetched, not after."""

    AS_IT_IS = "as-it-is"
    AFTER_REPAIR = "after-repair"
    NOT = "not"
    UNKNOWN = "unknown"  # the hub and the file's beginning do not tell


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """What a download would bring and cost. ``architecture`` is capped, "" when nothing tells it."""

    entry: CatalogEntry
    offer: Offer
    architecture: str
    runnable: Runnable

    @property
    def source(self) -> HubFile:
        return self.offer.source


def runnable(architecture: str, known: Mapping[str, bool]) -> Runnable:
    """From the architecture's name and what the engine says it can load. Names that were never asked of
    the engine are its matter when it loads them."""
    if not architecture:
        return Runnable.UNKNOWN
    if known.get(architecture, architecture not in FAMILY):
        # A file of this family may still need its values repaired; that is seen when it is here.
        return Runnable.AS_IT_IS
    if architecture in FAMILY and any(known.get(name) for name in FAMILY):
        return Runnable.AFTER_REPAIR
    return Runnable.NOT


async def look_up(manager: DownloadManager, entry: CatalogEntry, known: Mapping[str, bool]) -> ModelOffer:
    """Ask the hub which file it is, how large, and whether this engine can run it.

    Raises:
        DownloadError: the hub cannot be reached, refuses, or has no such file.
    """

    def ask() -> ModelOffer:
        source = manager.hub.find(
            entry.repository, entry.file_pattern, sha256=entry.sha256, prefer=PREFERRED_QUANTIZATION
        )
        offer = manager.offer(source)
        architecture = source.architecture
        if not architecture and not offer.already_there:
            try:
                architecture = manager.architecture(source)
            except DownloadError:
                architecture = ""  # the transfer itself will say what is wrong
        return ModelOffer(entry, offer, architecture, runnable(architecture, known))

    return await asyncio.to_thread(ask)


def download(manager: DownloadManager, offer: ModelOffer, on_status: Callable[[Status], None]) -> Download:
    """The download of an offer, not yet begun."""
    return Download(manager, offer.source, on_status)
