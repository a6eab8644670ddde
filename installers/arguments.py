"""What a person asks of run.py: pure reading of the command line and of the session's screens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from clover_gui.commands import TERMINAL_COMMANDS

COMMANDS_WITHOUT_ENGINE = ("fetch", "patch", "--version")
"""Those that work on files only: they do not wait for a compiler."""

HELP = """\
python3 installers/run.py [--setup-only] [--data-dir DIR] [arguments of the program]
python3 installers/run.py test [arguments of pytest]

Sets up what is missing (an environment in .venv of this folder, system libraries, the engine, a small demo
model) and starts the program. The second start takes no time. Nothing outside this folder, the cache folder
and the listed system packages is touched; the program itself makes its data folder (chats, settings, models).

  --setup-only   set everything up, the engine too, and stop
  test           set up what the tests need as well; lint, check types and run all tests
  test ARGS      run only pytest, with these arguments
  doctor, plan, chat, fetch, patch, engine
                 the terminal front end, which needs no screen
  --smoke-test   open the window, load, ask, save a picture; on a virtual screen where there is none
  --help         this text, and that of the program once it is set up

Exit codes: 0 done; 1 a check or a test failed; 2 wrong arguments; 3 there is no screen, or packages of the
system are missing and could not be installed; 5 the engine could not be set up; 20 another step of set-up
failed, or this Python is too old; else the program's own.
"""


class Kind(Enum):
    """What run.py is asked for."""

    WINDOW = "window"
    TERMINAL = "terminal"
    SMOKE_TEST = "smoke test"
    TEST = "test"
    HELP = "help"
    SETUP_ONLY = "set-up only"


@dataclass(frozen=True, slots=True)
class Invocation:
    """``arguments`` go to the program, or to pytest for TEST."""

    kind: Kind
    arguments: tuple[str, ...] = ()

    @property
    def needs_engine_first(self) -> bool:
        """The window opens at once and shows the engine's set-up itself; only file commands need none."""
        if self.kind is Kind.TERMINAL:
            return _first_word(self.arguments) not in COMMANDS_WITHOUT_ENGINE
        return self.kind not in (Kind.WINDOW, Kind.HELP)

    @property
    def names_demo(self) -> bool:
        """Whether the demo model is asked for, or everything is."""
        return self.kind in (Kind.TEST, Kind.SETUP_ONLY) or "demo" in self.arguments


def read(arguments: Sequence[str]) -> Invocation:
    """Tell what is asked for. ``--data-dir DIR`` may stand before everything; it is handed on."""
    words = [word for word in arguments if word != "--setup-only"]
    if len(words) < len(arguments):
        return Invocation(Kind.SETUP_ONLY, tuple(words))
    first = _first_word(words)
    if first == "test":
        at = words.index("test", _data_dir_length(words))
        return Invocation(Kind.TEST, tuple(words[at + 1 :]))
    if first in TERMINAL_COMMANDS:
        return Invocation(Kind.TERMINAL, tuple(words))
    if first in ("--help", "-h"):
        return Invocation(Kind.HELP, tuple(words))
    if first == "--version":
        return Invocation(Kind.TERMINAL, tuple(words))
    if "--smoke-test" in words:
        return Invocation(Kind.SMOKE_TEST, tuple(words))
    return Invocation(Kind.WINDOW, tuple(words))


def _data_dir_length(words: Sequence[str]) -> int:
    if words and words[0] == "--data-dir":
        return 2
    return 1 if words and words[0].startswith("--data-dir=") else 0


def _first_word(words: Sequence[str]) -> str:
    rest = words[_data_dir_length(words) :]
    return rest[0] if rest else ""


def has_screen(environ: Mapping[str, str], system: str) -> bool:
    """Whether a window can be shown; on Linux that needs a display server or a Qt platform without one."""
    if system != "linux":
        return True
    return any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
