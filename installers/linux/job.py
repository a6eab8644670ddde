"""What every kind of package is made from."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
"""What Debian calls the processors."""


@dataclass(frozen=True, slots=True)
class Job:
    """``folder`` is the frozen program, ``share`` what belongs into a ``share`` folder of the system.

    ``python`` is the interpreter of the build environment, ``epoch_s`` the time (seconds since 1970) that all
    packed files get, ``machine`` the processor as the kernel names it.
    """

    version: str
    machine: str
    epoch_s: int
    python: Path
    folder: Path
    share: Path
    work: Path
    out: Path
    log: Path

    @property
    def date(self) -> str:
        """The day of ``epoch_s``, such as 2026-11-30."""
        return datetime.datetime.fromtimestamp(self.epoch_s, datetime.UTC).strftime("%Y-%m-%d")
