"""Which shared libraries of the system the window and the engine need, and which packages bring them.

Used before anything is installed and before Qt is imported, so only the standard library may be imported
here. Qt's own message names ``xcb-cursor`` even when another library is what is missing; this names all.
The table lists what the Qt libraries, the platform plugins and the engine link to and do not bring along.
"""

from __future__ import annotations

import ctypes
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

OS_RELEASE = Path("/etc/os-release")


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A shared library (by its soname) or a tool (by its command) and the packages that hold it.

    ``debian`` has more than one name where a release renamed the package: the newest name first.
    """

    name: str
    debian: tuple[str, ...]
    fedora: str
    arch: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """A Linux distribution. ``family`` is "debian", "fedora", "arch" or "other"; ``id`` as in os-release."""

    family: str
    id: str = ""
    name: str = ""
    version: tuple[int, ...] = ()


def _part(name: str, debian: str, fedora: str, arch: str) -> SystemPart:
    return SystemPart(name, tuple(debian.split()), fedora, arch)


_EVERY_WINDOW = (
    _part("libstdc++.so.6", "libstdc++6", "libstdc++", "gcc-libs"),
    _part("libglib-2.0.so.0", "libglib2.0-0t64 libglib2.0-0", "glib2", "glib2"),
    _part("libGL.so.1", "libgl1", "libglvnd-glx", "libglvnd"),
    _part("libEGL.so.1", "libegl1", "libglvnd-egl", "libglvnd"),
    _part("libfontconfig.so.1", "libfontconfig1", "fontconfig", "fontconfig"),
    _part("libfreetype.so.6", "libfreetype6", "freetype", "freetype2"),
    _part("libdbus-1.so.3", "libdbus-1-3", "dbus-libs", "dbus"),
    _part("libxkbcommon.so.0", "libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    _part("libX11.so.6", "libx11-6", "libX11", "libx11"),
    _part("libz.so.1", "zlib1g", "zlib", "zlib"),
    _part("libzstd.so.1", "libzstd1", "libzstd", "zstd"),
    # The next two belong to Qt's network part, which the second start uses to find the first.
    _part("libgssapi_krb5.so.2", "libgssapi-krb5-2", "krb5-libs", "krb5"),
    _part("libbrotlidec.so.1", "libbrotli1", "libbrotli", "brotli"),
)

_X11 = (
    _part("libxkbcommon-x11.so.0", "libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
    _part("libX11-xcb.so.1", "libx11-xcb1", "libX11-xcb", "libx11"),
    _part("libxcb.so.1", "libxcb1", "libxcb", "libxcb"),
    _part("libxcb-cursor.so.0", "libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    _part("libxcb-icccm.so.4", "libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    _part("libxcb-image.so.0", "libxcb-image0", "xcb-util-image", "xcb-util-image"),
    _part("libxcb-keysyms.so.1", "libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    _part("libxcb-randr.so.0", "libxcb-randr0", "libxcb", "libxcb"),
    _part("libxcb-render.so.0", "libxcb-render0", "libxcb", "libxcb"),
    _part("libxcb-render-util.so.0", "libxcb-render-util0", "xcb-util-renderutil", "xcb-util-renderutil"),
    _part("libxcb-shape.so.0", "libxcb-shape0", "libxcb", "libxcb"),
    _part("libxcb-shm.so.0", "libxcb-shm0", "libxcb", "libxcb"),
    _part("libxcb-sync.so.1", "libxcb-sync1", "libxcb", "libxcb"),
    _part("libxcb-util.so.1", "libxcb-util1", "xcb-util", "xcb-util"),
    _part("libxcb-xfixes.so.0", "libxcb-xfixes0", "libxcb", "libxcb"),
    _part("libxcb-xkb.so.1", "libxcb-xkb1", "libxcb", "libxcb"),
)

_WAYLAND = (
    _part("libwayland-client.so.0", "libwayland-client0", "libwayland-client", "wayland"),
    _part("libwayland-cursor.so.0", "libwayland-cursor0", "libwayland-cursor", "wayland"),
)

_ENGINE = (
    _part("libstdc++.so.6", "libstdc++6", "libstdc++", "gcc-libs"),
    _part("libgomp.so.1", "libgomp1", "libgomp", "gcc-libs"),
)

LIBRARIES: Mapping[str, tuple[SystemPart, ...]] = {
    "offscreen": _EVERY_WINDOW,
    "xcb": _EVERY_WINDOW + _X11,
    "wayland": _EVERY_WINDOW + _WAYLAND,
    "engine": _ENGINE,
}
"""Per Qt platform (and for "engine") all libraries that have to be there."""

XVFB = _part("Xvfb", "xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb")
COMPILER = _part("g++", "g++", "gcc-c++", "gcc")
VENV = _part("ensurepip", "python3-venv", "python3", "python")


def missing_libraries(
    platform: str = "xcb", loader: Callable[[str], object] = ctypes.CDLL
) -> tuple[SystemPart, ...]:
    """The libraries of one Qt platform ("xcb", "wayland", "offscreen") or "engine" that cannot be loaded.

    Always empty on systems other than Linux. Platforms that we know nothing of need what every window needs.
    """
    if sys.platform != "linux":
        return ()
    missing = []
    for part in LIBRARIES.get(platform, _EVERY_WINDOW):
        try:
            loader(part.name)
        except OSError:
            missing.append(part)
    return tuple(missing)


def window_platforms(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The Qt platforms that could show a window in this session, the likeliest first; empty: no screen."""
    if chosen := environ.get("QT_QPA_PLATFORM"):
        return tuple(name.partition(":")[0] for name in chosen.split(";") if name)
    platforms = []
    if environ.get("DISPLAY"):
        platforms.append("xcb")
    if environ.get("WAYLAND_DISPLAY"):
        platforms.append("wayland")
    return tuple(platforms)


def missing_for_window(
    environ: Mapping[str, str], loader: Callable[[str], object] = ctypes.CDLL
) -> tuple[SystemPart, ...]:
    """What this session's window lacks: empty as soon as one of the possible platforms is complete."""
    first: tuple[SystemPart, ...] = ()
    for platform in window_platforms(environ) or ("offscreen",):
        missing = missing_libraries(platform, loader)
        if not missing:
            return ()
        first = first or missing
    return first


def distribution(os_release: Path = OS_RELEASE) -> Distribution:
    """The distribution that this machine runs, from its os-release file; "other" when it cannot be told."""
    try:
        text = os_release.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Distribution("other")
    fields = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals:
            fields[key.strip()] = value.strip().strip("\"'")
    own = fields.get("ID", "").lower()
    names = {own, *fields.get("ID_LIKE", "").lower().split()}
    family = "other"
    for candidate, members in (
        ("debian", {"debian", "ubuntu"}),
        ("fedora", {"fedora", "rhel", "centos"}),
        ("arch", {"arch", "archlinux"}),
    ):
        if names & members:
            family = candidate
            break
    version = []
    for piece in fields.get("VERSION_ID", "").split("."):
        if not piece.isdigit():
            break
        version.append(int(piece))
    return Distribution(family, own, fields.get("PRETTY_NAME", own), tuple(version))


def package_names(
    parts: Iterable[SystemPart],
    system: Distribution,
    is_known: Callable[[str], bool] | None = None,
) -> tuple[str, ...]:
    """The packages that hold the parts, each once, in the order of the parts; empty for an unknown family.

    ``is_known`` asks the package manager whether it has a package of that name. Without it the names go by
    the release: Debian 13 and Ubuntu 24.04 renamed packages whose time stamps became 64 bits wide (t64).
    """
    names: list[str] = []
    for part in parts:
        if system.family == "debian":
            name = _debian_name(part.debian, system, is_known)
        elif system.family == "fedora":
            name = part.fedora
        elif system.family == "arch":
            name = part.arch
        else:
            continue
        if name not in names:
            names.append(name)
    return tuple(names)


def _debian_name(
    candidates: tuple[str, ...], system: Distribution, is_known: Callable[[str], bool] | None
) -> str:
    if len(candidates) == 1:
        return candidates[0]
    if is_known is not None:
        return next((name for name in candidates if is_known(name)), candidates[-1])
    renamed_in = (24, 4) if system.id == "ubuntu" else (13,)
    # Debian's rolling releases have no version; derived ones count differently, their virtual names help.
    rolling = system.id == "debian" and not system.version
    known_release = system.id in ("debian", "ubuntu")
    renamed = rolling or (known_release and system.version >= renamed_in)
    return candidates[0] if renamed else candidates[-1]


def install_command(
    parts: Iterable[SystemPart],
    system: Distribution,
    is_known: Callable[[str], bool] | None = None,
) -> tuple[str, ...] | None:
    """The command that installs the parts, to be run as root; None when the family is unknown."""
    names = package_names(parts, system, is_known)
    if not names:
        return None
    if system.family == "debian":
        return ("apt-get", "install", "-y", "--no-install-recommends", *names)
    if system.family == "fedora":
        return ("dnf", "install", "-y", *names)
    return ("pacman", "-S", "--needed", "--noconfirm", *names)


def explain_missing(parts: Iterable[SystemPart], system: Distribution | None = None) -> str:
    """Sentences that name everything that is missing and the exact command that brings it.

    ``system`` is this machine's distribution unless given.
    """
    parts = tuple(parts)
    system = system or distribution()
    what = ", ".join(part.name for part in parts)
    command = install_command(parts, system)
    if command is None:
        return f"This system lacks: {what}. Please install the packages that hold them, then start again."
    how = shlex.join(("sudo", *command))
    return f"This system lacks: {what}. To install them, run:\n    {how}\nThen start again."
