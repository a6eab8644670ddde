"""``clover-gui chat``: a conversation in the terminal, or some prompts for a script.

The chat lives in memory only; the chats of the window are not touched.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from dataclasses import replace

from clover_gui.catalog.index import resolve_model
from clover_gui.chat.presets import Preset, Presets, load_presets
from clover_gui.cli.engine_choice import engine_client
from clover_gui.cli.failure import refuse
from clover_gui.cli.screen import Screen
from clover_gui.cli.terminal_chat import TerminalChat, no_switch_text
from clover_gui.errors import CloverError, EngineError
from clover_gui.exit_codes import ExitCode, exit_code_for
from clover_gui.explain import explain
from clover_gui.explain.answers import overflow_text
from clover_gui.i18n import _, capped
from clover_gui.paths import DataFolder
from clover_gui.pipeline.prepare import Services
from clover_gui.pipeline.wishes import wishes_of
from clover_gui.settings import load as load_settings
from clover_gui.settings import models_folder

_GO_ON = "/continue"


def add_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--model", required=True, metavar=_("FILE"), help=_("a GGUF file, or the name of a known model")
    )
    group.add_argument(
        "--prompt",
        action="append",
        type=_not_blank,
        metavar=_("TEXT"),
        help=_("what to say; several are several turns of one chat. Without it the chat is interactive"),
    )
    group.add_argument("--system", metavar=_("TEXT"), help=_("what the model is told before everything else"))
    group.add_argument(
        "--preset",
        metavar=_("NAME"),
        help=_("instructions and settings that were saved in the window under this name"),
    )
    group.add_argument("--no-think", action="store_true", help=_("answer without thinking first"))
    group.add_argument(
        "--thinking-budget",
        type=_not_negative,
        metavar=_("N"),
        help=_("tokens after which thoughts are brought to their end (default 4096; 0: no limit)"),
    )
    group.add_argument(
        "--precise",
        action="store_true",
        help=_("the model's values for precise work, as code, if it has any"),
    )
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
        "--stop",
        action="append",
        metavar=_("TEXT"),
        help=_("end the answer where this text would come; may be given several times"),
    )
    group.add_argument(
        "--json-answer", action="store_true", help=_("the answer is one JSON object or list, nothing else")
    )
    group.add_argument(
        "--context",
        type=_positive,
        metavar=_("N"),
        help=_("tokens that the chat may have; else as in the settings, or chosen"),
    )
    group.add_argument("--json", action="store_true", help=_("write one JSON object on a line for each turn"))


def _not_blank(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(_("must not be empty"))
    return text


def _positive(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(_("must be greater than 0"))
    return value


def _not_negative(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(_("must not be negative"))
    return value


def run(options: argparse.Namespace, data: DataFolder, screen: Screen) -> ExitCode:
    """Load the model and chat.

    Raises:
        CloverError: before the first answer, or where a script's turn fails.
        KeyboardInterrupt: Ctrl+C while loading, or twice.
    """
    settings = load_settings(data.settings, keep_broken=True).settings
    folder = models_folder(settings, data)
    model_path = resolve_model(options.model, folder)
    preset = Preset()
    if options.preset is not None:
        presets, _aside = load_presets(data.presets)
        found = presets.named(options.preset)
        if found is None:
            return refuse(screen, _unknown_preset_text(options.preset, presets), options)
        preset = found
    wishes = wishes_of(settings)
    if options.context is not None:
        wishes = replace(wishes, context=options.context)
    with asyncio.Runner() as runner:
        services = Services.for_folder(data.root, lambda: engine_client(data, screen))
        chat = TerminalChat(options, screen, engine_client(data, screen), services, preset)
        try:
            runner.run(chat.open(model_path, folder, wishes))
            if options.prompt:
                return runner.run(chat.answer_all(options.prompt))
            return _converse(runner, chat, screen)
        except asyncio.CancelledError:  # the second Ctrl+C
            raise KeyboardInterrupt from None
        finally:
            runner.run(chat.close())


def _unknown_preset_text(name: str, presets: Presets) -> str:
    text = _("There is no preset {name}.").format(name=capped(name))
    if not presets.entries:
        return text
    names = ", ".join(preset.name for preset in presets.entries)
    return f"{text} " + _("There are: {names}").format(names=capped(names, 400))


def _help_text() -> str:
    return "\n".join(
        [
            _("/new             begin a new chat"),
            _("/continue        go on with an answer that was stopped or cut"),
            _("/think on|off    think before the answer, or not"),
            _("/system TEXT     what the model is told before everything else; without a text: nothing"),
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
        if line.startswith("/") and line.strip() != _GO_ON:
            _command(line, runner, chat, screen)
            continue
        try:
            stopped = _answer(line, runner, chat, screen, by_hand=by_hand)
        except EngineError as error:
            _tell_shortly(screen, error)
            if not by_hand:
                return exit_code_for(error)
            continue
        if stopped and not by_hand:
            return ExitCode.INTERRUPTED


def _answer(line: str, runner: asyncio.Runner, chat: TerminalChat, screen: Screen, *, by_hand: bool) -> bool:
    """Answer a message, or go on with the last answer. Whether it was stopped with Ctrl+C."""
    if line.strip() == _GO_ON:
        if runner.run(chat.can_go_on()):
            return runner.run(chat.go_on())
        screen.note(_("There is no answer to go on with."))
        return False
    drop_oldest = _turns_to_drop(line, runner, chat, screen) if by_hand else 0
    return drop_oldest is not None and runner.run(chat.answer(line, drop_oldest=drop_oldest))


def _turns_to_drop(line: str, runner: asyncio.Runner, chat: TerminalChat, screen: Screen) -> int | None:
    """How many of the oldest turns to leave out so that the message fits; None: it shall not be sent.

    Nothing is left out without being asked.
    """
    check = runner.run(chat.check(line))
    if check.fits:
        return 0
    screen.note(overflow_text(check))
    for turn in check.droppable:
        screen.note("  - " + capped(turn[0].text))
    choices = [_("n: new chat with this message"), _("c: cancel")]
    if check.prompt_tokens < check.context_tokens:
        choices.insert(0, _("s: send it all the same (the answer may be cut)"))
    if check.droppable:
        choices.insert(0, _("d: leave these out from now on, and send"))
    screen.note("; ".join(choices))
    try:
        answer = (_read_line(screen, by_hand=True) or "").strip().lower()
    except KeyboardInterrupt:
        answer = ""
    if answer == "d" and check.droppable:
        return len(check.droppable)
    if answer == "s":
        return 0
    if answer == "n":
        runner.run(chat.new_chat())
        return 0
    screen.note(_("Not sent."))
    return None


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


def _command(line: str, runner: asyncio.Runner, chat: TerminalChat, screen: Screen) -> None:
    words = line.split()
    if words[0] == "/new":
        runner.run(chat.new_chat())
        screen.note(_("A new chat."))
    elif words[0] == "/think":
        _think(words[1:], chat, screen)
    elif words[0] == "/system":
        text = line.removeprefix("/system").strip()
        runner.run(chat.set_system_prompt(text))
        screen.note(
            _("The model is told this from now on.") if text else _("The model is told nothing more.")
        )
    elif words[0] == "/help":
        screen.note(_help_text())
    else:
        screen.note(_("Unknown command. /help lists what there is."))


def _think(words: list[str], chat: TerminalChat, screen: Screen) -> None:
    if words not in (["on"], ["off"]):
        screen.note(_("/think on|off    think before the answer, or not"))
    elif not chat.can_switch_thinking:
        screen.note(no_switch_text())
    else:
        chat.thinking = words == ["on"]
        screen.note(_("Thinking is on.") if chat.thinking else _("Thinking is off."))


def _tell_shortly(screen: Screen, error: CloverError) -> None:
    screen.note(explain(error).text)
