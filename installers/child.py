"""Runs a quiet child: every line goes to a log file and to a callback, the person sees neither.

A child that outlives us would go on compiling for minutes, so its whole group ends with us.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TAIL_LINES = 20
_GRACE_S = 1.5


class ChildFailed(Exception):
    """The child ended with an error. ``tail`` holds its last lines."""

    def __init__(self, exit_code: int, tail: tuple[str, ...]) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code
        self.tail = tail


def run(
    command: Sequence[str | os.PathLike[str]],
    log: Path,
    on_line: Callable[[str], None] = lambda line: None,
    environ: Mapping[str, str] | None = None,
    *,
    low_priority: bool = False,
    inherits_lock: bool = True,
) -> tuple[str, ...]:
    """Run to the end, append all output to ``log``, and return the last lines.

    ``inherits_lock``: the child holds the locks that we hold (see ``locks.py``); not for children that may
    leave services behind.

    Raises:
        ChildFailed: it ended with another exit code than 0.
        OSError: it cannot be started.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"\n+ {' '.join(os.fspath(word) for word in command)}\n")
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=environ,
            start_new_session=True,
            close_fds=not inherits_lock or sys.platform == "win32",
        )
        try:
            if low_priority and sys.platform != "win32":
                os.setpriority(os.PRIO_PROCESS, child.pid, 10)
            assert child.stdout is not None
            with child.stdout:
                for line in child.stdout:
                    file.write(line)
                    if line.strip():
                        tail.append(line.rstrip())
                    on_line(line)
            exit_code = child.wait()
        except BaseException:
            end(child)
            raise
    if exit_code != 0:
        raise ChildFailed(exit_code, tuple(tail))
    return tuple(tail)


def end(child: subprocess.Popen[str]) -> None:
    """End a child started here together with everything that it started."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(child.pid)], capture_output=True, check=False)
        child.wait()
        return
    # Politely first: ninja runs its compilers in groups of their own, and passes only this signal on to them.
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            break
        limit = time.monotonic() + _GRACE_S
        while _group_exists(child) and time.monotonic() < limit:
            time.sleep(0.02)
    child.wait()


def _group_exists(child: subprocess.Popen[str]) -> bool:
    child.poll()  # a dead child counts as a member of its group until it is waited for
    try:
        os.killpg(child.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
