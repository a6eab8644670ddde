"""What is made of a frozen folder outside Linux, and everywhere: installer, disk image, bill of materials.

Each runs in the interpreter of the build environment, which has Qt for the icons and the packages' metadata.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from installers import backend, child, places


@dataclass(frozen=True, slots=True)
class Frozen:
    """A frozen ``folder`` and where it came from. ``epoch_s``: the time of the build, seconds since 1970."""

    version: str
    epoch_s: int
    python: Path
    folder: Path
    work: Path
    out: Path
    log: Path

    @property
    def system(self) -> str:
        """Such as "linux-x86_64", for file names."""
        name = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
        return f"{name}-{backend.normal_machine(platform.machine())}"

    def run(self, *words: str | Path) -> None:
        """Run a module of ``installers``.

        Raises:
            child.ChildFailed: it failed; the log has why.
        """
        command = [str(self.python), "-m", *(str(word) for word in words)]
        environ = {"SOURCE_DATE_EPOCH": str(self.epoch_s), "PYTHONPATH": str(places.ROOT)}
        child.run(command, self.log, environ={**_environment(), **environ})


def _environment() -> dict[str, str]:
    return {**os.environ, "QT_QPA_PLATFORM": "offscreen"}


def setup(frozen: Frozen) -> Path:
    """The Windows installer."""
    work = frozen.work / "windows"
    frozen.run("installers.windows.make_setup", frozen.folder, "--out", frozen.out, "--work", work)
    return frozen.out / f"Clover-{frozen.version}-x64.exe"


def disk_image(frozen: Frozen) -> Path:
    """The macOS disk image of the bundle beside the folder."""
    target = frozen.out / f"Clover-{frozen.version}-{backend.normal_machine(platform.machine())}.dmg"
    script = places.ROOT / "installers" / "macos" / "make_dmg.sh"
    words = [str(frozen.out / "Clover.app"), str(frozen.folder / "licences"), str(target)]
    environ = {**_environment(), "PYTHON": str(frozen.python)}
    child.run(["sh", str(script), *words], frozen.log, environ=environ)
    return target


def materials(frozen: Frozen) -> Path:
    """The bill of materials of what was packed on this system."""
    target = frozen.out / f"clover-gui-{frozen.version}-{frozen.system}.cdx.json"
    frozen.run("installers.sbom", target, frozen.work / "pyinstaller")
    return target


MAKERS: dict[str, Callable[[Frozen], Path]] = {
    **({"setup": setup} if sys.platform == "win32" else {}),
    **({"dmg": disk_image} if sys.platform == "darwin" else {}),
    "sbom": materials,
}
"""Kinds of this system and who makes each."""
