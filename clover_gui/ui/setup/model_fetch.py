"""A model that is not here yet: what the hub says of it, and its download, shown on the set-up page.

Must not know what is done with the file afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from clover_gui.catalog.entry import CatalogEntry
from clover_gui.download.download import Download
from clover_gui.download.manager import DownloadManager
from clover_gui.download.progress import Phase, Status
from clover_gui.engine.engine import Engine
from clover_gui.explain.download_words import download_note_text, status_text
from clover_gui.i18n import _, file_size
from clover_gui.pipeline.obtain import ModelOffer, Runnable, download, look_up
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.setup.words import offer_rows


class ModelFetch:
    """One model may be chosen for a download (``entry``), and be offered by the hub (``offer``).
    ``progress`` is called with a text and a fraction (None: no end known)."""

    def __init__(
        self,
        page: SetupPage,
        engine: Engine,
        manager: Callable[[], DownloadManager],
        progress: Callable[[str, float | None], None],
    ) -> None:
        self._page = page
        self._engine = engine
        self._manager = manager
        self._progress = progress
        self._download: Download | None = None
        self.entry: CatalogEntry | None = None
        self.offer: ModelOffer | None = None
        page.pause_requested.connect(self._pause)

    @property
    def is_downloading(self) -> bool:
        return self._download is not None

    @property
    def can_start(self) -> bool:
        """There is room for what is offered, and this engine could run it."""
        offer = self.offer
        return offer is not None and not offer.offer.missing_bytes and offer.runnable is not Runnable.NOT

    def choose(self, entry: CatalogEntry | None) -> None:
        """This model is to be brought; None: a file that is here was chosen instead."""
        self.entry, self.offer = entry, None

    def start_text(self) -> str:
        """What the start button does about the chosen model; "": no model is to be brought."""
        if self.offer is not None:
            return _("Download {size} and start").format(size=file_size(self.offer.source.size_bytes))
        return _("Try again") if self.entry is not None else ""

    def say_asking(self) -> None:
        """The hub is about to be asked."""
        self._progress(_("Asking {host} for the model…").format(host=self._manager().hub.settings.host), None)

    async def look_up(self, entry: CatalogEntry) -> Path | None:
        """Ask what the download would bring, and show that; the file itself if it is here already.

        Raises:
            CloverError: the hub or the engine cannot be asked.
        """
        self.offer = None
        info = await self._engine.describe()
        manager = self._manager()
        offer = await look_up(manager, entry, info.architectures)
        if offer.offer.already_there:
            return offer.offer.path
        self.offer = offer
        self._page.plan_card.show_rows(offer_rows(offer, str(manager.folder)))
        if missing := offer.offer.missing_bytes:
            text = _("{missing} more must be free on this disk.").format(missing=file_size(missing))
            self._page.plan_card.show_notes([(text, True)])
        return None

    async def fetch(self, offer: ModelOffer) -> Path:
        """Bring it; the file is here and checked.

        Raises:
            DownloadError: it could not be brought; what is here already is kept for the next try.
        """
        self._download = download(self._manager(), offer, self._show_download)
        self._page.show_pause(True, paused=False)
        try:
            downloaded = await self._download.run()
        finally:
            self._download = None
            self._page.show_pause(False, paused=False)
        return downloaded.path

    def _pause(self) -> None:
        if self._download is None:
            return
        if self._download.status.phase is Phase.PAUSED:
            self._download.resume()
        else:
            self._download.pause()

    def _show_download(self, status: Status) -> None:
        text = " ".join(filter(None, (status_text(status), download_note_text(status.note))))
        self._progress(text, status.fraction)
        self._page.show_pause(self._download is not None, paused=status.phase is Phase.PAUSED)
