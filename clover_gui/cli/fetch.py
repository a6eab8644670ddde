"""``clover-gui fetch``: bring a model to this machine, checked, and go on where it stopped.

The result, the file's path, goes to the output; everything else to the error stream. With ``--json`` the
output carries one object on a line: "found", "progress" (at most one a second), "done" or "failed".
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from clover_gui.catalog.index import load_catalog
from clover_gui.cli.failure import refuse
from clover_gui.cli.fetch_printer import JsonPrinter, LinesPrinter, Printer
from clover_gui.cli.screen import Screen
from clover_gui.download.access_token import load_token
from clover_gui.download.control import Control
from clover_gui.download.hub_file import HubFile
from clover_gui.download.hub_settings import hub_settings
from clover_gui.download.manager import Downloaded, DownloadManager
from clover_gui.errors import DownloadError, DownloadStopped
from clover_gui.exit_codes import ExitCode, exit_code_for
from clover_gui.i18n import _, capped
from clover_gui.paths import DataFolder, expanded
from clover_gui.settings import chosen_models_folder

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
            " The access token in HF_TOKEN (or from the window's settings) is only sent to its own server:"
            " that of HF_ENDPOINT, or the usual one"
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
        kept = load_token(data.access_token)
        settings = hub_settings(options.endpoint, _proxy(options.proxy), kept=kept)
        repository, pattern, sha256 = _wanted(options.model, options.pattern)
    except ValueError as error:
        return refuse(screen, str(error), options)
    folder = expanded(options.dest).absolute() if options.dest else chosen_models_folder(data)
    printer = JsonPrinter(screen) if options.json else LinesPrinter(screen)
    manager = DownloadManager(folder, settings)
    try:
        printer.looking(repository, settings.host)
        prefer = "" if options.pattern else _USUAL_QUANTIZATION
        source = manager.hub.find(repository, pattern, sha256=sha256, prefer=prefer)
        if not source.architecture:
            source = dataclasses.replace(source, architecture=manager.architecture(source))
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


def _proxy(text: str) -> str:
    """Raises:
    ValueError: it is no address of a proxy; the text is for people.
    """
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if text and not fits:
        raise ValueError(_("The proxy must be an address such as http://host:port."))
    return text


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


def _fetch(manager: DownloadManager, source: HubFile, printer: Printer) -> Downloaded:
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
