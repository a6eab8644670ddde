"""From "this file of the hub" to a whole file with a receipt in one folder. Blocking; for a thread.

Puts the pieces together: target, space, part, transfer, receipt. ``download.py`` is its face for asyncio.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clover_gui.download.connection import Connection
from clover_gui.download.control import Control, Wish
from clover_gui.download.hub import Hub
from clover_gui.download.hub_file import HubFile
from clover_gui.download.hub_settings import HubSettings, tls_context
from clover_gui.download.part_file import PartFile, part_path
from clover_gui.download.peek import PEEK_BYTES, architecture_in
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.progress import Note, Phase, Reporter, Status
from clover_gui.download.ranges import RangeFetcher
from clover_gui.download.receipt import Receipt, now_utc, read_receipt, write_receipt
from clover_gui.download.retries import Retries
from clover_gui.download.stream import OpenStream, Stream
from clover_gui.download.target import (
    Found,
    Target,
    adopt_beginning,
    choose_target,
    is_the_file,
    other_target,
)
from clover_gui.download.transfer import Transfer
from clover_gui.download.unfinished import list_unfinished, remove_unfinished
from clover_gui.errors import (
    DestinationNotWritable,
    DownloadError,
    DownloadStopped,
    HubCertificateRefused,
    NotEnoughSpace,
    RemoteFileChanged,
    WrongHash,
)

Listener = Callable[[Status], None]
_MOST_CHANGES = 2


@dataclass(frozen=True, slots=True)
class Offer:
    """What a download would mean. ``needed_bytes`` must be free; ``present_bytes`` need not be fetched."""

    source: HubFile
    path: Path
    already_there: bool
    present_bytes: int
    needed_bytes: int
    free_bytes: int

    @property
    def missing_bytes(self) -> int:
        return max(0, self.needed_bytes - self.free_bytes)


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A whole file and its receipt."""

    path: Path
    receipt: Receipt


def free_bytes(folder: Path) -> int:
    """Free room for this person where the folder is, or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


class DownloadManager:
    """Downloads into one flat folder. Any number of threads may use one manager for different files."""

    def __init__(
        self,
        folder: Path,
        settings: HubSettings,
        policy: TransferPolicy | None = None,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        self.folder = folder
        self.hub = Hub(settings)
        self._settings = settings
        self._policy = policy or TransferPolicy()
        self._free = free

    def offer(self, source: HubFile) -> Offer:
        """What is there, and what room is needed. Touches nothing.

        Raises:
            DestinationNotWritable: the disk cannot be asked.
        """
        target = choose_target(self.folder, source)
        part = part_path(self.folder, source)
        try:
            there = target.found is Found.VERIFIED
            present = part.stat().st_size if part.exists() else 0
            needed = 0 if there else self._needed(source, present)
            return Offer(source, target.path, there, present, needed, self._free(self.folder))
        except OSError as error:
            raise DestinationNotWritable(self.folder, error.strerror or str(error)) from error

    def architecture(self, source: HubFile) -> str:
        """What the file itself says that it is, from its first 64 KB at the hub; "" when it does not tell.

        Raises:
            DownloadError: it cannot be reached, or is no model.
        """
        return architecture_in(self.beginning(source, PEEK_BYTES))

    def beginning(self, source: HubFile, amount: int) -> bytes:
        """The file's first bytes at the hub, ``amount`` of them or all there are.

        Raises:
            DownloadError: it cannot be reached.
        """
        ranges = self._ranges(source, Control(), lambda status: None, patient=False)
        return ranges.fetch(0, min(amount, source.size_bytes))

    def fetch(self, source: HubFile, control: Control, listener: Listener) -> Downloaded:
        """Bring the file; comes back when it is whole, checked and named.

        ``listener`` is called in this thread, at most ten times a second within a phase.

        Raises:
            DownloadError: its last status had the phase FAILED and the same error, or STOPPED.
        """
        reporter = Reporter(listener, self._policy.report_interval_s)
        reporter.event(Phase.WAITING, 0, source.size_bytes)
        try:
            for _attempt in range(_MOST_CHANGES):
                try:
                    return self._fetch(source, control, reporter, listener)
                except RemoteFileChanged:
                    newest = self.hub.find(source.repository, source.name)
                    if newest.sha256 == source.sha256:
                        raise
                    reporter.note(Note.CHANGED_ON_HUB)
                    source = newest
            raise RemoteFileChanged("changed again", self._settings.host)
        except DownloadStopped as error:
            reporter.event(Phase.STOPPED, error.kept_bytes, source.size_bytes, error=error)
            raise
        except DownloadError as error:
            present = self._present(source)
            reporter.event(Phase.FAILED, present, source.size_bytes, error=error)
            raise

    def _fetch(self, source: HubFile, control: Control, reporter: Reporter, listener: Listener) -> Downloaded:
        self._prepare_folder()
        target = self._target(source, control, reporter, listener)
        if target.found is Found.VERIFIED:
            reporter.note(Note.ALREADY_THERE)
            return self._done(source, target.path, reporter)
        self._forget_older(source, reporter)
        part = PartFile(self.folder, source, self._policy.chunk_bytes, self._policy.sync_bytes)
        part.open()
        try:
            needed = self._needed(source, part.present_bytes)
            if (free := self._free(self.folder)) < needed:
                raise NotEnoughSpace(self.folder, needed, free)
            Transfer(part, self._opener(source), self._policy, control, reporter, self._free).run()
            part.finish(target.path)
        except WrongHash:
            # Two copies from this server were wrong: there is nothing to go on with.
            part.discard()
            raise
        finally:
            part.close()
        return self._done(source, target.path, reporter)

    def _target(self, source: HubFile, control: Control, reporter: Reporter, listener: Listener) -> Target:
        """Where to put it, after a look at what lies there."""

        def reading(done: int) -> None:
            if control.wish is Wish.STOP:
                raise DownloadStopped(0)
            reporter.progress(Phase.VERIFYING, done, source.size_bytes)

        target = choose_target(self.folder, source)
        try:
            if target.found is Found.SAME_SIZE:
                if is_the_file(target.path, source, reading):
                    self._write_receipt(source, target.path)
                    return Target(target.path, Found.VERIFIED)
                return other_target(self.folder, source)
            if target.found is Found.SHORTER:
                ranges = self._ranges(source, control, listener)
                adopted = adopt_beginning(target.path, source, self._policy.chunk_bytes, ranges.fetch)
                return Target(target.path, Found.NOTHING) if adopted else other_target(self.folder, source)
        except OSError as error:
            raise DestinationNotWritable(target.path, error.strerror or str(error)) from error
        return target

    def _done(self, source: HubFile, path: Path, reporter: Reporter) -> Downloaded:
        receipt = read_receipt(path) or self._write_receipt(source, path)
        if receipt.sha256 != source.sha256:
            receipt = self._write_receipt(source, path)
        reporter.event(Phase.DONE, source.size_bytes, source.size_bytes)
        return Downloaded(path, receipt)

    def _write_receipt(self, source: HubFile, path: Path) -> Receipt:
        blank = Receipt(
            repository=source.repository,
            revision=source.revision,
            name=source.name,
            endpoint=source.endpoint,
            size_bytes=source.size_bytes,
            sha256=source.sha256,
            verified_at=now_utc(),
            file_size_bytes=source.size_bytes,
            file_time_ns=0,
        )
        try:
            receipt = blank.with_stamp(path)
            write_receipt(path, receipt)
        except OSError as error:
            raise DestinationNotWritable(path, error.strerror or str(error)) from error
        return receipt

    def _prepare_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise DestinationNotWritable(self.folder, error.strerror or str(error)) from error

    def _forget_older(self, source: HubFile, reporter: Reporter) -> None:
        """Remove the part of an earlier version of this file: it cannot be gone on with."""
        for old in list_unfinished(self.folder):
            known = old.source
            if known is None or known.sha256 == source.sha256:
                continue
            if (known.repository, known.name) == (source.repository, source.name):
                remove_unfinished(old)
                reporter.note(Note.CHANGED_ON_HUB)

    def _needed(self, source: HubFile, present_bytes: int) -> int:
        return max(0, source.size_bytes - present_bytes) + self._policy.margin_bytes(source.size_bytes)

    def _present(self, source: HubFile) -> int:
        try:
            return part_path(self.folder, source).stat().st_size
        except OSError:
            return 0

    def _opener(self, source: HubFile) -> OpenStream:
        try:
            context = tls_context(self._settings)
        except OSError as error:
            raise HubCertificateRefused(str(error), self._settings.host) from error

        def open_stream(first: int, last: int | None) -> Stream:
            policy = self._policy
            connection = Connection(self._settings, context, policy.connect_timeout_s, policy.stall_timeout_s)
            return Stream(connection, source.url, first, last)

        return open_stream

    def _ranges(
        self, source: HubFile, control: Control, listener: Listener, patient: bool = True
    ) -> RangeFetcher:
        policy = (
            self._policy if patient else dataclasses.replace(self._policy, give_up_after_s=0.0, least_tries=0)
        )

        def tell(error: DownloadError, wait_s: float) -> None:
            listener(Status(Phase.RETRYING, 0, source.size_bytes, error=error, wait_s=wait_s))

        def heed() -> None:
            control.wait_while_paused()
            if control.wish is Wish.STOP:
                raise DownloadStopped(0)

        retries = Retries(policy, control, tell)
        return RangeFetcher(source, self._opener(source), policy, control, retries, heed)
