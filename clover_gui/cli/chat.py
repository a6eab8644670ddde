"""``clover-gui chat``: a conversation in the terminal, or some prompts for a script.

The chat lives in memory only; the chats of the window are not touched.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys

from clover_gui.catalog.index import resolve_model
from clover_gui.exit_codes import ExitCode, exit_code_for
from clover_gui.cli.screen import Screen
from clover_gui.cli.terminal_chat import TerminalChat
from clover_gui.errors import CloverError, EngineError
from clover_gui.explain import explain
from clover_gui.i18n import _
from clover_gui.paths import DataFolder


def add_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--model", required=True, metavar=_("FILE"), help=_("a GGUF file, or the name of a known model")
    )
    group.add_argument(
        "--prompt",
        action="append",
        metavar=_("TEXT"),
        help=_("what to say; several are several turns of one chat. Without it the chat is interactive"),
    )
    group.add_argument("--no-think", action="store_true", help=_("answer without thinking first"))
    group.add_argument(
        "--greedy", action="store_true", help=_("always take the likeliest word: the same answer every time")
    )
    group.add_argument(
        "--seed", type=int, metavar=_("N"), help=_("seed of the chance, for repeatable answers")
    )
    group.add_argument(
        "--max-tokens",
        type=_positive,
        default=0,
        metavar=_("N"),
        help=_("longest answer, thoughts included; without it until the context is full"),
    )
    group.add_argument(
        "--context", type=_positive, metavar=_("N"), help=_("tokens that the chat may have; else chosen")
    )
    group.add_argument("--json", action="store_true", help=_("write one JSON object on a line for each turn"))


def _positive(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(_("must be greater than 0"))
    return value


def run(options: argparse.Namespace, data: DataFolder, screen: Screen) -> ExitCode:
    """Load the model and chat.

    Raises:
        CloverError: before the first answer, or where a script's turn fails.
        KeyboardInterrupt: Ctrl+C while loading, or twice.
    """
    model_path = resolve_model(options.model, data.models)
    with asyncio.Runner() as runner:
        chat = TerminalChat(options, screen)
        try:
            runner.run(chat.open(model_path, data.models))
            if options.prompt:
                return runner.run(chat.answer_all(options.prompt))
            return _converse(runner, chat, screen)
        except asyncio.CancelledError:  # the second Ctrl+C
            raise KeyboardInterrupt from None
        finally:
            runner.run(chat.close())


def _help_text() -> str:
    return "\n".join(
        [
            _("/new             begin a new chat"),
            _("/think on|off    think before the answer, or not"),
            _("/help            this list"),
            _("/quit            end; Ctrl+D does the same"),
            _("Ctrl+C           stop the answer; a second time: end"),
        ]
    )


def _converse(runner: asyncio.Runner, chat: TerminalChat, screen: Screen) -> ExitCode:
    """Read lines and answer them until the end of the input. An answer that fails does not end the chat."""
    by_hand = sys.stdin.isatty()
    if by_hand:
        screen.note(_("Type a message, or /help."))
    warned = False
    while True:
        try:
            line = _read_line(screen, by_hand=by_hand)
        except KeyboardInterrupt:
            screen.note("")
            if warned or not by_hand:
                return ExitCode.INTERRUPTED
            warned = True
            screen.note(_("Ctrl+C again or /quit ends the chat."))
            continue
        warned = False
        if line is None or line.strip() in ("/quit", "/exit"):
            return ExitCode.OK
        if not line.strip():
            continue
        if line.startswith("/"):
            _command(line.split(), runner, chat, screen)
            continue
        try:
            stopped = runner.run(chat.answer(line))
        except EngineError as error:
            _tell_shortly(screen, error)
            if not by_hand:
                return exit_code_for(error)
            continue
        if stopped and not by_hand:
            return ExitCode.INTERRUPTED


def _read_line(screen: Screen, *, by_hand: bool) -> str | None:
    """The next line without its end, or None at the end of the input."""
    if by_hand and screen.is_terminal:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  line editing and history for input()
        try:
            return input("> ")
        except EOFError:
            screen.write("\n")
            return None
    if by_hand:
        screen.note("> ")
    line = sys.stdin.readline()
    return line.rstrip("\r\n") if line else None


def _command(words: list[str], runner: asyncio.Runner, chat: TerminalChat, screen: Screen) -> None:
    if words[0] == "/new":
        runner.run(chat.new_chat())
        screen.note(_("A new chat."))
    elif words[0] == "/think" and words[1:] in (["on"], ["off"]):
        chat.thinking = words[1] == "on"
        screen.note(_("Thinking is on.") if chat.thinking else _("Thinking is off."))
    elif words[0] == "/help":
        screen.note(_help_text())
    else:
        screen.note(_("Unknown command. /help lists what there is."))


def _tell_shortly(screen: Screen, error: CloverError) -> None:
    text = explain(error)
    screen.note(f"{text.sentence} {text.next_step}")
