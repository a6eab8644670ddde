"""The second front end: the same pipeline in a terminal, without Qt."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clover_gui import __version__
from clover_gui.cli.argument_parser import ArgumentParser, RawFormatter
from clover_gui.cli.failure import tell
from clover_gui.cli.screen import OutputFailed, Screen, give_up_output, give_up_standard_output
from clover_gui.commands import TERMINAL_COMMANDS
from clover_gui.errors import CloverError
from clover_gui.exit_codes import ExitCode, exit_code_for, exit_codes_text
from clover_gui.i18n import _, capped
from clover_gui.logs import start_logging
from clover_gui.paths import DataFolder


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    add_options: Callable[[argparse._ArgumentGroup], None]
    run: Callable[[argparse.Namespace, DataFolder, Screen], int]


def main(arguments: Sequence[str], data: DataFolder) -> int:
    """Run one of the commands; returns an exit code (see ``exit_codes.py``)."""
    if sys.stdout is None:  # closed by whoever started the program
        if sys.stderr is not None:
            print(_("The output is closed: there is nowhere to write to."), file=sys.stderr)
        return ExitCode.BROKEN_PIPE
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  to the end of the process
    screen = Screen()
    try:
        code = _run(arguments, data, screen)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        give_up_output()
        return ExitCode.BROKEN_PIPE
    except (OutputFailed, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        give_up_standard_output()
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        screen.note(_("The output cannot be written: {reason}.").format(reason=capped(reason)))
        return ExitCode.NO_ROOM


def _run(arguments: Sequence[str], data: DataFolder, screen: Screen) -> int:
    # Only the command that is asked for is imported: each needs other parts of the program.
    command = _load(arguments[0]) if arguments and arguments[0] in TERMINAL_COMMANDS else None
    try:
        options = _parser(command).parse_args(arguments)
    except SystemExit as end:  # argparse has written help or the mistake
        return int(end.code or 0)
    # The data folder is not created for a look at the machine: the log goes where logs already go.
    start_logging(data.logs if data.root.is_dir() else None, "terminal", quiet=True)
    try:
        assert command is not None  # argparse has refused anything else
        return int(command.run(options, data, screen))
    except KeyboardInterrupt:
        screen.note("")
        return ExitCode.INTERRUPTED
    except CloverError as error:
        tell(screen, error, options)
        return exit_code_for(error)


def _parser(command: _Command | None) -> ArgumentParser:
    parser = ArgumentParser(
        prog="clover-gui",
        formatter_class=RawFormatter,
        description=_("Chat with a local model in the terminal."),
        epilog=exit_codes_text(),
        add_help=False,
    )
    general = parser.add_argument_group(_("General"))
    general.add_argument("-h", "--help", action="help", help=_("show this text"))
    general.add_argument(
        "--version", action="version", version=f"clover-gui {__version__}", help=_("say the version")
    )
    commands = parser.add_subparsers(dest="command", required=True, title=_("Commands"), metavar=_("COMMAND"))
    for name, summary in _summaries().items():
        options = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=_exit_codes_of(name),
            formatter_class=RawFormatter,
            add_help=False,
        )
        group = options.add_argument_group(_("Options"))
        group.add_argument("-h", "--help", action="help", help=_("show this text"))
        if command is not None and command.name == name:
            command.add_options(group)
    return parser


def _exit_codes_of(name: str) -> str:
    text = exit_codes_text()
    if name == "patch":
        text += "\n" + _("With --check, 3 means: needs repair, and 4: cannot be repaired.")
    return text


def _summaries() -> dict[str, str]:
    return {
        "doctor": _("say what this machine is and what the engine can use"),
        "plan": _("say what of a model fits where, on this machine or on another one"),
        "chat": _("chat with a model"),
        "fetch": _("download a model, or go on with a download"),
        "patch": _("repair a model file so that the engine can run it, or undo that"),
        "engine": _("list, install, choose or remove engines for this machine's graphics card"),
    }


def _load(name: str) -> _Command:
    module = importlib.import_module(f"clover_gui.cli.{name}")
    return _Command(name, module.add_options, module.run)
