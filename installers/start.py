"""Set up what is missing, then start: the order of things behind run.py."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from installers import arguments, backend, checks, engine, locks, packages, places, wheel
from installers.arguments import Invocation, Kind
from installers.console import Console
from installers.environment import DEMO, PROGRAM, TESTS, Environment
from installers.events import SetUpError, plain_duration
from installers.screen import virtual_screen

# Where the program has a code for the same thing it is the same number (clover_gui/exit_codes.py).
EXIT_NO_SCREEN = 3
EXIT_PACKAGES_MISSING = 3
EXIT_NO_ENGINE = 5
EXIT_SET_UP = 20
EXIT_INTERRUPTED = 130

NO_SCREEN = (
    "There is no screen here to open a window on. The terminal front end needs none: "
    "python3 installers/run.py chat --model demo"
)


class EngineFailed(Exception):
    """engine.py has told the reason already."""


def main(words: Sequence[str]) -> int:
    """Run; the exit codes are listed in ``arguments.HELP``."""
    console = Console()
    invocation = arguments.read(words)
    if invocation.kind is Kind.WINDOW and not arguments.has_screen(os.environ, sys.platform):
        console.say(NO_SCREEN)
        return EXIT_NO_SCREEN
    environment = Environment(places.ROOT, console, places.cache_folder() / "logs" / "set-up.log")
    if invocation.kind is Kind.HELP:
        return show_help(environment, invocation)
    signal.signal(signal.SIGTERM, _end_on_terminate)
    try:
        set_up(invocation, environment, console)
    except packages.PackagesMissing as error:
        tell(error, console)
        return EXIT_PACKAGES_MISSING
    except SetUpError as error:
        tell(error, console)
        return EXIT_SET_UP
    except EngineFailed:
        return EXIT_NO_ENGINE
    except OSError as error:
        console.say(f"Set-up failed: {error}.")
        return EXIT_SET_UP
    except KeyboardInterrupt:
        console.say("Set-up was interrupted. The next start takes it up again.")
        return EXIT_INTERRUPTED
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return start(invocation, environment, console)


def set_up(invocation: Invocation, environment: Environment, console: Console) -> None:
    """Bring everything that this invocation needs and that is not there yet.

    Raises:
        SetUpError: a step failed.
        EngineFailed: the engine could not be set up.
    """
    started_at = time.monotonic()
    wanted = TESTS if invocation.kind is Kind.TEST else PROGRAM
    log = places.cache_folder() / "logs" / "set-up.log"
    ready = environment.is_ready(wanted)
    needs = packages.missing(
        invocation,
        os.environ,
        environment_is_ready=ready,
        engine_must_be_built=_engine_must_be_built(environment.folder),
    )
    demo_is_due = environment.is_new or invocation.names_demo
    engine_is_due = invocation.needs_engine_first and not engine.is_recorded(environment.folder)
    if ready and not needs.required and not engine_is_due and (environment.is_ready(DEMO) or not demo_is_due):
        return
    with locks.exclusive(environment.root / ".clover-set-up.lock", lambda: _say_waiting(console)):
        start_log(log)
        packages.install(needs, console, log)
        changed = not environment.is_ready(wanted)
        if changed:
            environment.prepare(wanted)
        if demo_is_due and not environment.is_ready(DEMO):
            environment.bring_demo()
        if changed:
            console.say(f"Set up in {plain_duration(time.monotonic() - started_at)}.")
    if invocation.needs_engine_first and not engine.is_recorded(environment.folder):
        _set_up_engine(environment, invocation)


def start(invocation: Invocation, environment: Environment, console: Console) -> int:
    """Start what was asked for; its exit code."""
    if invocation.kind is Kind.SETUP_ONLY:
        console.say("Everything is set up. Start the program with: python3 installers/run.py")
        return 0
    if invocation.kind is Kind.TEST:
        return checks.run(environment.python, environment.root, invocation.arguments, console)
    # -P: a file in the folder that somebody stands in must not be taken for a part of the program.
    command = [str(environment.python), "-P", "-m", "clover_gui", *invocation.arguments]
    if invocation.kind is Kind.SMOKE_TEST and not arguments.has_screen(os.environ, sys.platform):
        try:
            with virtual_screen() as display:
                return _run(command, {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"})
        except SetUpError as error:
            tell(error, console)
            return EXIT_SET_UP
    if sys.platform != "win32":
        # Not one process more than needed, and signals reach the program itself.
        os.execv(command[0], command)
    return _run(command, os.environ)


def show_help(environment: Environment, invocation: Invocation) -> int:
    """Our own options, and the program's where it is set up."""
    print(arguments.HELP)
    if not environment.is_ready(PROGRAM):
        print("The program's own options are shown here once it is set up.")
        return 0
    sys.stdout.flush()
    return _run([str(environment.python), "-P", "-m", "clover_gui", *invocation.arguments], os.environ)


def tell(error: SetUpError, console: Console) -> None:
    """Show a failure: what, what next, where the log is."""
    console.say(error.reason)
    if error.next_step:
        console.say(error.next_step)
    if error.log:
        console.say(f"The full log is in {error.log}.")


def start_log(log: Path) -> None:
    """Begin the log of this set-up anew; without a writable cache folder set-up cannot go on.

    Raises:
        SetUpError: the log cannot be written.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")
    except OSError as error:
        raise SetUpError(
            f"The cache folder cannot be written: {error}.",
            "Give the right to write there, or name another folder in CLOVER_CACHE_DIR.",
        ) from error


def _engine_must_be_built(environment: Path) -> bool:
    """Whether a compiler is needed: no engine yet, none kept, none published that can be reached."""
    if engine.is_recorded(environment):
        return False
    facts = backend.look()
    best = backend.plan(facts).ways
    cache = places.cache_folder()
    if any(wheel.find_cached(wheel.key_folder(cache, facts, way.backend)) for way in best):
        return False
    if facts.has_compiler:
        return True
    address = wheel.index_address(os.environ)
    published = [way.index for way in best if way.source == "published"]
    return not (address and any(wheel.is_published(f"{address}/{index}", facts) for index in published))


def _set_up_engine(environment: Environment, invocation: Invocation) -> None:
    # As a child, because it installs into the environment of the interpreter that runs it.
    command = [str(environment.python), str(environment.root / "installers" / "engine.py")]
    if _run(command, os.environ, to_stderr=True) == 0:
        return
    # doctor has more to say about a machine without an engine than we do.
    if not (invocation.kind is Kind.TERMINAL and "doctor" in invocation.arguments):
        raise EngineFailed


def _run(command: Sequence[str], environ: Mapping[str, str], *, to_stderr: bool = False) -> int:
    """Run in the foreground. Ctrl-C reaches the child as well as us, and it is the child that decides."""
    with subprocess.Popen(command, env=environ, stdout=sys.stderr if to_stderr else None) as process:
        while True:
            with contextlib.suppress(KeyboardInterrupt):
                code = process.wait()
                # A signal's number as shells report it.
                return code if code >= 0 else 128 - code


def _say_waiting(console: Console) -> None:
    console.say("Another set-up is at work in this folder. Waiting for it…")


def _end_on_terminate(number: int, frame: object) -> None:
    raise KeyboardInterrupt
