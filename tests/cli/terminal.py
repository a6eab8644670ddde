"""Runs the program's terminal front end as a real process, also on a terminal of its own."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

LIMIT_S = 60.0


def environment() -> dict[str, str]:
    return os.environ | {"CLOVER_LANGUAGE": "en", "TERM": "xterm", "NO_COLOR": ""}


def command(data: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "clover_gui", "--data-dir", str(data), *arguments]


def run(data: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run to the end, with pipes. Output is decoded as UTF-8."""
    return subprocess.run(
        command(data, *arguments),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env=environment(),
        timeout=LIMIT_S,
        check=False,
    )


class Terminal:
    """A process on a pseudo terminal (POSIX): what a person types and sees."""

    def __init__(self, arguments: Sequence[str]) -> None:
        import pty

        self._ours, theirs = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(), start_new_session=True
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def interrupt(self) -> None:
        os.kill(self.process.pid, signal.SIGINT)

    def interrupt_until(self, pattern: str) -> None:
        """Press Ctrl+C at a prompt as a person does: again when nothing happens.

        A signal that comes in the moment between the prompt and the waiting for a key is only seen with the
        next key (a race in the interpreter's own reading of lines).
        """
        for _press in range(10):
            self.interrupt()
            end = time.monotonic() + 1.0
            while time.monotonic() < end and self.process.poll() is None:
                ready, _, _ = select.select([self._ours], [], [], 0.05)
                if ready and not self._read():
                    return
                if pattern and re.search(pattern, self.seen):
                    return
            if self.process.poll() is not None:
                return

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Read until the pattern is on the screen (after what was waited for before)."""
        end = time.monotonic() + LIMIT_S
        while True:
            if found := re.search(pattern, self.seen):
                self.seen = self.seen[found.end() :]
                return found
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"{pattern!r} did not come; seen: {self.seen[-2000:]!r}")

    def wait(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self.process.wait(LIMIT_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], LIMIT_S)
        if not ready:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # the other end is closed
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)
