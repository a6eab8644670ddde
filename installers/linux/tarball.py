"""The .tar.xz: the frozen program with a launcher and scripts that install it for one person."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from installers.linux.job import Job
from installers.linux.share import FILES

_SCRIPTS = ("clover-gui.sh", "install.sh", "uninstall.sh")


def lay_out(job: Job, folder: Path) -> None:
    """What the archive unpacks to."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(job.folder, folder / "program", symlinks=True)
    shutil.copytree(job.share, folder / "share")
    for name in _SCRIPTS:
        shutil.copyfile(FILES / name, folder / name)
        (folder / name).chmod(0o755)


def make(job: Job) -> Path:
    """The archive.

    Raises:
        subprocess.CalledProcessError: tar or xz failed.
    """
    name = f"clover-gui-{job.version}"
    lay_out(job, job.work / "tar" / name)
    target = job.out / f"{name}-linux-{job.machine}.tar.xz"
    command: list[str | Path] = [
        "tar", "--sort=name", f"--mtime=@{job.epoch_s}", "--owner=0", "--group=0", "--numeric-owner",
        "--mode=u+rwX,go+rX,go-w", "--format=gnu", "-C", job.work / "tar", "-c", name,
    ]  # fmt: skip
    with open(target, "wb") as file:
        packer = subprocess.Popen(command, stdout=subprocess.PIPE)
        # One block and a fixed level: the number of processors must not change the result.
        done = subprocess.run(["xz", "-6", "-T1"], stdin=packer.stdout, stdout=file, check=False)
        if packer.stdout is not None:
            packer.stdout.close()
        for code, step in ((packer.wait(), "tar"), (done.returncode, "xz")):
            if code != 0:
                raise subprocess.CalledProcessError(code, step)
    return target
