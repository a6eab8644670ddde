"""The window's start, in this order: arguments, checks before Qt, Qt, one instance, window, then the rest.

The first picture is painted before the engine, the drivers or the chat database are touched.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from clover_gui import __version__, system_libraries
from clover_gui.cli.argument_parser import ArgumentParser, Formatter
from clover_gui.commands import TERMINAL_COMMANDS
from clover_gui.exit_codes import ExitCode
from clover_gui.i18n import _
from clover_gui.paths import DataFolder, data_folder


@dataclass(frozen=True, slots=True)
class WindowArguments:
    """``model`` is a file or a name to load at once; ``smoke`` asks for the test with the other three."""

    model: str
    smoke: bool
    prompt: str
    screenshot: Path | None
    timeout_s: float


def parse_arguments(arguments: list[str]) -> WindowArguments:
    """Read the window's own arguments. Exits with code 2 and a usage line on anything unknown."""
    parser = ArgumentParser(
        prog="clover-gui",
        description=_("Chat with a local model. Without a command the window opens."),
        epilog=_(
            "Commands for the terminal, which need no window: {commands}. "
            "clover-gui COMMAND --help says more of each."
        ).format(commands=", ".join(TERMINAL_COMMANDS)),
        formatter_class=Formatter,
        add_help=False,
    )
    group = parser.add_argument_group(_("Options"))
    group.add_argument("-h", "--help", action="help", help=_("show this text"))
    group.add_argument(
        "--version", action="version", version=f"clover-gui {__version__}", help=_("say the version")
    )
    group.add_argument(
        "--data-dir", metavar=_("FOLDER"), help=_("keep chats, settings and models in this folder")
    )
    group.add_argument("file", nargs="?", default="", metavar=_("FILE"), help=_("a GGUF file to open"))
    group.add_argument(
        "--model", default="", metavar=_("FILE"), help=_("a GGUF file, or a name such as demo")
    )
    group.add_argument(
        "--smoke-test",
        action="store_true",
        help=_("open the window, load, ask, wait for the answer, and end"),
    )
    group.add_argument(
        "--prompt",
        default="What is the capital of Australia?",
        metavar=_("TEXT"),
        help=_("what --smoke-test asks"),
    )
    group.add_argument(
        "--screenshot", type=Path, metavar=_("FILE"), help=_("where --smoke-test saves its picture")
    )
    group.add_argument("--timeout", type=float, default=1800.0, metavar="SECONDS", help=argparse.SUPPRESS)
    found = parser.parse_args(arguments)
    if found.file and found.model:
        parser.error(_("name the model once: as FILE or with --model"))
    model = found.model or found.file or ("demo" if found.smoke_test else "")
    return WindowArguments(model, found.smoke_test, found.prompt, found.screenshot, found.timeout)


def no_display() -> bool:
    """Whether this is a system where windows need a display server and none is named."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return False
    return not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def unreachable_display() -> str:
    """Why the X screen that is named cannot be opened; "" when it can, or when that is Qt's matter.

    Qt ends the process without a useful word in this case.
    """
    platform = os.environ.get("QT_QPA_PLATFORM", "xcb").partition(":")[0]
    display = os.environ.get("DISPLAY", "")
    if not sys.platform.startswith("linux") or platform != "xcb" or not display:
        return ""
    if os.environ.get("WAYLAND_DISPLAY"):
        return ""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return ""  # said with the other missing libraries
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    failed = xcb.xcb_connection_has_error(connection) != 0
    xcb.xcb_disconnect(connection)
    if not failed:
        return ""
    return _(
        "The screen {display} cannot be opened. Check DISPLAY, or use: clover-gui chat --model demo"
    ).format(display=display)


def main(arguments: list[str], data: DataFolder) -> int:
    """Run the window; the exit code of the program."""
    chosen = parse_arguments(arguments)
    if no_display():
        print(
            _(
                "There is no screen to open a window on. "
                "The terminal front end works without one: clover-gui chat --model demo"
            ),
            file=sys.stderr,
        )
        return ExitCode.NO_DISPLAY
    if problem := unreachable_display():
        print(problem, file=sys.stderr)
        return ExitCode.NO_DISPLAY
    if missing := system_libraries.missing_for_window(os.environ):
        print(system_libraries.explain_missing(missing), file=sys.stderr)
        return ExitCode.NO_DISPLAY
    from clover_gui.ui.application import run_window

    if not chosen.smoke:
        return run_window(chosen.model, data)
    from clover_gui.ui.smoke_test import SmokeTest, run_smoke_test

    model = _model_of_smoke_test(chosen.model, data)
    if isinstance(model, ExitCode):
        return model
    test = SmokeTest(chosen.prompt, chosen.screenshot, chosen.timeout_s)
    with tempfile.TemporaryDirectory(prefix="clover-smoke-") as folder:
        # Not among the person's own chats, unless a folder was named.
        place = data if data != data_folder() else DataFolder(Path(folder))
        return run_window(str(model), place, partial(run_smoke_test, test))


def _model_of_smoke_test(name: str, data: DataFolder) -> Path | ExitCode:
    """The file, looked for where the person's models are; the exit code when there is none.

    An installed program brings no model, and nobody would press the button that downloads one.
    """
    from clover_gui import settings
    from clover_gui.catalog.index import resolve_model
    from clover_gui.errors import ModelFileMissing
    from clover_gui.explain import explain

    folder = settings.models_folder(settings.load(data.settings).settings, data)
    try:
        return resolve_model(name, folder)
    except ModelFileMissing as error:
        words = explain(error)
        print(words.sentence, words.next_step, file=sys.stderr)
        return ExitCode.MODEL_FILE
