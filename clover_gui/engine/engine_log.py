"""What llama.cpp writes: its last lines with their true levels, and what they say about a failure.

The binding's own logger confuses the levels and drops real errors. Contents of chats are never in these
lines. Lines are capped, since a broken file can make them as long as it likes.
"""

from __future__ import annotations

import ctypes
import re
from collections import deque
from collections.abc import Callable

from clover_gui.engine.llama import Binding
from clover_gui.engine.protocol import (
    FAIL_ARCHITECTURE,
    FAIL_CANCELLED,
    FAIL_CORRUPT,
    FAIL_MEMORY,
    FAIL_MISSING,
    FAIL_OTHER,
    FAIL_TRUNCATED,
)

LINE_LIMIT = 500
LINES_KEPT = 200
DEBUG, INFO, WARNING, ERROR, CONTINUED = 1, 2, 3, 4, 5  # ggml.h
_LETTERS = {DEBUG: "D", INFO: "I", WARNING: "W", ERROR: "E"}

# First match wins, so what is more telling stands first.
_SIGNS: tuple[tuple[str, str], ...] = (
    (r"unknown model architecture", FAIL_ARCHITECTURE),
    (r"cancelled model load", FAIL_CANCELLED),
    (r"must be in \[|only supports up to version|exceeds maximum", FAIL_CORRUPT),
    (r"not within the file bounds|unexpectedly reached end", FAIL_TRUNCATED),
    (r"failed to read (magic|header|key|tensor)", FAIL_TRUNCATED),
    (r"insufficient memory|bad_alloc|out of memory|OutOf\w*Memory|cudaMalloc failed", FAIL_MEMORY),
    (r"(unable|failed) to allocate|failed to m?map|buffer_type_alloc_buffer", FAIL_MEMORY),
    (r"invalid|bad GGUF|GGUF version|corrupt|duplicate|missing tensor|wrong (shape|number)", FAIL_CORRUPT),
    (r"not found|is not in GGUF|has wrong type|failed to read|exceeds|check failed|overflow", FAIL_CORRUPT),
    (r"[Nn]o such file", FAIL_MISSING),
    (r"failed to open", FAIL_OTHER),
)


class EngineLog:
    """Collects the library's lines. Must live as long as the library: it holds the callback."""

    def __init__(self, binding: Binding, echo: Callable[[str], None]) -> None:
        """``echo`` gets every line but debug ones, as "E text"."""
        self._lines: deque[tuple[int, str]] = deque(maxlen=LINES_KEPT)
        self._echo = echo
        self._partial = ""
        self._level = INFO
        self._callback = binding.llama_log_callback(self._write)
        binding.llama_log_set(self._callback, ctypes.c_void_p(0))

    def clear(self) -> None:
        """Forget what is there: the next lines belong to the next request."""
        self._lines.clear()

    def lines(self, lowest: int = INFO) -> list[str]:
        return [text for level, text in self._lines if level >= lowest]

    def last(self, count: int = 12) -> tuple[str, ...]:
        """The last lines from information upwards, each with its level's letter."""
        kept = [f"{_LETTERS.get(level, '?')} {text}" for level, text in self._lines if level >= INFO]
        return tuple(kept[-count:])

    def failure(self) -> tuple[str, str]:
        """(kind, reason) of the request that just failed; the reason is one line of the engine."""
        return classify(self.lines(ERROR) or self.lines(WARNING) or self.lines())

    def _write(self, level: int, text: bytes | None, _data: object) -> None:
        if level != CONTINUED:
            self._level = level
        self._partial += (text or b"").decode("utf-8", "replace")
        *complete, self._partial = self._partial.split("\n")
        self._partial = self._partial[:LINE_LIMIT]
        for line in complete:
            line = line[:LINE_LIMIT].rstrip()
            if not line.strip(" ."):  # rows of dots that show progress
                continue
            self._lines.append((self._level, line))
            if self._level != DEBUG:
                self._echo(f"{_LETTERS.get(self._level, '?')} {line}")


def classify(lines: list[str]) -> tuple[str, str]:
    """The kind of failure (FAIL_*) that these lines tell of, and the line that tells it."""
    for pattern, kind in _SIGNS:
        for line in lines:
            if re.search(pattern, line):
                return kind, _without_function(line)
    return FAIL_OTHER, _without_function(lines[0]) if lines else "the engine gave no reason"


def _without_function(line: str) -> str:
    return re.sub(r"^(\w+: )?(error loading model: )*", "", line).strip() or line
