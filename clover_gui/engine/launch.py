"""How the engine child is started: command, environment, thread policy."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil


def engine_command() -> list[str]:
    """How to start this program as the engine child."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "--role", "engine"]
    # -P: a folder where the program happens to be started must not be searched for modules.
    return [sys.executable, "-X", "utf8", "-P", "-m", "clover_gui", "--role", "engine"]


def physical_cores() -> int:
    return psutil.cpu_count(logical=False) or psutil.cpu_count() or 1


def child_environment(passive: bool) -> dict[str, str]:
    """Ours, with what the child needs: UTF-8, the package, its parent, the policy of idle threads."""
    environment = dict(os.environ)
    environment |= {"PYTHONUTF8": "1", "GGML_NO_BACKTRACE": "1"}
    if passive:  # as many threads as cores: waiting ones must not keep a core busy
        environment.setdefault("OMP_WAIT_POLICY", "passive")
    # True for a frozen program as well: its starter becomes the child, it does not stay between the two.
    environment["CLOVER_PARENT_PID"] = str(os.getpid())
    if not getattr(sys, "frozen", False):
        root = str(Path(__file__).resolve().parents[2])
        given = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = root + (os.pathsep + given if given else "")
    return environment
