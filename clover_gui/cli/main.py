"""The second front end: the same pipeline in a terminal, without Qt."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from clover_gui import __version__
from clover_gui.cli import chat, doctor
from clover_gui.exit_codes import ExitCode, exit_code_for, exit_codes_text
from clover_gui.cli.screen import Screen, give_up_output
from clover_gui.errors import CloverError
from clover_gui.explain import explain
from clover_gui.i18n import _
from clover_gui.logs import start_logging
from clover_gui.paths import DataFolder


def main(arguments: Sequence[str], data: DataFolder) -> int:
    """Run ``doctor`` or ``chat``; returns an exit code (see ``exit_codes.py``)."""
    screen = Screen()
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as end:  # argparse has written help or the mistake
        return int(end.code or 0)
    # The data folder is not created for a look at the machine: the log goes where logs already go.
    start_logging(data.logs if data.root.is_dir() else None, "terminal", quiet=True)
    try:
        code = (
            doctor.run(options, data, screen)
            if options.command == "doctor"
            else chat.run(options, data, screen)
        )
        sys.stdout.flush()
        return int(code)
    except KeyboardInterrupt:
        screen.note("")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        give_up_output()
        return ExitCode.BROKEN_PIPE
    except CloverError as error:
        tell(screen, error)
        return exit_code_for(error)


def tell(screen: Screen, error: BaseException) -> None:
    """An error for people: what happened, what to do, the technical words below."""
    text = explain(error)
    screen.note(f"{text.title}. {text.sentence}")
    screen.note(text.next_step)
    for line in text.detail.splitlines():
        screen.note(f"    {line}")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps line breaks, and says "Usage" in the person's language."""

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        super().add_usage(usage, actions, groups, _("Usage: ") if prefix is None else prefix)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clover-gui",
        formatter_class=_Formatter,
        description=_("Chat with a local model in the terminal."),
        epilog=exit_codes_text(),
        add_help=False,
    )
    general = parser.add_argument_group(_("General"))
    general.add_argument("-h", "--help", action="help", help=_("show this text"))
    general.add_argument("--version", action="version", version=f"clover-gui {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, title=_("Commands"), metavar=_("COMMAND"))
    for name, summary, add_options in (
        ("doctor", _("say what this machine is and what the engine can use"), doctor.add_options),
        ("chat", _("chat with a model"), chat.add_options),
    ):
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=exit_codes_text(),
            formatter_class=_Formatter,
            add_help=False,
        )
        group = command.add_argument_group(_("Options"))
        group.add_argument("-h", "--help", action="help", help=_("show this text"))
        add_options(group)
    return parser
