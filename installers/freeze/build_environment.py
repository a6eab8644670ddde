"""The environment that the frozen program is made from: exactly the locked packages, and the engine.

It is made anew when the lock, the interpreter or the engine's wheel changed, and used again otherwise.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from installers import child, places, wheel
from installers.console import Console
from installers.events import SetUpError

LOCK = places.ROOT / "installers" / "requirements-package.lock"


def make(work: Path, engine: Path | None, console: Console) -> Path:
    """The interpreter of the environment below ``work``.

    ``engine``: the wheel of the engine to pack; without one the wheel that was built here before, or a build
    from source, for the processor. Published wheels are not looked for: with which instructions those were
    built is not known, and what is packed has to run on other processors than this one.

    Raises:
        SetUpError: packages or the engine could not be had.
    """
    folder = work / "environment"
    python = places.python_of(folder)
    log = work / "package.log"
    key = _key(engine)
    stamp = folder / "clover-package.txt"
    if stamp.is_file() and stamp.read_text(encoding="ascii").strip() == key:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-deps"]
    try:
        console.say("Making the environment that is packed…")
        child.run([sys.executable, "-m", "venv", str(folder)], log)
        child.run([*pip, "--require-hashes", "-r", str(LOCK)], log)
        if engine is not None:
            child.run([*pip, "--no-index", str(engine)], log)
    except child.ChildFailed as error:
        last = error.tail[-1] if error.tail else str(error)
        raise SetUpError(f"The environment could not be made: {last}", "Read the log.", str(log)) from error
    if engine is None:
        _install_engine(python)
    stamp.write_text(key + "\n", encoding="ascii")
    return python


def _install_engine(python: Path) -> None:
    command = [str(python), str(places.ROOT / "installers" / "engine.py"), "--backend", "cpu"]
    environ = {**os.environ, "CLOVER_ENGINE_INDEX": ""}
    if subprocess.run(command, env=environ, check=False).returncode != 0:
        raise SetUpError("The engine could not be had.", "Read the lines above.")


def _key(engine: Path | None) -> str:
    """Stands for everything that the environment was made of."""
    digest = hashlib.sha256(LOCK.read_bytes())
    digest.update(f"{sys.version}{wheel.VERSION}".encode())
    if engine is not None:
        digest.update(engine.read_bytes())
    return digest.hexdigest()
