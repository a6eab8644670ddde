"""Standard output and error as the terminal front end uses them.

Output carries only what was asked for (answers, findings); everything else goes to the error stream.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

_DIM, _BOLD, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"


class OutputFailed(Exception):
    """What was asked for cannot be written, for example to a full disk."""


class Screen:
    """Where to write, and whether colours may be used there."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = _prepared(sys.stdout if out is None else out)
        self.err = _prepared(sys.stderr if err is None else err)
        self.is_terminal = self.out.isatty()
        self._colours = self.is_terminal and _wants_colours()
        self._err_colours = self.err.isatty() and _wants_colours()
        self._progress_shown = False

    def write(self, text: str) -> None:
        """Text of the answer, at once.

        Raises:
            BrokenPipeError: the reader is gone.
            OutputFailed: for any other reason.
        """
        self.clear_progress()
        try:
            self.out.write(text)
            self.out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailed(error.strerror or str(error)) from error

    def dim(self, on: bool) -> None:
        """Switch faint letters on or off; nothing where there are no colours."""
        if self._colours:
            self.write(_DIM if on else _PLAIN)

    def bold(self, text: str) -> str:
        return f"{_BOLD}{text}{_PLAIN}" if self._colours else text

    def note(self, text: str) -> None:
        """A line beside the answers."""
        self.clear_progress()
        self.err.write(f"{_DIM}{text}{_PLAIN}\n" if self._err_colours else f"{text}\n")
        self.err.flush()

    def progress(self, text: str) -> None:
        """A line that the next one replaces; only on a terminal."""
        if self.err.isatty():
            self.err.write(f"\r\x1b[K{text}")
            self.err.flush()
            self._progress_shown = True

    def clear_progress(self) -> None:
        if self._progress_shown:
            self.err.write("\r\x1b[K")
            self.err.flush()
            self._progress_shown = False


def give_up_output() -> None:
    """The reader is gone: let what Python still writes at its end go nowhere, without a message."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    _let_go(nowhere, sys.stdout, sys.stderr)


def give_up_standard_output() -> None:
    """As ``give_up_output``, but the error stream still tells why."""
    _let_go(os.open(os.devnull, os.O_WRONLY), sys.stdout)


def _let_go(nowhere: int, *streams: TextIO) -> None:
    for stream in streams:
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError, io.UnsupportedOperation):
            pass  # a stream without a descriptor cannot complain either
    os.close(nowhere)


def _prepared(stream: TextIO) -> TextIO:
    """UTF-8 for files and pipes; on a terminal its own encoding. Never an error for a character."""
    if isinstance(stream, io.TextIOWrapper):
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8", errors="replace")
    return stream


def _wants_colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
