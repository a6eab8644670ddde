"""Logging of this process: a rotating file in the data folder, and the last lines for an error report.

What people and models write never belongs into a log line; callers log events, counts and paths. As a
second guard every line is capped and things that look like a secret are masked here.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import deque
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path

FILE_LIMIT_BYTES = 1_000_000
FILES_KEPT = 3
LINES_KEPT = 300
LINE_LIMIT = 2_000

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_SECRETS = (
    # access tokens by their known beginnings
    re.compile(r"\b(hf|sk|ghp|gho|github_pat|glpat|xox[bap])[-_][A-Za-z0-9_-]{8,}"),
    re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"),
    # name=value and "name": "value"
    re.compile(
        r"(?i)\b(token|api[_-]?key|secret|password|passwd|signature|authorization|x-amz-[a-z-]+)"
        r"([\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;]+"
    ),
    # https://name:password@host
    re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s@]+@"),
)


@dataclass(frozen=True, slots=True)
class Logging:
    """What ``start_logging`` set up. Without a writable folder ``file`` is None and ``reason`` says why."""

    recent: RecentLines
    file: Path | None
    reason: str = ""


class RecentLines(logging.Handler):
    """Keeps the last lines in memory, oldest first."""

    def __init__(self, limit: int = LINES_KEPT) -> None:
        super().__init__()
        self._lines: deque[str] = deque(maxlen=limit)

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)


class _SafeFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))


def masked(text: str) -> str:
    """The text with each line capped and secrets replaced by "[hidden]"."""
    lines = [line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + "…" for line in text.split("\n")]
    text = "\n".join(lines)
    for pattern in _SECRETS:
        text = pattern.sub(lambda found: "".join(group or "" for group in _kept(found)) + "[hidden]", text)
    return text


def _kept(found: re.Match[str]) -> tuple[str, ...]:
    """The harmless beginning of a secret: its kind or its name."""
    groups = tuple(group or "" for group in found.groups())
    return (groups[0] + " ",) if len(groups) == 1 and groups[0].lower() in ("bearer", "basic") else groups


def start_logging(folder: Path | None, name: str, *, quiet: bool = False) -> Logging:
    """Send this process's log to ``folder/name.log`` and keep its last lines.

    ``name`` tells processes that share a folder apart. Without a folder, or where it cannot be written,
    warnings go to stderr instead, or with ``quiet`` only to the last lines. Calling it again replaces the
    former set-up.
    """
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h.formatter, _SafeFormatter)]:
        root.removeHandler(handler)
        handler.close()
    recent = RecentLines()
    handlers: list[logging.Handler] = [recent]
    file, reason = None, ""
    if folder is not None:
        file = folder / f"{name}.log"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handlers.append(
                RotatingFileHandler(
                    file,
                    maxBytes=FILE_LIMIT_BYTES,
                    backupCount=FILES_KEPT,
                    encoding="utf-8",
                    errors="backslashreplace",  # the name of a file may hold bytes that are no text
                )
            )
        except OSError as error:
            file, reason = None, error.strerror or str(error)
    if file is None and not quiet:
        on_screen = logging.StreamHandler(sys.stderr)
        on_screen.setLevel(logging.WARNING)
        handlers.append(on_screen)
    for handler in handlers:
        handler.setFormatter(_SafeFormatter(_FORMAT))
        root.addHandler(handler)
    root.setLevel(logging.INFO)
    return Logging(recent, file, reason)
