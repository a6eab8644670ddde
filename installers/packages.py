"""The system's own packages: what is missing for a purpose, and how it is installed where that is allowed."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clover_gui import system_libraries
from clover_gui.system_libraries import Distribution, SystemPart
from installers import child
from installers.arguments import Invocation, Kind, has_screen
from installers.console import Console
from installers.events import SetUpError


class PackagesMissing(SetUpError):
    """Packages of the system are needed and we could not install them."""


@dataclass(frozen=True, slots=True)
class Needs:
    """``required`` has to be there; without ``wished`` a start is possible all the same."""

    required: tuple[SystemPart, ...] = ()
    wished: tuple[SystemPart, ...] = ()


def missing(
    invocation: Invocation,
    environ: Mapping[str, str],
    *,
    environment_is_ready: bool,
    engine_must_be_built: bool,
) -> Needs:
    """What this Linux machine lacks for what is asked; nothing on other systems."""
    if sys.platform != "linux":
        return Needs()
    required: list[SystemPart] = []
    if not environment_is_ready and importlib.util.find_spec("ensurepip") is None:
        required.append(system_libraries.VENV)
    kind = invocation.kind
    needs_window = kind is not Kind.TERMINAL
    own_screen = has_screen(environ, sys.platform)
    if needs_window and own_screen and kind is not Kind.TEST:
        required += system_libraries.missing_for_window(environ)
    elif needs_window:
        required += system_libraries.missing_libraries("xcb")
    needs_xvfb = kind is Kind.TEST or (kind is Kind.SMOKE_TEST and not own_screen)
    if needs_xvfb and shutil.which("Xvfb") is None:
        required.append(system_libraries.XVFB)
    if invocation.kind is Kind.WINDOW or invocation.needs_engine_first:
        required += [part for part in system_libraries.missing_libraries("engine") if part not in required]
    lacks_compiler = engine_must_be_built and not any(
        shutil.which(name) for name in ("g++", "c++", "clang++")
    )
    compiler = (system_libraries.COMPILER,) if lacks_compiler else ()
    if invocation.needs_engine_first:
        return Needs((*required, *compiler))
    return Needs(tuple(required), compiler if invocation.kind is Kind.WINDOW else ())


def install(needs: Needs, console: Console, log: Path) -> None:
    """Install what is missing.

    Raises:
        PackagesMissing: required packages cannot be installed from here; the sentence has the exact command.
    """
    parts = needs.required + needs.wished
    if not parts:
        return
    system = system_libraries.distribution()
    may_install = _is_root() or (
        console.is_terminal and sys.stdin.isatty() and shutil.which("sudo") is not None
    )
    command = system_libraries.install_command(parts, system, _apt_knows if may_install else None)
    if not may_install or command is None or shutil.which(command[0]) is None:
        if needs.required:
            raise PackagesMissing(system_libraries.explain_missing(needs.required, system))
        return
    if _is_root():
        _install_as_root(parts, system, console, log)
    elif not _install_with_sudo(command, console) and needs.required:
        raise PackagesMissing(system_libraries.explain_missing(needs.required, system))


def _install_as_root(
    parts: tuple[SystemPart, ...], system: Distribution, console: Console, log: Path
) -> None:
    names = system_libraries.package_names(parts, system, _apt_knows)
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    console.say(f"Installing system packages: {' '.join(names)}…")
    try:
        if system.family == "debian" and not all(_apt_knows(name) for name in names):
            child.run(["apt-get", "update"], log, environ=environ, inherits_lock=False)
        # Once more: only now the package manager may know under which name it has them.
        command = system_libraries.install_command(parts, system, _apt_knows)
        assert command is not None
        child.run(command, log, environ=environ, inherits_lock=False)
    except (child.ChildFailed, OSError) as error:
        tail = "\n".join(error.tail) if isinstance(error, child.ChildFailed) else str(error)
        raise PackagesMissing(
            f"The system packages could not be installed:\n{tail}",
            f"Run this yourself, then start again: {shlex.join(command_for_people(parts, system))}",
            str(log),
        ) from error


def _install_with_sudo(command: tuple[str, ...], console: Console) -> bool:
    full = ("sudo", *command)
    console.say(f"This machine lacks some packages. This installs them:\n    {shlex.join(full)}")
    if not console.ask("Run it now?"):
        return False
    # On the terminal itself: sudo may ask for the password.
    return subprocess.run(full, check=False).returncode == 0


def command_for_people(parts: tuple[SystemPart, ...], system: Distribution) -> tuple[str, ...]:
    """The command with sudo in front, as somebody would type it."""
    return ("sudo", *(system_libraries.install_command(parts, system) or ()))


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _apt_knows(name: str) -> bool:
    """Whether apt has a package of this name to offer (its lists may not be there yet)."""
    try:
        done = subprocess.run(
            ["apt-cache", "policy", name],
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return "Candidate:" in done.stdout and "Candidate: (none)" not in done.stdout
