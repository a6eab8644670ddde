"""Makes the ``share`` folder of every Linux package: desktop entry, file type, description, icons, manual."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

from installers import child, places
from installers.icons import SVG
from installers.linux import icons
from installers.linux.identity import APP_ID, DESKTOP_ID, DEVELOPER_ID

FILES = Path(__file__).resolve().parent / "files"


def fill(text: str, version: str, date: str) -> str:
    """Put what changes into a template: ``@VERSION@``, ``@DATE@`` and the names."""
    values = {
        "VERSION": version,
        "DATE": date,
        "APP_ID": APP_ID,
        "DEVELOPER_ID": DEVELOPER_ID,
        "DESKTOP_ID": DESKTOP_ID,
        "ICON": DESKTOP_ID.removesuffix(".desktop"),
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def make(folder: Path, version: str, date: str) -> None:
    """Everything but the icons in sizes; needs nothing but the files of this repository."""
    shutil.rmtree(folder, ignore_errors=True)
    targets = {
        "clover-gui.desktop": f"applications/{DESKTOP_ID}",
        "clover-gui.xml": "mime/packages/clover-gui.xml",
        "metainfo.xml": f"metainfo/{APP_ID}.metainfo.xml",
    }
    for source, target in targets.items():
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill((FILES / source).read_text(encoding="utf-8"), version, date), encoding="utf-8")
    manual = folder / "man" / "man1" / "clover-gui.1.gz"
    manual.parent.mkdir(parents=True)
    text = fill((FILES / "clover-gui.1").read_text(encoding="utf-8"), version, date)
    manual.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    scalable = folder / "icons" / "hicolor" / "scalable" / "apps" / "clover-gui.svg"
    scalable.parent.mkdir(parents=True)
    shutil.copyfile(SVG, scalable)


def add_icons(folder: Path, python: Path, work: Path, log: Path) -> None:
    """The icon in the usual sizes, drawn by the Qt of the build environment.

    Raises:
        child.ChildFailed: it could not be drawn.
    """
    drawn = work / "icons"
    sizes = [str(size) for size in icons.SIZES]
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(places.ROOT)}
    child.run([python, "-m", "installers.linux.icons", drawn, *sizes], log, environ=environ)
    for size in sizes:
        target = folder / "icons" / "hicolor" / f"{size}x{size}" / "apps" / "clover-gui.png"
        target.parent.mkdir(parents=True)
        shutil.copyfile(drawn / f"{size}.png", target)
