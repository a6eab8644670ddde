"""The Flatpak's manifest, for the .tar.xz beside it. Building it needs flatpak-builder and its runtime."""

from __future__ import annotations

import hashlib
from pathlib import Path

from installers.linux.identity import APP_ID
from installers.linux.job import Job
from installers.linux.share import FILES, fill


def manifest(tar: Path, version: str, date: str) -> str:
    """The manifest's text; the archive is named relative to the manifest's folder."""
    digest = hashlib.sha256(tar.read_bytes()).hexdigest()
    text = fill((FILES / "flatpak.yml").read_text(encoding="utf-8"), version, date)
    return text.replace("@TAR@", f"../{tar.name}").replace("@SHA256@", digest)


def make(job: Job) -> Path:
    """The manifest for the archive of the same job, which has to be there.

    Raises:
        OSError: it is not.
    """
    tar = job.out / f"clover-gui-{job.version}-linux-{job.machine}.tar.xz"
    target = job.out / "flatpak" / f"{APP_ID}.yml"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(manifest(tar, job.version, job.date), encoding="utf-8")
    return target
