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
from clover_gui.errors import DownloadError
from clover_gui.explain.download_words import download_note_text, status_text
from clover_gui.i18n import _, file_size
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.ahead import known_shape, shape_at_hub
from clover_gui.pipeline.obtain import ModelOffer, Runnable, download, look_up
from clover_gui.ui.setup.setup_display import SetupDisplay
from clover_gui.ui.setup.setup_page import SetupPage
from clover_gui.ui.setup.words import ahead_note, known_rows, offer_rows, offline_note


class ModelFetch:
    """One model may be chosen for a download (``entry``), and be offered by the hub (``offer``). ``shape`` is
    what is known of its file, to plan ahead with; None where nothing is. ``asked_in_vain``: the hub gave no
    answer.
    ``progress`` is called with a text and a fraction (None: no end known)."""

    def __init__(
        self,
        page: SetupPage,
        engine: Engine,
        manager: Callable[[], DownloadManager],
        display: SetupDisplay,
        progress: Callable[[str, float | None], None],
    ) -> None:
        self._page = page
        self._engine = engine
        self._manager = manager
        self._display = display
        self._progress = progress
        self._download: Download | None = None
        self.entry: CatalogEntry | None = None
        self.offer: ModelOffer | None = None
        self.shape: ModelFile | None = None
        self.asked_in_vain = False
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
        self.entry, self.offer, self.asked_in_vain = entry, None, False
        self.shape = known_shape(entry) if entry is not None else None

    def start_text(self) -> str:
        """What the start button does about the chosen model; "": no model is to be brought."""
        if self.offer is not None:
            return _("Download {size} and start").format(size=file_size(self.offer.source.size_bytes))
        return _("Try again") if self.entry is not None else ""

    def show_known(self) -> None:
        """What is known before anybody was asked."""
        entry = self.entry
        if entry is not None and self.shape is not None:
            self._display.show_away(known_rows(entry, self.shape), [(ahead_note(known=True), False)])

    def say_asking(self) -> None:
        """The hub is about to be asked."""
        self._progress(_("Asking {host} for the model…").format(host=self._manager().hub.settings.host), None)

    async def look_up(self, entry: CatalogEntry) -> Path | None:
        """Ask what the download would bring, and show that; the file itself if it is here already. Where its
        shape was not known, its header is read at the hub.

        Raises:
            CloverError: the hub or the engine cannot be asked.
        """
        self.offer, self.asked_in_vain = None, False
        info = await self._engine.describe()
        manager = self._manager()
        try:
            offer = await look_up(manager, entry, info.architectures)
        except DownloadError:
            self.asked_in_vain = True
            if self.shape is not None:
                self._display.show_away(known_rows(entry, self.shape), [(offline_note(), True)])
            raise
        if offer.offer.already_there:
            return offer.offer.path
        self.offer = offer
        was_known = self.shape is not None
        if self.shape is None:
            self.shape = await shape_at_hub(manager, offer.source)
        notes = [(ahead_note(known=was_known), False)] if self.shape is not None else []
        if missing := offer.offer.missing_bytes:
            text = _("{missing} more must be free on this disk.").format(missing=file_size(missing))
            notes.append((text, True))
        self._display.show_away(offer_rows(offer, str(manager.folder)), notes)
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
