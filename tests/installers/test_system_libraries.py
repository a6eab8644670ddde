"""Missing system libraries: all are named, with the packages of the distribution at hand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clover_gui import system_libraries as subject
from clover_gui.system_libraries import Distribution

DEBIAN_12 = Distribution("debian", "debian", "Debian GNU/Linux 12", (12,))
DEBIAN_13 = Distribution("debian", "debian", "Debian GNU/Linux 13", (13,))
UBUNTU_22 = Distribution("debian", "ubuntu", "Ubuntu 22.04", (22, 4))
UBUNTU_24 = Distribution("debian", "ubuntu", "Ubuntu 24.04", (24, 4))
FEDORA = Distribution("fedora", "fedora", "Fedora Linux 41", (41,))
ARCH = Distribution("arch", "arch", "Arch Linux")
OTHER = Distribution("other", "void", "Void")

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="other systems bring these libraries")


def loader_without(*names: str) -> Callable[[str], object]:
    """Loads everything but these."""

    def load(name: str) -> object:
        if name in names:
            raise OSError(f"{name}: cannot open shared object file")
        return object()

    return load


@linux_only
def test_all_missing_libraries_are_found_not_only_the_first() -> None:
    missing = subject.missing_libraries("xcb", loader_without("libxcb-icccm.so.4", "libxcb-keysyms.so.1"))
    assert [part.name for part in missing] == ["libxcb-icccm.so.4", "libxcb-keysyms.so.1"]


@linux_only
def test_each_platform_has_its_own_libraries() -> None:
    load = loader_without("libxcb-cursor.so.0", "libwayland-cursor.so.0")
    assert [part.name for part in subject.missing_libraries("xcb", load)] == ["libxcb-cursor.so.0"]
    assert [part.name for part in subject.missing_libraries("wayland", load)] == ["libwayland-cursor.so.0"]
    assert subject.missing_libraries("offscreen", load) == ()
    assert subject.missing_libraries("engine", loader_without("libgomp.so.1"))


@linux_only
def test_one_complete_platform_is_enough_for_a_window() -> None:
    session = {"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}
    assert subject.missing_for_window(session, loader_without("libwayland-cursor.so.0")) == ()
    assert subject.missing_for_window(session, loader_without("libxcb-cursor.so.0")) == ()
    both = subject.missing_for_window(session, loader_without("libwayland-cursor.so.0", "libxcb-cursor.so.0"))
    assert [part.name for part in both] == ["libxcb-cursor.so.0"]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ()),
        ({"DISPLAY": ":0"}, ("xcb",)),
        ({"WAYLAND_DISPLAY": "w"}, ("wayland",)),
        ({"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen"}, ("offscreen",)),
        ({"QT_QPA_PLATFORM": "wayland;xcb"}, ("wayland", "xcb")),
        ({"QT_QPA_PLATFORM": "vnc:size=800x600"}, ("vnc",)),
    ],
)
def test_platforms_of_a_session(environ: dict[str, str], expected: tuple[str, ...]) -> None:
    assert subject.window_platforms(environ) == expected


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (DEBIAN_12, "apt-get install -y --no-install-recommends libglib2.0-0 libxcb-icccm4"),
        (UBUNTU_22, "apt-get install -y --no-install-recommends libglib2.0-0 libxcb-icccm4"),
        (DEBIAN_13, "apt-get install -y --no-install-recommends libglib2.0-0t64 libxcb-icccm4"),
        (UBUNTU_24, "apt-get install -y --no-install-recommends libglib2.0-0t64 libxcb-icccm4"),
        (
            Distribution("debian", "debian"),
            "apt-get install -y --no-install-recommends libglib2.0-0t64 libxcb-icccm4",
        ),
        (FEDORA, "dnf install -y glib2 xcb-util-wm"),
        (ARCH, "pacman -S --needed --noconfirm glib2 xcb-util-wm"),
    ],
)
def test_the_command_of_each_distribution(system: Distribution, expected: str) -> None:
    parts = [
        part for part in subject.LIBRARIES["xcb"] if part.name in ("libglib-2.0.so.0", "libxcb-icccm.so.4")
    ]
    command = subject.install_command(parts, system)
    assert command is not None
    assert " ".join(command) == expected
    assert f"sudo {expected}" in subject.explain_missing(parts, system)


def test_the_package_manager_has_the_last_word_on_names() -> None:
    glib = [part for part in subject.LIBRARIES["xcb"] if part.name == "libglib-2.0.so.0"]
    assert subject.package_names(glib, DEBIAN_12, lambda name: name.endswith("t64")) == ("libglib2.0-0t64",)
    assert subject.package_names(glib, DEBIAN_13, lambda name: False) == ("libglib2.0-0",)


def test_packages_are_named_once() -> None:
    names = subject.package_names(subject.LIBRARIES["xcb"], FEDORA)
    assert len(names) == len(set(names))


def test_an_unknown_distribution_gets_the_names_of_the_libraries() -> None:
    parts = subject.LIBRARIES["xcb"][:2]
    assert subject.install_command(parts, OTHER) is None
    text = subject.explain_missing(parts, OTHER)
    assert all(part.name in text for part in parts)
    assert "sudo" not in text


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        ('ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n', "debian", (12,)),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="22"\n', "debian", (22,)),
        ("ID=rocky\nID_LIKE='rhel centos fedora'\nVERSION_ID=9.4\n", "fedora", (9, 4)),
        ("ID=manjaro\nID_LIKE=arch\n", "arch", ()),
        ("ID=nixos\n", "other", ()),
        ("no equals sign\n\n", "other", ()),
    ],
)
def test_distributions_are_told_apart(
    tmp_path: Path, text: str, family: str, version: tuple[int, ...]
) -> None:
    file = tmp_path / "os-release"
    file.write_text(text, encoding="utf-8")
    found = subject.distribution(file)
    assert (found.family, found.version) == (family, version)


def test_a_system_without_that_file_is_other(tmp_path: Path) -> None:
    assert subject.distribution(tmp_path / "absent").family == "other"
