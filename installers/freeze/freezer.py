"""Makes the folder with the frozen program: runs PyInstaller, strips, and adds the licences of others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from installers import child, places
from installers.events import SetUpError

NAME = "clover-gui"
"""Of the folder and of the program in it."""

SPECIFICATION = places.ROOT / "installers" / "freeze" / "clover_gui.spec"


def freeze(python: Path, work: Path, out: Path, epoch_s: int) -> Path:
    """The finished folder ``out/clover-gui``; one from before is replaced.

    ``python`` is the interpreter of the build environment; ``epoch_s`` (seconds since 1970) is the time that
    all files get, so that the same sources give the same result.

    Raises:
        SetUpError: a step failed.
    """
    log = work / "package.log"
    environ = {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(epoch_s),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(places.ROOT),
    }
    build = work / "pyinstaller"
    folder = out / NAME
    shutil.rmtree(folder, ignore_errors=True)
    try:
        child.run(
            [python, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN",
             "--workpath", build, "--distpath", out, SPECIFICATION],
            log, environ=environ,
        )  # fmt: skip
        child.run([python, "-P", "-m", "installers.freeze.licences", build, folder], log, environ=environ)
        if sys.platform == "linux":
            _strip(folder, log)
    except child.ChildFailed as error:
        last = error.tail[-1] if error.tail else str(error)
        raise SetUpError(f"The program could not be frozen: {last}", "Read the log.", str(log)) from error
    return folder


def _strip(folder: Path, log: Path) -> None:
    """Take the debugging symbols out of the language and of the packages' modules.

    Qt and the engine are left as they are: they come without, and are checked as their makers publish them.
    """
    internal = folder / "_internal"
    modules = [path for path in internal.rglob("*.so") if path.relative_to(internal).parts[0] != "PySide6"]
    files = [*internal.glob("libpython3*.so*"), *(path for path in modules if path.parent.name != "lib")]
    files = sorted(path for path in files if not path.is_symlink())
    if shutil.which("strip") is None:
        raise SetUpError("The program strip is missing.", "Install the package binutils.")
    child.run(["strip", "--strip-unneeded", *files], log)


def starts(folder: Path) -> str:
    """What the frozen program says to ``--version``; the shortest proof that it starts.

    Raises:
        SetUpError: it does not start.
    """
    program = folder / (NAME + (".exe" if sys.platform == "win32" else ""))
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise SetUpError(f"The frozen program does not start: {done.stderr.strip()[-300:]}", "Read the log.")
    return done.stdout.strip()
