"""The .deb, made with dpkg-deb. What it depends on comes from the program's own table of system libraries."""

from __future__ import annotations

import email.utils
import gzip
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from clover_gui.system_libraries import LIBRARIES
from installers import places
from installers.freeze import inspection
from installers.freeze.budget import size_bytes
from installers.linux.identity import MAINTAINER
from installers.linux.job import MACHINES, Job
from installers.linux.share import FILES

NAME = "clover-gui"
PROGRAM = Path("usr/lib/clover-gui")

# Beside libraries: certificates for downloads; what opens links; emoji. CJK fonts are large.
_ALSO_DEPENDS = ("ca-certificates",)
_RECOMMENDS = ("fonts-noto-color-emoji", "shared-mime-info", "xdg-utils")
_SUGGESTS = ("fonts-noto-cjk", "libgtk-3-0t64 | libgtk-3-0")


def depends(glibc: tuple[int, ...]) -> tuple[str, ...]:
    """The packages without which it does not start in some session; ``glibc`` is what it was linked against.

    A package that was renamed is asked for by either name, the newer one first.
    """
    parts = {part.name: part for kind in ("xcb", "wayland", "engine") for part in LIBRARIES[kind]}
    version = ".".join(str(number) for number in glibc)
    named = {" | ".join(part.debian) for part in parts.values()}
    return tuple(sorted({*_ALSO_DEPENDS, f"libc6 (>= {version})", *named}))


def control(job: Job, installed_kb: int, glibc: tuple[int, ...]) -> str:
    """The text of DEBIAN/control."""
    fields = {
        "Package": NAME,
        "Version": job.version,
        "Architecture": MACHINES[job.machine],
        "Maintainer": MAINTAINER,
        "Installed-Size": str(installed_kb),
        "Section": "utils",
        "Priority": "optional",
        "Depends": ", ".join(depends(glibc)),
        "Recommends": ", ".join(_RECOMMENDS),
        "Suggests": ", ".join(_SUGGESTS),
        "Description": "chat with a language model that runs on this computer\n"
        " Clover looks at the machine, works out how a model fits into graphics memory\n"
        " and RAM, shows the numbers, and opens a chat. Models are downloaded with exact\n"
        " resume and checksum. No account, no server: nothing leaves the computer.\n"
        " .\n"
        " The engine for the processor is inside; models are not.",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def changelog(text: str, version: str, epoch_s: int) -> str:
    """The newest section of CHANGELOG.md in Debian's form."""
    section = re.split(r"^## ", text, flags=re.MULTILINE)[1].split("\n", 1)[1]
    points = [re.sub(r"\s+", " ", point).strip() for point in re.split(r"^- ", section, flags=re.MULTILINE)]
    lines = [f"{NAME} ({version}) stable; urgency=medium", ""]
    for point in filter(None, points):
        lines += _folded(point.replace("`", ""))
    lines += ["", f" -- {MAINTAINER}  {email.utils.formatdate(epoch_s)}", ""]
    return "\n".join(lines)


def _folded(point: str) -> list[str]:
    lines, line = [], "  *"
    for word in point.split():
        if len(line) + 1 + len(word) > 78:
            lines.append(line)
            line = "   "
        line += f" {word}"
    return [*lines, line]


def copyright_text(licences: Path) -> str:
    """Debian's file about rights: ours, and the table of the parts of others with where their texts lie."""
    table = (licences / "README.txt").read_text(encoding="utf-8")
    return (
        "Clover\nCopyright: 2026 Clover developers\n\n"
        "Licensed under the Apache License, Version 2.0. On Debian systems the text is in\n"
        "/usr/share/common-licenses/Apache-2.0.\n\n"
        f"{table}\nThe texts are in /usr/share/doc/{NAME}/licences.\n"
    )


def lay_out(job: Job, root: Path) -> None:
    """Everything as it will lie on the disk, and DEBIAN/control with the sums."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(job.folder, root / PROGRAM, symlinks=True)
    shutil.copytree(job.share, root / "usr/share")
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin" / NAME).symlink_to("../lib/clover-gui/clover-gui")
    documents = root / "usr/share/doc" / NAME
    documents.mkdir(parents=True)
    (root / PROGRAM / "licences").rename(documents / "licences")
    (documents / "copyright").write_text(copyright_text(documents / "licences"), encoding="utf-8")
    changes = (places.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    debian_changes = changelog(changes, job.version, job.epoch_s).encode()
    (documents / "changelog.gz").write_bytes(gzip.compress(debian_changes, 9, mtime=0))
    overrides = root / "usr/share/lintian/overrides" / NAME
    overrides.parent.mkdir(parents=True)
    shutil.copyfile(FILES / "lintian-overrides", overrides)
    _set_modes(root)
    _write_control(job, root)


def _set_modes(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_symlink():
            continue
        is_program = path.parent == root / PROGRAM and path.name == NAME
        path.chmod(0o755 if path.is_dir() or is_program else 0o644)


def _write_control(job: Job, root: Path) -> None:
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    sums = [
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(root)}\n"
        for path in files
    ]
    newest = inspection.newest_versions(inspection.libraries(root / PROGRAM))
    folder = root / "DEBIAN"
    folder.mkdir(mode=0o755)
    text = control(job, -(-size_bytes(root) // 1024), newest["GLIBC"])
    (folder / "control").write_text(text, encoding="utf-8")
    (folder / "md5sums").write_text("".join(sums), encoding="utf-8")
    for path in folder.iterdir():
        path.chmod(0o644)


def make(job: Job) -> Path:
    """The package.

    Raises:
        subprocess.CalledProcessError: dpkg-deb failed.
    """
    root = job.work / "deb"
    lay_out(job, root)
    target = job.out / f"{NAME}_{job.version}_{MACHINES[job.machine]}.deb"
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(job.epoch_s)}
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, target],
        env=environ, stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    return target
