"""The AppImage: a folder in its layout, and the image itself where appimagetool is on the PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from installers.events import SetUpError
from installers.linux import tarball
from installers.linux.job import Job
from installers.linux.share import FILES

TOOL = "appimagetool"


def lay_out(job: Job) -> Path:
    """The folder that becomes the image; its AppRun starts the program as the image would."""
    folder = job.work / f"Clover-{job.version}.AppDir"
    tarball.lay_out(job, folder)
    for name in ("install.sh", "uninstall.sh"):
        (folder / name).unlink()
    (folder / "usr").mkdir()
    (folder / "share").rename(folder / "usr" / "share")
    shutil.copyfile(FILES / "AppRun", folder / "AppRun")
    (folder / "AppRun").chmod(0o755)
    shutil.copyfile(FILES / "clover-gui.desktop", folder / "clover-gui.desktop")
    icons = folder / "usr" / "share" / "icons" / "hicolor"
    shutil.copyfile(icons / "256x256" / "apps" / "clover-gui.png", folder / "clover-gui.png")
    (folder / ".DirIcon").symlink_to("clover-gui.png")
    return folder


def make(job: Job) -> Path:
    """The image.

    Raises:
        SetUpError: the tool is missing; the folder is there.
        subprocess.CalledProcessError: the tool failed.
    """
    folder = lay_out(job)
    tool = shutil.which(TOOL)
    target = job.out / f"Clover-{job.version}-{job.machine}.AppImage"
    if tool is None:
        raise SetUpError(
            f"The AppImage was not made: {TOOL} is missing. Its folder is {folder}.",
            f"Put {TOOL} on the PATH, or run: {TOOL} {folder} {target}",
        )
    environ = {**os.environ, "ARCH": job.machine, "SOURCE_DATE_EPOCH": str(job.epoch_s)}
    subprocess.run([tool, "--no-appstream", folder, target], env=environ, check=True)
    return target
