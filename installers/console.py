"""Short plain lines about what set-up does, and one line of progress on a terminal.

Everything goes to the standard error stream: the output of the program that is started stays its own.
"""

from __future__ import annotations

import shutil
import sys
from typing import TextIO


class Console:
    """Writes lines; ``progress`` overwrites its own line, and is silent where nobody watches."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._is_terminal = self._stream.isatty()
        self._shown = 0

    @property
    def is_terminal(self) -> bool:
        """Whether a person watches."""
        return self._is_terminal

    def say(self, text: str) -> None:
        """One line that stays."""
        self._clear()
        self._stream.write(text + "\n")
        self._stream.flush()

    def progress(self, text: str) -> None:
        """A line that the next one replaces."""
        if not self._is_terminal:
            return
        width = max(20, shutil.get_terminal_size().columns - 1)
        line = f"  {text}"[:width]
        self._stream.write("\r" + line + " " * max(0, self._shown - len(line)))
        self._stream.flush()
        self._shown = len(line)

    def ask(self, question: str) -> bool:
        """Yes or no, yes for an empty answer."""
        self._clear()
        self._stream.write(f"{question} [Y/n] ")
        self._stream.flush()
        return sys.stdin.readline().strip().lower() in ("", "y", "yes", "j", "ja")

    def _clear(self) -> None:
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._shown = 0
