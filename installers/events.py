"""What the engine's set-up tells while it works: JSON lines for the window, plain lines for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TextIO


class SetUpError(Exception):
    """A step of set-up failed. ``reason`` is a sentence for people, ``next_step`` what they can do."""

    def __init__(self, reason: str, next_step: str = "", log: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.next_step = next_step
        self.log = log


class Reporter:
    """Writes events to a stream.

    With ``as_json`` one object a line: ``{"event": "step" | "progress" | "warning" | "failed" | "done" |
    "check", ...}``. Otherwise plain lines, and on a terminal one line of progress that is overwritten.
    """

    def __init__(self, *, as_json: bool, stream: TextIO | None = None) -> None:
        self._as_json = as_json
        self._stream = stream if stream is not None else sys.stdout
        self._is_terminal = not as_json and self._stream.isatty()
        self._open_line = 0

    def step(self, step: str, text: str) -> None:
        """A step begins: "look", "wait", "wheel", "download", "compile", "install" or "verify"."""
        self._send({"event": "step", "step": step, "text": text}, text)

    def progress(self, done: int, total: int, seconds_left: float | None) -> None:
        """So many of so many pieces are done. Plain output has it on a terminal only."""
        if self._as_json:
            left = None if seconds_left is None else round(seconds_left)
            self._send({"event": "progress", "done": done, "total": total, "seconds_left": left}, "")
        elif self._is_terminal:
            line = f"  {done} of {total}"
            if seconds_left is not None:
                line += f", about {plain_duration(seconds_left)} left"
            padding = " " * max(0, self._open_line - len(line))
            self._stream.write(f"\r{line}{padding}")
            self._stream.flush()
            self._open_line = len(line)

    def warning(self, text: str, next_step: str) -> None:
        """Something works less well than it could; ``next_step`` holds the command that cures it."""
        event = {"event": "warning", "text": text, "next_step": next_step}
        self._send(event, f"Note: {text}\n{next_step}".rstrip())

    def failed(self, error: SetUpError) -> None:
        """The end: it did not work."""
        event = {"event": "failed", "reason": error.reason, "next_step": error.next_step, "log": error.log}
        lines = [error.reason, error.next_step, f"The full log is in {error.log}." if error.log else ""]
        self._send(event, "\n".join(line for line in lines if line))

    def done(self, backend: str, seconds: float, source: str) -> None:
        """The end: the engine is there. ``source`` is "installed", "cache", "published" or "built"."""
        event = {"event": "done", "backend": backend, "seconds": round(seconds, 1), "from": source}
        self._send(event, f"The engine is ready ({backend}, {plain_duration(seconds)}).")

    def check(self, facts: Mapping[str, object], text: str) -> None:
        """The answer to --check."""
        self._send({"event": "check", **facts}, text)

    def _send(self, event: Mapping[str, object], text: str) -> None:
        if self._as_json:
            line = json.dumps(event, ensure_ascii=True)
        else:
            line = ("\n" if self._open_line else "") + text
            self._open_line = 0
        self._stream.write(line + "\n")
        self._stream.flush()


def plain_duration(seconds: float) -> str:
    """A span of time for people: "4 s", "3 min"."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
