"""The Linux packages around a small stand-in for the frozen program: names, dependencies, lints, scripts.

What is installed of the distribution's checking tools is run; what is not is skipped.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import clover_gui
from clover_gui import paths
from clover_gui.system_libraries import LIBRARIES
from installers import places
from installers.linux import appimage, deb, flatpak, identity, share, tarball
from installers.linux.job import Job

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packages of Linux")

EPOCH_S = 1_796_083_200  # 2026-12-01
MISSING_LIBRARY = 'echo "This system lacks: libxcb-cursor.so.0" >&2; exit 3'


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


def run(*command: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload, no-any-return]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A folder with a real program in it, and the share folder with icons drawn by this interpreter's Qt."""
    base = tmp_path_factory.mktemp("packages")
    folder = base / "out" / "clover-gui"
    (folder / "_internal").mkdir(parents=True)
    shutil.copy("/bin/true", folder / "clover-gui")
    (folder / "_internal" / "data.txt").write_text("data")
    (folder / "licences").mkdir()
    (folder / "licences" / "README.txt").write_text("Clover contains parts of others.\n")
    (base / "work").mkdir()
    made = Job(
        version=clover_gui.__version__,
        machine="x86_64",
        epoch_s=EPOCH_S,
        python=Path(sys.executable),
        folder=folder,
        share=base / "work" / "share",
        work=base / "work",
        out=base / "out",
        log=base / "work" / "package.log",
    )
    share.make(made.share, made.version, made.date)
    share.add_icons(made.share, made.python, made.work, made.log)
    return made


def desktop_entry() -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(share.FILES / "clover-gui.desktop", encoding="utf-8")
    return dict(parser["Desktop Entry"])


# ------------------------------------------------------------ facts


def test_desktop_entry_opens_model_files_and_is_found_by_its_window() -> None:
    entry = desktop_entry()
    assert entry["Exec"] == "clover-gui %f"
    types = ElementTree.parse(share.FILES / "clover-gui.xml").getroot()
    mime = {"m": "http://www.freedesktop.org/standards/shared-mime-info"}
    assert entry["MimeType"] == types.find("m:mime-type", mime).get("type") + ";"  # type: ignore[union-attr,operator]
    assert types.find(".//m:glob", mime).get("pattern") == "*.gguf"  # type: ignore[union-attr]
    # Qt tells the desktop this name; an entry of another name would get a second, nameless icon.
    source = (places.ROOT / "clover_gui" / "ui" / "application.py").read_text(encoding="utf-8")
    assert f'setDesktopFileName("{identity.DESKTOP_ID.removesuffix(".desktop")}")' in source
    assert entry["StartupWMClass"] == entry["Icon"] == "clover-gui"
    for key in ("GenericName", "Comment", "Keywords"):
        assert entry[f"{key}[de]"]


def test_description_names_this_version_and_the_entry(job: Job) -> None:
    root = ElementTree.parse(job.share / "metainfo" / f"{identity.APP_ID}.metainfo.xml").getroot()
    assert root.findtext("id") == identity.APP_ID
    assert root.findtext("launchable") == identity.DESKTOP_ID
    release = root.find("releases/release")
    assert release is not None
    assert release.attrib == {"version": clover_gui.__version__, "date": "2026-12-01"}


def test_no_template_word_is_left(job: Job) -> None:
    for path in job.share.rglob("*"):
        if path.is_file() and path.suffix != ".png":
            assert not re.search(rb"@[A-Z_]+@", path.read_bytes()), path


def test_icons_are_there_in_all_sizes(job: Job) -> None:
    for size in (16, 48, 256):
        picture = job.share / "icons" / "hicolor" / f"{size}x{size}" / "apps" / "clover-gui.png"
        header = picture.read_bytes()[:24]
        assert header[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(header[16:20], "big") == size


def test_package_depends_on_everything_that_the_program_asks_for() -> None:
    wanted = deb.depends((2, 35))
    for kind in ("xcb", "wayland", "engine"):
        for part in LIBRARIES[kind]:
            assert " | ".join(part.debian) in wanted, part.name
    assert "libc6 (>= 2.35)" in wanted
    assert "ca-certificates" in wanted


def test_changelog_of_the_package_has_the_newest_section() -> None:
    text = "# Changes\n\n## 0.2.0\n\n- One `thing`\n  goes on.\n- Two.\n\n## 0.1.0\n\n- Old.\n"
    made = deb.changelog(text, "0.2.0", EPOCH_S)
    assert made.splitlines()[0] == "clover-gui (0.2.0) stable; urgency=medium"
    assert "  * One thing goes on.\n  * Two.\n" in made
    assert "Old" not in made
    assert made.splitlines()[-1].endswith("Tue, 01 Dec 2026 00:00:00 -0000")


# ------------------------------------------------------------ packages


@needs("dpkg-deb")
def test_deb_has_its_files_and_is_the_same_twice(job: Job) -> None:
    first = deb.make(job)
    content = first.read_bytes()
    names = re.findall(r"\s\./(\S+)", run("dpkg-deb", "--contents", first).stdout)
    assert {
        "usr/lib/clover-gui/clover-gui",
        "usr/lib/clover-gui/_internal/data.txt",
        "usr/bin/clover-gui",
        "usr/share/applications/clover-gui.desktop",
        "usr/share/mime/packages/clover-gui.xml",
        f"usr/share/metainfo/{identity.APP_ID}.metainfo.xml",
        "usr/share/icons/hicolor/scalable/apps/clover-gui.svg",
        "usr/share/icons/hicolor/48x48/apps/clover-gui.png",
        "usr/share/man/man1/clover-gui.1.gz",
        "usr/share/doc/clover-gui/copyright",
        "usr/share/doc/clover-gui/changelog.gz",
        "usr/share/doc/clover-gui/licences/README.txt",
    } <= set(names)
    assert run("dpkg-deb", "-f", first, "Version").stdout.strip() == clover_gui.__version__
    assert first.name == f"clover-gui_{clover_gui.__version__}_amd64.deb"
    assert deb.make(job).read_bytes() == content


@needs("dpkg-deb")
@needs("lintian")
def test_deb_passes_the_distributions_lint(job: Job) -> None:
    done = run("lintian", "--allow-root", "--fail-on", "error,warning", deb.make(job))
    assert done.returncode == 0, done.stdout


@needs("xz")
def test_archive_installs_for_one_person_and_leaves_nothing(job: Job, tmp_path: Path) -> None:
    archive = tarball.make(job)
    assert archive.read_bytes() == tarball.make(job).read_bytes()
    run("tar", "-xf", archive, "-C", tmp_path)
    unpacked = tmp_path / f"clover-gui-{clover_gui.__version__}"
    home = tmp_path / 'a home "with" $marks'
    (home / ".local" / "share" / "applications").mkdir(parents=True)
    (home / ".local" / "share" / "applications" / "other.desktop").write_text("")
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    assert run("sh", unpacked / "install.sh", env=environ).returncode == 0
    entry = home / ".local" / "share" / "applications" / "clover-gui.desktop"
    command = next(line for line in entry.read_text().splitlines() if line.startswith("Exec="))
    # As the desktop reads it: first the string's own backslashes, then those of the quotes.
    quoted = command.removeprefix("Exec=").removesuffix(" %f").replace("\\\\", "\\")
    program = re.sub(r"\\(.)", r"\1", quoted.strip('"'))
    assert program == str(home / ".local" / "lib" / "clover-gui" / "clover-gui.sh")
    assert run(program, env=environ).returncode == 0
    assert run("sh", unpacked / "install.sh", env=environ).returncode == 0, "a second time replaces it"
    assert run(home / ".local" / "lib" / "clover-gui" / "uninstall.sh", env=environ).returncode == 0
    left = [path for path in (home / ".local").rglob("*") if path.is_file()]
    assert {path.name for path in left} <= {"other.desktop", "mimeinfo.cache"} | _mime_files(left)
    assert not (home / ".local" / "lib").exists()


def _mime_files(paths: list[Path]) -> set[str]:
    """What the system's own tool writes about file types."""
    return {path.name for path in paths if "mime" in path.parts}


@pytest.mark.parametrize("place", [paths.PORTABLE_NAME, f"program/{paths.PORTABLE_NAME}"])
def test_portable_data_survives_update_and_removal(job: Job, tmp_path: Path, place: str) -> None:
    tarball.lay_out(job, tmp_path / "unpacked")
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    install = tmp_path / "unpacked" / "install.sh"
    installed = tmp_path / "home" / ".local" / "lib" / "clover-gui"
    run("sh", install, env=environ)
    (installed / place).mkdir()
    (installed / place / "chats.sqlite3").write_text("chats")
    run("sh", install, env=environ)
    assert run("sh", installed / "uninstall.sh", env=environ).returncode == 1
    assert (installed / place / "chats.sqlite3").read_text() == "chats"


def test_a_folder_beside_the_launcher_makes_it_portable(job: Job, tmp_path: Path) -> None:
    tarball.lay_out(job, tmp_path)
    (tmp_path / "program" / "clover-gui").write_text('#!/bin/sh\necho "$CLOVER_DATA_DIR"\n')
    assert run(tmp_path / "clover-gui.sh").stdout.strip() == ""
    (tmp_path / paths.PORTABLE_NAME).mkdir()
    assert run(tmp_path / "clover-gui.sh").stdout.strip() == str(tmp_path / paths.PORTABLE_NAME)


def test_uninstall_refuses_to_remove_a_folder_that_it_did_not_make(job: Job, tmp_path: Path) -> None:
    tarball.lay_out(job, tmp_path / "x" / "unpacked")
    done = run(tmp_path / "x" / "unpacked" / "uninstall.sh")
    assert done.returncode == 1
    assert (tmp_path / "x" / "unpacked" / "program").is_dir()


def test_what_is_missing_is_shown_where_nobody_sees_a_terminal(job: Job, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    tarball.lay_out(job, folder)
    program = folder / "program" / "clover-gui"
    program.write_text(f"#!/bin/sh\n{MISSING_LIBRARY}\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "zenity").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{tmp_path}/shown"\n')
    (tools / "zenity").chmod(0o755)
    environ = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = run(folder / "clover-gui.sh", env=environ)
    assert done.returncode == 3
    assert "libxcb-cursor.so.0" in done.stderr
    assert "libxcb-cursor.so.0" in (tmp_path / "shown").read_text()


def test_appimage_folder_starts_the_program(job: Job) -> None:
    folder = appimage.lay_out(job)
    for name in ("AppRun", "clover-gui.desktop", "clover-gui.png", ".DirIcon"):
        assert (folder / name).exists()
    assert run(folder / "AppRun").returncode == 0


@needs("xz")
def test_flatpak_commands_make_a_whole_application(job: Job, tmp_path: Path) -> None:
    """The manifest's own commands, with another place for /app."""
    archive = tarball.make(job)
    text = flatpak.manifest(archive, job.version, job.date)
    assert f"path: ../{archive.name}" in text
    assert not re.search(r"@[A-Z_0-9]+@", text)
    section = text.partition("build-commands:\n")[2].partition("    sources:")[0]
    app = tmp_path / "app"
    source = tmp_path / "source"
    tarball.lay_out(job, source)
    for line in section.splitlines():
        command = re.sub(r"(?<!\w)/app(?=/)", str(app), line.strip().removeprefix("- "))
        done = run("sh", "-c", command, cwd=source)
        assert done.returncode == 0, (command, done.stderr)
    assert run(app / "bin" / "clover-gui").returncode == 0
    exported = [
        path for path in (app / "share").rglob("*") if path.is_file() and path.name != "clover-gui.1.gz"
    ]
    # Only files with the application's own name are exported from the sandbox.
    assert [path for path in exported if not path.name.startswith(identity.APP_ID)] == []
    entry = (app / "share" / "applications" / f"{identity.APP_ID}.desktop").read_text(encoding="utf-8")
    assert f"Icon={identity.APP_ID}\n" in entry


# ------------------------------------------------------------ lints


@needs("desktop-file-validate")
def test_desktop_entry_is_valid(job: Job) -> None:
    done = run("desktop-file-validate", job.share / "applications" / identity.DESKTOP_ID)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs("appstreamcli")
def test_description_is_valid(job: Job) -> None:
    file = job.share / "metainfo" / f"{identity.APP_ID}.metainfo.xml"
    done = run("appstreamcli", "validate", "--no-net", file)
    assert done.returncode == 0, done.stdout


@needs("shellcheck")
def test_scripts_are_clean() -> None:
    scripts = [*sorted(share.FILES.glob("*.sh")), share.FILES / "AppRun"]
    done = run("shellcheck", *scripts)
    assert done.returncode == 0, done.stdout


@needs("man")
def test_manual_page_is_clean() -> None:
    done = run("man", "--warnings", "-l", share.FILES / "clover-gui.1", env={**os.environ, "MANWIDTH": "80"})
    assert (done.returncode, done.stderr) == (0, "")


@needs("flatpak-builder")
@needs("xz")
def test_flatpak_manifest_is_read(job: Job) -> None:
    tarball.make(job)
    done = run("flatpak-builder", "--show-manifest", flatpak.make(job))
    assert done.returncode == 0, done.stderr
    assert f'"id" : "{identity.APP_ID}"' in done.stdout
