"""What ``clover-gui fetch`` tells on the way: lines for people, JSON objects for programs."""

from __future__ import annotations

import json
import shutil
import time

from clover_gui.cli.failure import error_facts
from clover_gui.cli.screen import Screen
from clover_gui.download.elsewhere import find_copies
from clover_gui.download.manager import Downloaded, Offer
from clover_gui.download.progress import Note, Phase, Status
from clover_gui.errors import DownloadError, DownloadStopped
from clover_gui.explain import explain
from clover_gui.explain.download_words import download_note_text, status_text
from clover_gui.i18n import _, capped, file_size

_JSON_INTERVAL_S = 1.0
_LINE_STEPS = 20


class Printer:
    """What is told on the way; ``status`` is called in the thread of the download."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def looking(self, repository: str, host: str) -> None: ...

    def found(self, offer: Offer) -> None: ...

    def status(self, status: Status) -> None: ...

    def done(self, downloaded: Downloaded) -> None: ...

    def stopped(self, error: DownloadStopped, command: str) -> None: ...

    def failed(self, error: DownloadError) -> None: ...


class LinesPrinter(Printer):
    """For people: one line that changes on a terminal, a line for each twentieth elsewhere."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(screen)
        self._on_terminal = screen.err.isatty()
        self._phase = Phase.WAITING
        self._note = Note.NONE
        self._step = -1

    def looking(self, repository: str, host: str) -> None:
        self.screen.progress(
            _("Looking at {name} on {host}").format(name=capped(repository), host=capped(host))
        )

    def found(self, offer: Offer) -> None:
        source = offer.source
        self.screen.note(
            _("{name}, {size}, from {repository} (version {revision})").format(
                name=capped(source.name, 120),
                size=file_size(source.size_bytes),
                repository=capped(source.repository),
                revision=source.revision[:12],
            )
        )
        if source.architecture:
            self.screen.note(_("Kind of model: {name}").format(name=capped(source.architecture)))
        self.screen.note(_("To: {path}").format(path=capped(str(offer.path), 200)))
        for copy in () if offer.already_there else find_copies(source):
            self.screen.note(
                _("Another program has a file of this name and size: {path}").format(
                    path=capped(str(copy.path), 200)
                )
            )

    def status(self, status: Status) -> None:
        if status.note is not self._note:
            self._note = status.note
            if text := download_note_text(status.note):
                self.screen.note(text)
        if status.phase in (Phase.WAITING, Phase.DONE, Phase.FAILED, Phase.STOPPED):
            return
        if self._on_terminal:
            # A longer line would wrap, and what wraps cannot be replaced.
            self.screen.progress(capped(status_text(status), shutil.get_terminal_size().columns - 1))
            return
        step = int(status.fraction * _LINE_STEPS)
        if status.phase is not self._phase or step != self._step:
            self._phase, self._step = status.phase, step
            self.screen.note(status_text(status))

    def done(self, downloaded: Downloaded) -> None:
        self.screen.note(_("Complete; the checksum is the published one."))
        self.screen.write(f"{downloaded.path}\n")

    def stopped(self, error: DownloadStopped, command: str) -> None:
        text = explain(error)
        self.screen.note(f"{text.title}. {text.sentence}")
        self.screen.note(_("To go on: {command}").format(command=command))


class JsonPrinter(Printer):
    """For programs. Sizes in bytes; keys are only ever added."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(screen)
        self._phase: Phase | None = None
        self._told_at = 0.0

    def found(self, offer: Offer) -> None:
        source = offer.source
        self._write(
            "found",
            repository=source.repository,
            revision=source.revision,
            name=source.name,
            size_bytes=source.size_bytes,
            sha256=source.sha256,
            architecture=source.architecture,
            path=str(offer.path),
            already_there=offer.already_there,
            present_bytes=offer.present_bytes,
            needed_bytes=offer.needed_bytes,
            free_bytes=offer.free_bytes,
        )

    def status(self, status: Status) -> None:
        if status.phase in (Phase.DONE, Phase.FAILED, Phase.STOPPED):
            return
        now = time.monotonic()
        if status.phase is self._phase and now - self._told_at < _JSON_INTERVAL_S:
            return
        self._phase, self._told_at = status.phase, now
        self._write(
            "progress",
            phase=status.phase.value,
            note=status.note.value,
            done_bytes=status.done_bytes,
            total_bytes=status.total_bytes,
            bytes_per_second=round(status.bytes_per_second),
            seconds_left=status.seconds_left,
            wait_s=status.wait_s,
            missing_bytes=status.missing_bytes,
            reason=type(status.error).__name__ if status.error else None,
        )

    def done(self, downloaded: Downloaded) -> None:
        receipt = downloaded.receipt
        self._write(
            "done",
            path=str(downloaded.path),
            sha256=receipt.sha256,
            size_bytes=receipt.size_bytes,
            revision=receipt.revision,
        )

    def stopped(self, error: DownloadStopped, command: str) -> None:
        self._write("failed", kind="DownloadStopped", kept_bytes=error.kept_bytes, go_on=command)

    def failed(self, error: DownloadError) -> None:
        facts = error_facts(error)
        # Beside it in the form that this event had first, for those who read that.
        self._write("failed", error=facts, sentence=facts["text"], **facts)

    def _write(self, event: str, **values: object) -> None:
        self.screen.write(json.dumps({"event": event, **values}, ensure_ascii=False) + "\n")
