"""Does a wheel's platform tag fit this machine? Only the system and the processor count: the Python tags say
nothing about libraries that the program's own binding loads.
"""

from __future__ import annotations

import platform
import re
import sys
import sysconfig
from dataclasses import dataclass

_LEGACY_GLIBC = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


@dataclass(frozen=True, slots=True)
class Platform:
    """``system`` is "linux", "windows" or "macos"; ``machine`` "x86_64" or "arm64" or the system's word.

    ``libc`` is "glibc" or "musl" with its version on Linux; ``version`` that of macOS.
    """

    system: str
    machine: str
    libc: str = ""
    version: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Misfit:
    """``kind`` is "other-system", "other-processor" or "system-too-old"; the rest as in FlavourRefused."""

    kind: str
    what: str
    needed: str = ""


def this_platform() -> Platform:
    """The machine that the program runs on."""
    machine = normal_machine(platform.machine())
    if sys.platform == "win32":
        return Platform("windows", machine)
    if sys.platform == "darwin":
        return Platform("macos", machine, version=_two(platform.mac_ver()[0]))
    name, version = platform.libc_ver()
    musl = "musl" in (sysconfig.get_config_var("SOABI") or "")
    return Platform("linux", machine, "musl" if musl else (name or "glibc"), _two(version))


def normal_machine(machine: str) -> str:
    """One name per processor family."""
    low = machine.lower()
    return {"amd64": "x86_64", "x64": "x86_64", "aarch64": "arm64"}.get(low, low)


def misfit(tags: list[str], here: Platform) -> Misfit | None:
    """None when one of the platform tags fits; else why the best of them does not."""
    found = [_misfit(tag, here) for tag in tags]
    if None in found or not found:
        return None if found else Misfit("other-system", "")
    order = ("system-too-old", "other-processor", "other-system")
    return min((one for one in found if one is not None), key=lambda one: order.index(one.kind))


def _misfit(tag: str, here: Platform) -> Misfit | None:
    system, libc, version, machine = _parts(tag)
    if system != here.system or (libc and here.libc and libc != here.libc):
        return Misfit("other-system", tag)
    if machine != here.machine and not (machine == "universal2" and system == "macos"):
        return Misfit("other-processor", machine or tag, here.machine)
    if version > here.version > (0, 0):
        names = {"macos": "macOS", "linux": here.libc or "glibc"}
        name = names.get(system, system)
        return Misfit(
            "system-too-old",
            f"{name} {here.version[0]}.{here.version[1]}",
            f"{name} {version[0]}.{version[1]}",
        )
    return None


def _parts(tag: str) -> tuple[str, str, tuple[int, int], str]:
    """System, C library, least version and processor of a platform tag; "" and (0, 0) where it says none."""
    if found := re.fullmatch(r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)", tag):
        libc = "glibc" if found[1] == "manylinux" else "musl"
        return "linux", libc, (int(found[2]), int(found[3])), normal_machine(found[4])
    if found := re.fullmatch(r"(manylinux(?:1|2010|2014))_(\w+)", tag):
        return "linux", "glibc", _LEGACY_GLIBC[found[1]], normal_machine(found[2])
    if found := re.fullmatch(r"linux_(\w+)", tag):
        return "linux", "", (0, 0), normal_machine(found[1])
    if found := re.fullmatch(r"macosx_(\d+)_(\d+)_(\w+)", tag):
        return "macos", "", (int(found[1]), int(found[2])), normal_machine(found[3])
    if found := re.fullmatch(r"win_(\w+)", tag):
        return "windows", "", (0, 0), normal_machine(found[1])
    return ("windows", "", (0, 0), "x86") if tag == "win32" else (tag, "", (0, 0), "")


def _two(version: str) -> tuple[int, int]:
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
