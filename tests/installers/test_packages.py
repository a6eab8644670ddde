"""Which system packages a start needs, and what happens where they cannot be installed."""

from __future__ import annotations

import shutil
import sys
from io import StringIO
from pathlib import Path

import pytest

from clover_gui import system_libraries
from clover_gui.system_libraries import Distribution, SystemPart
from installers import arguments, child, packages
from installers.console import Console
from installers.packages import Needs, PackagesMissing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems need no packages")

DEBIAN = Distribution("debian", "debian", "Debian GNU/Linux 12", (12,))
SCREEN = {"DISPLAY": ":0"}
ICCCM = next(part for part in system_libraries.LIBRARIES["xcb"] if part.name == "libxcb-icccm.so.4")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without X libraries, tools, and ensurepip."""

    def missing(platform: str = "xcb", loader: object = None) -> tuple[SystemPart, ...]:
        return (ICCCM,) if platform == "xcb" else ()

    monkeypatch.setattr(system_libraries, "missing_libraries", missing)
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)


def needs_of(words: list[str], environ: dict[str, str], *, ready: bool = False, build: bool = True) -> Needs:
    return packages.missing(
        arguments.read(words), environ, environment_is_ready=ready, engine_must_be_built=build
    )


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("words", "environ", "required", "wished"),
    [
        ([], SCREEN, ["ensurepip", "libxcb-icccm.so.4"], ["g++"]),
        (["chat"], {}, ["ensurepip", "g++"], []),
        (["--smoke-test"], SCREEN, ["ensurepip", "libxcb-icccm.so.4", "g++"], []),
        (["--smoke-test"], {}, ["ensurepip", "libxcb-icccm.so.4", "Xvfb", "g++"], []),
        (["test"], SCREEN, ["ensurepip", "libxcb-icccm.so.4", "Xvfb", "g++"], []),
        (["test"], {"QT_QPA_PLATFORM": "offscreen"}, ["ensurepip", "libxcb-icccm.so.4", "Xvfb", "g++"], []),
        (["--setup-only"], {}, ["ensurepip", "libxcb-icccm.so.4", "g++"], []),
    ],
)
def test_needs_follow_the_purpose(
    words: list[str], environ: dict[str, str], required: list[str], wished: list[str]
) -> None:
    found = needs_of(words, environ)
    assert [part.name for part in found.required] == required
    assert [part.name for part in found.wished] == wished


@pytest.mark.usefixtures("bare")
def test_what_is_set_up_needs_no_tools() -> None:
    assert needs_of(["chat"], {}, ready=True, build=False) == Needs()


def test_without_rights_the_exact_command_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages, "_is_root", lambda: False)
    monkeypatch.setattr(system_libraries, "distribution", lambda: DEBIAN)
    console = Console(StringIO())
    with pytest.raises(PackagesMissing) as caught:
        packages.install(Needs((ICCCM,)), console, tmp_path / "log")
    command = "sudo apt-get install -y --no-install-recommends libxcb-icccm4"
    assert "libxcb-icccm.so.4" in caught.value.reason
    assert command in caught.value.reason


def test_a_wish_without_rights_is_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages, "_is_root", lambda: False)
    packages.install(Needs((), (system_libraries.COMPILER,)), Console(StringIO()), tmp_path / "log")


def test_root_refreshes_the_lists_when_a_package_is_not_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], *rest: object, **options: object) -> tuple[str, ...]:
        commands.append(list(command))
        return ()

    monkeypatch.setattr(packages, "_is_root", lambda: True)
    monkeypatch.setattr(packages, "_apt_knows", lambda name: len(commands) > 0)
    monkeypatch.setattr(system_libraries, "distribution", lambda: DEBIAN)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(child, "run", run)
    packages.install(Needs((ICCCM,)), Console(StringIO()), tmp_path / "log")
    assert [command[1] for command in commands] == ["update", "install"]
    assert commands[-1][-1] == "libxcb-icccm4"


def test_a_failed_installation_shows_why_and_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(command: list[str], *rest: object, **options: object) -> tuple[str, ...]:
        raise child.ChildFailed(100, ("E: Could not get lock",))

    monkeypatch.setattr(packages, "_is_root", lambda: True)
    monkeypatch.setattr(packages, "_apt_knows", lambda name: True)
    monkeypatch.setattr(system_libraries, "distribution", lambda: DEBIAN)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(child, "run", run)
    with pytest.raises(PackagesMissing, match="Could not get lock") as caught:
        packages.install(Needs((ICCCM,)), Console(StringIO()), tmp_path / "log")
    assert "libxcb-icccm4" in caught.value.next_step
