"""Makes what people install who have no Python: the frozen program, and the packages of this system.

    python3 installers/package.py [--only KIND]... [--out DIR] [--work DIR] [--engine WHEEL]

Use a Python that does not lie in a home folder (on Debian /usr/bin/python3 with python3-venv and libpython3),
since its own place becomes part of the program. Exit codes: 0 everything was made; 1 something was not, or is
too large (the reason has been told); 2 wrong arguments; 130 interrupted. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from installers import artefacts, child, places
from installers.artefacts import Frozen
from installers.console import Console
from installers.events import SetUpError
from installers.freeze import budget, build_environment, freezer, inspection
from installers.freeze.version import version
from installers.linux import appimage, deb, flatpak, share, tarball
from installers.linux.job import Job

FOLDER = "folder"

LINUX_KINDS: dict[str, Callable[[Job], Path]] = {
    "tar": tarball.make,
    "deb": deb.make,
    "appimage": appimage.make,
    "flatpak": flatpak.make,
}
"""Every kind of package and who makes it, in the order in which they are made (the Flatpak needs the tar)."""

KINDS = (FOLDER, *(LINUX_KINDS if sys.platform == "linux" else ()), *artefacts.MAKERS)


def usual_kinds() -> tuple[str, ...]:
    """What is made when nothing is named: all that the tools on this machine can make."""
    return tuple(kind for kind in KINDS if kind != "appimage" or shutil.which(appimage.TOOL))


class Packer:
    """One run: environment, frozen folder, checks, packages. ``complaints`` collects what went wrong."""

    def __init__(self, out: Path, work: Path, console: Console) -> None:
        self._out = out
        self._work = work
        self._console = console
        self._version = version()
        self._epoch_s = build_time_s(places.ROOT)
        self.complaints: list[str] = []

    def run(self, kinds: tuple[str, ...], engine: Path | None) -> None:
        """Make the folder, and of it the kinds that are asked for.

        Raises:
            SetUpError: there is no usable folder, so nothing else was made.
        """
        self._out.mkdir(parents=True, exist_ok=True)
        self._work.mkdir(parents=True, exist_ok=True)
        python = build_environment.make(self._work, engine, self._console)
        self._console.say(f"Freezing version {self._version}…")
        folder = freezer.freeze(python, self._work, self._out, self._epoch_s)
        if freezer.starts(folder) != f"clover-gui {self._version}":
            raise SetUpError("The frozen program gives another version than its source.")
        self._report(FOLDER, folder)
        if sys.platform == "linux":
            foreign = (places.ROOT, self._work, self._out, Path.home())
            self.complaints += inspection.complaints(folder, foreign)
        packages = [kind for kind in LINUX_KINDS if kind in kinds]
        if packages:
            job = self._job(python, folder)
            for kind in packages:
                self._make(kind, partial(LINUX_KINDS[kind], job))
        frozen = Frozen(
            self._version, self._epoch_s, python, folder, self._work, self._out, self._work / "package.log"
        )
        for kind, maker in artefacts.MAKERS.items():
            if kind in kinds:
                self._make(kind, partial(maker, frozen))

    def _job(self, python: Path, folder: Path) -> Job:
        """What all packages share, the share folder included."""
        made = Job(
            version=self._version,
            machine=platform.machine(),
            epoch_s=self._epoch_s,
            python=python,
            folder=folder,
            share=self._work / "share",
            work=self._work,
            out=self._out,
            log=self._work / "package.log",
        )
        share.make(made.share, made.version, made.date)
        try:
            share.add_icons(made.share, python, made.work, made.log)
        except child.ChildFailed as error:
            raise SetUpError("The icons could not be drawn.", "Read the log.", str(made.log)) from error
        return made

    def _make(self, kind: str, maker: Callable[[], Path]) -> None:
        self._console.say(f"Making the {kind}…")
        try:
            self._report(kind, maker())
        except SetUpError as error:
            self.complaints.append(f"{error.reason} {error.next_step}".strip())
        except child.ChildFailed as error:
            last = error.tail[-1] if error.tail else str(error)
            self.complaints.append(f"The {kind} could not be made: {last}")
        except (OSError, subprocess.CalledProcessError) as error:
            self.complaints.append(f"The {kind} could not be made: {error}")

    def _report(self, kind: str, path: Path) -> None:
        self._console.say(f"  {path}: {budget.size_bytes(path) / 1e6:.1f} MB")
        if complaint := budget.complaint(kind, path):
            self.complaints.append(complaint)


def build_time_s(root: Path) -> int:
    """The time that packed files get: SOURCE_DATE_EPOCH, else that of the newest commit, else now."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given.isdigit():
        return int(given)
    try:
        done = subprocess.run(
            ["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False
        )
    except OSError:
        return int(time.time())
    return int(done.stdout) if done.stdout.strip().isdigit() else int(time.time())


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="installers/package.py", description="Makes the program for people without Python."
    )
    parser.add_argument("--only", action="append", choices=KINDS, help="only this, and the folder")
    parser.add_argument("--out", type=Path, default=places.ROOT / "dist", help="where the results go (dist)")
    parser.add_argument(
        "--work", type=Path, default=places.ROOT / "build" / "package", help="for files on the way"
    )
    parser.add_argument("--engine", type=Path, metavar="WHEEL", help="the engine to pack")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run; see the module's text for the exit codes."""
    chosen = _parse(arguments)
    console = Console()
    packer = Packer(chosen.out.absolute(), chosen.work.absolute(), console)
    try:
        packer.run(tuple(chosen.only or usual_kinds()), chosen.engine.absolute() if chosen.engine else None)
    except SetUpError as error:
        for line in (error.reason, error.next_step, f"Log: {error.log}" if error.log else ""):
            if line:
                console.say(line)
        return 1
    except KeyboardInterrupt:
        return 130
    for complaint in packer.complaints:
        console.say(f"Not right: {complaint}")
    return 1 if packer.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
