"""``clover-gui fetch``: bring a model to this machine, checked, and go on where it stopped.

The result, the file's path, goes to the output; everything else to the error stream. With ``--json`` the
output carries one object on a line: "found", "progress" (at most one a second), "done" or "failed".
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

from clover_gui.catalog.index import load_catalog
from clover_gui.cli.screen import Screen
from clover_gui.download.control import Control
from clover_gui.download.elsewhere import find_copies
from clover_gui.download.hub_file import HubFile
from clover_gui.download.hub_settings import hub_settings
from clover_gui.download.manager import Downloaded, DownloadManager, Offer
from clover_gui.download.progress import Note, Phase, Status
from clover_gui.errors import DownloadError, DownloadStopped
from clover_gui.exit_codes import ExitCode, exit_code_for
from clover_gui.explain import explain
from clover_gui.explain.download_words import download_note_text, status_text
from clover_gui.i18n import _, capped, size
from clover_gui.paths import DataFolder

_JSON_INTERVAL_S = 1.0
_LINE_STEPS = 20
# Taken where the person names no file and the repository has several: the common middle of size and quality.
_USUAL_QUANTIZATION = "q4_k_m"


def add_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "model",
        nargs="?",
        default="clover",
        metavar=_("MODEL"),
        help=_("a known model ({names}) or a repository such as OWNER/NAME; without it: clover").format(
            names=", ".join(entry.id for entry in load_catalog().entries)
        ),
    )
    group.add_argument(
        "pattern",
        nargs="?",
        default="",
        metavar=_("PATTERN"),
        help=_("which file of the repository: its name, a piece of it (Q4_K_M), or a pattern with *"),
    )
    group.add_argument(
        "--dest", type=Path, metavar=_("FOLDER"), help=_("where to put it; else the program's own folder")
    )
    group.add_argument(
        "--endpoint",
        default="",
        metavar=_("ADDRESS"),
        help=_(
            "another server with the same files (a mirror); else HF_ENDPOINT, else the usual one."
            " The access token in HF_TOKEN is only sent to the server of HF_ENDPOINT or the usual one"
        ),
    )
    group.add_argument(
        "--proxy", default="", metavar=_("ADDRESS"), help=_("http://host:port; else the system's")
    )
    group.add_argument(
        "--json", action="store_true", help=_("write one JSON object on a line for each event")
    )


def run(options: argparse.Namespace, data: DataFolder, screen: Screen) -> ExitCode:
    """Fetch one model; an exit code (see ``exit_codes.py``).

    Raises:
        DownloadError: why not. With ``--json`` it has been told on the output already.
    """
    try:
        settings = hub_settings(options.endpoint, options.proxy)
        repository, pattern, sha256 = _wanted(options.model, options.pattern)
    except ValueError as error:
        screen.note(str(error))
        return ExitCode.USAGE
    folder = options.dest.expanduser().absolute() if options.dest else data.models
    printer = _Json(screen) if options.json else _Lines(screen)
    manager = DownloadManager(folder, settings)
    try:
        printer.looking(repository, settings.host)
        prefer = "" if options.pattern else _USUAL_QUANTIZATION
        source = manager.hub.find(repository, pattern, sha256=sha256, prefer=prefer)
        printer.found(manager.offer(source))
        downloaded = _fetch(manager, source, printer)
    except DownloadStopped as error:
        printer.stopped(error, _same_again(options))
        return ExitCode.INTERRUPTED
    except DownloadError as error:
        if not options.json:
            raise
        printer.failed(error)
        return exit_code_for(error)
    printer.done(downloaded)
    return ExitCode.OK


def _wanted(model: str, pattern: str) -> tuple[str, str, str]:
    """Repository, pattern and known checksum of what was asked for.

    Raises:
        ValueError: neither a known model nor a repository; the text is for people.
    """
    catalog = load_catalog()
    if (entry := catalog.entry(model)) is not None:
        return entry.repository, pattern or entry.file_pattern, "" if pattern else entry.sha256
    owner, _slash, name = model.partition("/")
    if not owner or not name or "/" in name:
        raise ValueError(
            _("{name} is no known model. Known are {names}; or name a repository such as OWNER/NAME.").format(
                name=capped(model), names=", ".join(entry.id for entry in catalog.entries)
            )
        )
    return model, pattern or "*.gguf", ""


def _fetch(manager: DownloadManager, source: HubFile, printer: _Printer) -> Downloaded:
    """Run the download in a thread, so that Ctrl+C is heard at once on every system."""
    control = Control()
    finished = threading.Event()
    result: list[Downloaded | BaseException] = []

    def work() -> None:
        try:
            result.append(manager.fetch(source, control, printer.status))
        except BaseException as error:  # raised again in the main thread
            result.append(error)
        finished.set()

    threading.Thread(target=work, name="download", daemon=True).start()
    try:
        while not finished.wait(0.2):  # in steps: Windows heeds Ctrl+C only between them
            pass
    except KeyboardInterrupt:
        control.stop()
        finished.wait()
    outcome = result[0]
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _same_again(options: argparse.Namespace) -> str:
    """The command that goes on with this download."""
    words = ["clover-gui", "fetch", options.model]
    words += [options.pattern] if options.pattern else []
    words += ["--dest", str(options.dest)] if options.dest else []
    words += ["--endpoint", options.endpoint] if options.endpoint else []
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


class _Printer:
    """What is told on the way; ``status`` is called in the thread of the download."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def looking(self, repository: str, host: str) -> None: ...

    def found(self, offer: Offer) -> None: ...

    def status(self, status: Status) -> None: ...

    def done(self, downloaded: Downloaded) -> None: ...

    def stopped(self, error: DownloadStopped, command: str) -> None: ...

    def failed(self, error: DownloadError) -> None: ...


class _Lines(_Printer):
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
                size=size(source.size_bytes),
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
            self.screen.progress(status_text(status))
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


class _Json(_Printer):
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
        text = explain(error)
        self._write(
            "failed",
            kind=type(error).__name__,
            sentence=text.sentence,
            next_step=text.next_step,
            detail=text.detail,
        )

    def _write(self, event: str, **values: object) -> None:
        self.screen.write(json.dumps({"event": event, **values}, ensure_ascii=False) + "\n")
