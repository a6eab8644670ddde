"""What the main processor is: name, cores that this process may use, and the features that decide speed.

Each system tells it in its own way; the readers take their source as an argument, so that records of
other machines can be tested.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

from clover_gui.hardware.cgroup import Limits
from clover_gui.hardware.machine import Processor
from clover_gui.i18n import capped

# The features that the engine's kernels ask for; everything else is noise.
_KNOWN = frozenset(
    {
        "sse4_2",
        "avx",
        "avx2",
        "fma",
        "f16c",
        "bmi2",
        "avx_vnni",
        "avx512f",
        "avx512bw",
        "avx512vl",
        "avx512_vnni",
        "avx512_bf16",
        "amx_int8",
        "neon",
        "dotprod",
        "i8mm",
        "sve",
        "sve2",
    }
)
_ALIASES = {"asimd": "neon", "asimddp": "dotprod", "avx512vnni": "avx512_vnni", "avxvnni": "avx_vnni"}
# Windows.h: PF_..._AVAILABLE numbers of IsProcessorFeaturePresent.
_WINDOWS_FEATURES = {38: "sse4_2", 39: "avx", 40: "avx2", 41: "avx512f", 43: "dotprod"}

Sysctl = Callable[[str], "str | int | None"]


def read_processor(limits: Limits | None = None) -> Processor:
    """This machine's processor. ``limits`` caps the cores by what a container allows."""
    system = platform.system()
    if system == "Darwin":
        return processor_from_sysctl(sysctl_by_name, platform.machine())
    if system == "Windows":
        return _windows_processor()
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    allowed = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return processor_from_cpuinfo(text, platform.machine(), allowed, limits)


def processor_from_cpuinfo(
    text: str, architecture: str, allowed: frozenset[int] | None = None, limits: Limits | None = None
) -> Processor:
    """From the text of /proc/cpuinfo. ``allowed`` are the processor numbers that this process may run on.

    A physical core is a distinct pair of socket and core number; where the file has no such numbers
    (ARM) every logical processor counts as one.
    """
    name, features = "", frozenset[str]()
    cores: set[tuple[str, str]] = set()
    logical = 0
    for block in text.split("\n\n"):
        fields = dict(_pairs(block))
        name = name or fields.get("model name") or fields.get("Model") or fields.get("Hardware") or ""
        features = features or _clean(fields.get("flags") or fields.get("Features") or "")
        number = fields.get("processor", "")
        if not number.isdigit() or (allowed is not None and int(number) not in allowed):
            continue
        logical += 1
        cores.add((fields.get("physical id", ""), fields.get("core id", f"#{number}")))
    logical = logical or os.cpu_count() or 1
    physical = len(cores) or logical
    quota = limits.processors if limits else None
    if quota is not None:
        logical, physical = min(logical, quota), min(physical, quota)
    return Processor(capped(name) or architecture, architecture, physical, logical, features)


def processor_from_sysctl(sysctl: Sysctl, architecture: str) -> Processor:
    """macOS. On Apple chips the performance cores count as physical: slower ones hold up the rest."""
    text = " ".join(
        str(sysctl(key) or "") for key in ("machdep.cpu.features", "machdep.cpu.leaf7_features")
    ).lower()
    features = set(_clean(text.replace("avx1.0", "avx").replace("sse4.2", "sse4_2")))
    if architecture == "arm64":
        features.add("neon")
        features.update(
            word
            for key, word in (
                ("hw.optional.arm.FEAT_DotProd", "dotprod"),
                ("hw.optional.arm.FEAT_I8MM", "i8mm"),
            )
            if sysctl(key)
        )
    physical = sysctl("hw.perflevel0.physicalcpu") or sysctl("hw.physicalcpu") or 1
    logical = sysctl("hw.logicalcpu") or physical
    name = str(sysctl("machdep.cpu.brand_string") or architecture)
    return Processor(capped(name), architecture, int(physical), int(logical), frozenset(features))


def sysctl_by_name(key: str) -> str | int | None:
    """One value of macOS's sysctl table, or None where it does not exist."""
    libc = ctypes.CDLL(None)
    size = ctypes.c_size_t(0)
    if libc.sysctlbyname(key.encode(), None, ctypes.byref(size), None, 0) != 0 or size.value == 0:
        return None
    buffer = ctypes.create_string_buffer(size.value)
    if libc.sysctlbyname(key.encode(), buffer, ctypes.byref(size), None, 0) != 0:
        return None
    # Integers are 4 or 8 bytes; the strings that are asked for here are longer or end with a zero byte.
    numeric = key.startswith("hw.") and size.value in (4, 8)
    return int.from_bytes(buffer.raw, "little") if numeric else buffer.value.decode("utf-8", "replace")


def _windows_processor() -> Processor:
    name, features = platform.processor(), frozenset[str]()
    if sys.platform == "win32":
        import winreg

        path = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:
            name = str(winreg.QueryValueEx(key, "ProcessorNameString")[0])
        present = ctypes.windll.kernel32.IsProcessorFeaturePresent
        features = frozenset(word for number, word in _WINDOWS_FEATURES.items() if present(number))
    logical = psutil.cpu_count() or 1
    physical = psutil.cpu_count(logical=False) or logical
    return Processor(capped(name), platform.machine(), physical, logical, features)


def _pairs(block: str) -> list[tuple[str, str]]:
    split = (line.partition(":") for line in block.splitlines())
    return [(key.strip(), value.strip()) for key, colon, value in split if colon]


def _clean(text: str) -> frozenset[str]:
    return frozenset(_ALIASES.get(word, word) for word in text.lower().split()) & _KNOWN
