"""Bring the engine here while the program is already open: runs ``installers/engine.py`` and reports.

Only possible from a source checkout; an installed program comes with its engine. The installer runs as
a child with its own process group, so that cancelling ends the compiler as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clover_gui.errors import EngineMissing
from clover_gui.paths import checkout_root


@dataclass(frozen=True, slots=True)
class InstallProgress:
    """``step`` is the installer's word ("look", "download", "compile", …), ``text`` its English line.

    ``done`` of ``total`` parts while compiling; ``seconds_left`` is an estimate or None.
    """

    step: str
    text: str = ""
    done: int = 0
    total: int = 0
    seconds_left: float | None = None


def installer() -> Path | None:
    """The installer's script, or None where this program does not run from a checkout."""
    root = checkout_root()
    script = root / "installers" / "engine.py" if root else None
    return script if script is not None and script.is_file() else None


async def install_engine(command: list[str] | None = None) -> AsyncGenerator[InstallProgress, None]:
    """Install the engine; ends when it is there. Closing the iterator stops the compiler.

    Raises:
        EngineMissing: there is no installer, or it failed; ``reason`` and ``log_lines`` say why.
    """
    if command is None:
        script = installer()
        if script is None:
            raise EngineMissing("no installer in this copy of the program")
        command = [sys.executable, str(script), "--json"]
    process = await asyncio.to_thread(_start, command)
    assert process.stdout is not None
    step, text, finished = "look", "", False
    try:
        while line := await asyncio.to_thread(process.stdout.readline):
            event = _event(line)
            match event.get("event"):
                case "step":
                    step, text = str(event.get("step", "")), str(event.get("text", ""))
                    yield InstallProgress(step, text)
                case "progress":
                    yield InstallProgress(
                        step,
                        text,
                        int(event.get("done", 0)),
                        int(event.get("total", 0)),
                        event.get("seconds_left"),
                    )
                case "failed":
                    reason = str(event.get("reason", ""))
                    lines = tuple(str(event[key]) for key in ("next_step", "log") if event.get(key))
                    raise EngineMissing(reason, lines)
                case "done":
                    finished = True
        code = await asyncio.to_thread(process.wait)
        if code != 0 or not finished:
            raise EngineMissing(f"the engine's installer ended with code {code}")
    finally:
        _end(process)


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=os.name == "posix",
    )


def _event(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.terminate()
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
