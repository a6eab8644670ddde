"""Which engine backend this machine can use, and in which order the ways to it are tried.

``look`` gathers facts and never raises; ``plan`` is pure. Nothing is installed or built here.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

BACKENDS = ("cpu", "cuda", "vulkan", "metal", "hip")

PROCESSOR_FEATURES = ("sse4_2", "avx", "avx2", "fma", "f16c", "bmi2")
"""The features a redistributable x86-64 build may use, as Linux names them."""

# Published CUDA builds of the binding, newest first: (name in the index, CUDA version).
PUBLISHED_CUDA = (
    ("cu132", (13, 2)),
    ("cu130", (13, 0)),
    ("cu125", (12, 5)),
    ("cu124", (12, 4)),
    ("cu123", (12, 3)),
    ("cu122", (12, 2)),
    ("cu121", (12, 1)),
    ("cu118", (11, 8)),
)

_PROBE_TIMEOUT_S = 10
_PCI_VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the choice depends on. Every field has a value that means "not there"."""

    system: str = "linux"  # sys.platform
    machine: str = "x86_64"
    processor_features: frozenset[str] = frozenset()
    """All feature flags of the processor, lower case; empty where they cannot be read."""
    gpus: tuple[str, ...] = ()
    """"nvidia", "amd", "intel", one word per adapter that was found."""
    nvidia_name: str = ""
    nvidia_capabilities: tuple[str, ...] = ()
    """Compute capabilities such as "86", each once."""
    driver_cuda: tuple[int, int] | None = None
    """The newest CUDA version that the NVIDIA driver serves."""
    has_nvcc: bool = False
    has_vulkan_tools: bool = False
    """glslc and headers new enough for the engine."""
    has_hip: bool = False
    has_compiler: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """A way to an engine. ``source`` is "cached", "published" or "built"; ``index`` names a published set."""

    backend: str
    source: str
    index: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The backend that fits the machine, and the ways in the order they are tried.

    Ways after those of ``wanted`` are second best: whoever takes one has to say so.
    """

    wanted: str
    ways: tuple[Way, ...]


def look() -> Facts:
    """The facts of this machine."""
    gpus = _graphics_adapters()
    name, capabilities, driver_cuda = _nvidia()
    if name and "nvidia" not in gpus:
        gpus = (*gpus, "nvidia")
    return Facts(
        system=sys.platform,
        machine=normal_machine(platform.machine()),
        processor_features=processor_features(),
        gpus=gpus,
        nvidia_name=name,
        nvidia_capabilities=capabilities,
        driver_cuda=driver_cuda,
        has_nvcc=shutil.which("nvcc") is not None,
        has_vulkan_tools=shutil.which("glslc") is not None and _vulkan_headers_fit(_include_folders()),
        has_hip=shutil.which("hipconfig") is not None,
        has_compiler=_has_compiler(),
    )


def plan(facts: Facts, backend: str = "auto", *, rebuild: bool = False) -> Plan:
    """The ways to an engine for these facts; with ``rebuild`` only those that compile."""
    wanted = best_backend(facts) if backend == "auto" else backend
    if backend == "auto" and wanted == "cuda" and not facts.nvidia_name:
        # The driver does not answer: a CUDA engine could not be tried out, let alone used.
        return Plan(wanted, () if rebuild else _ways(facts, "cpu"))
    ways = _ways(facts, wanted)
    if backend == "auto" and wanted != "cpu" and facts.system != "darwin":
        if wanted == "cuda" and (facts.has_vulkan_tools or not facts.has_nvcc):
            ways += _ways(facts, "vulkan")
        ways += _ways(facts, "cpu")
    if rebuild:
        # A second best is not what somebody asks for who wants it built anew.
        ways = tuple(way for way in ways if way.source == "built" and way.backend == wanted)
    return Plan(wanted, ways)


def best_backend(facts: Facts) -> str:
    """The backend that uses this machine best, whether or not it can be had."""
    if facts.system == "darwin":
        return "metal" if facts.machine == "arm64" else "cpu"
    if "nvidia" in facts.gpus:
        return "cuda"
    if "amd" in facts.gpus and facts.has_hip and not facts.has_vulkan_tools:
        return "hip"
    if "amd" in facts.gpus or ("intel" in facts.gpus and facts.has_vulkan_tools):
        return "vulkan"
    return "cpu"


def can_build(facts: Facts, backend: str) -> bool:
    """Whether the tools for this backend are here, the plain compiler left aside."""
    return {
        "cuda": facts.has_nvcc,
        "vulkan": facts.has_vulkan_tools,
        "hip": facts.has_hip,
        "metal": facts.system == "darwin",
    }.get(backend, True)


def _ways(facts: Facts, backend: str) -> tuple[Way, ...]:
    ways = [Way(backend, "cached")]
    ways += [Way(backend, "published", index) for index in _published(facts, backend)]
    if can_build(facts, backend):
        ways.append(Way(backend, "built"))
    return tuple(ways)


def _published(facts: Facts, backend: str) -> tuple[str, ...]:
    """Names of the published sets to try. Those for AMD on Linux lack AVX and are left out."""
    if backend == "cuda":
        if facts.driver_cuda is None:
            return ()
        limit = facts.driver_cuda
        return tuple(name for name, version in PUBLISHED_CUDA if version <= limit)[:2]
    if backend == "hip":
        return ("hip-radeon",) if facts.system == "win32" else ()
    return (backend,)


def build_options(facts: Facts, backend: str) -> tuple[str, ...]:
    """CMake options of a build that also runs on another machine with the same processor features.

    The vector options are spelled out because their defaults depend on the environment; the one for
    features that this processor lacks is OFF, since ON is the default of a portable build.
    """
    options = ["-DGGML_NATIVE=OFF", "-DLLAVA_BUILD=OFF"]
    if facts.machine == "x86_64":
        cmake_names = ("SSE42", "AVX", "AVX2", "FMA", "F16C", "BMI2")
        for feature, cmake_name in zip(PROCESSOR_FEATURES, cmake_names, strict=True):
            state = "ON" if feature in facts.processor_features else "OFF"
            options.append(f"-DGGML_{cmake_name}={state}")
    if backend == "metal":
        options.append("-DGGML_METAL=ON")
    elif facts.system == "darwin":
        options.append("-DGGML_METAL=OFF")
    if backend in ("cuda", "vulkan", "hip"):
        options.append(f"-DGGML_{backend.upper()}=ON")
    if backend == "cuda" and facts.nvidia_capabilities:
        # Only this machine's GPUs: the full list takes many times as long.
        options.append(f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(facts.nvidia_capabilities)}")
    return tuple(options)


def cache_key(facts: Facts, backend: str, version: str) -> str:
    """The folder name of a wheel: machines that share a home folder share it only if it runs on both."""
    key = f"{version}-{backend}-{facts.machine}"
    if facts.machine == "x86_64":
        present = [name for name in PROCESSOR_FEATURES if name in facts.processor_features]
        if len(present) == len(PROCESSOR_FEATURES):
            key += "-avx2"
        else:
            key += "-" + ("-".join(present) or "plain")
    if backend == "cuda" and facts.nvidia_capabilities:
        key += "-sm" + "-".join(facts.nvidia_capabilities)
    return f"{key}-{facts.system}"


def normal_machine(machine: str) -> str:
    """One name per processor family: Windows says AMD64, Linux aarch64."""
    lower = machine.lower()
    return {"amd64": "x86_64", "x64": "x86_64", "aarch64": "arm64"}.get(lower, lower)


def processor_features() -> frozenset[str]:
    """The processor's feature flags by their Linux names; empty where the system does not tell."""
    if sys.platform == "linux":
        try:
            text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
        except OSError:
            return frozenset()
        return parse_cpuinfo(text)
    if sys.platform == "win32":
        return _windows_features()
    if sys.platform == "darwin":
        out = _output("sysctl", "-n", "machdep.cpu.features", "machdep.cpu.leaf7_features")
        words = {word.lower().replace("avx1.0", "avx").replace(".", "_") for word in out.split()}
        return frozenset(words)
    return frozenset()


def parse_cpuinfo(text: str) -> frozenset[str]:
    """The flags of the first processor in a /proc/cpuinfo text."""
    match = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(match.group(1).lower().split()) if match else frozenset()


def _windows_features() -> frozenset[str]:
    # PF_SSE4_2, PF_AVX and PF_AVX2 of IsProcessorFeaturePresent. It does not tell FMA, F16C and BMI2:
    # every processor of Intel and AMD that has AVX2 has them.
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 - absent from the type information elsewhere
    codes = {"sse4_2": 38, "avx": 39, "avx2": 40}
    found = {name for name, code in codes.items() if kernel.IsProcessorFeaturePresent(code)}
    if "avx2" in found:
        found |= {"fma", "f16c", "bmi2"}
    return frozenset(found)


def _graphics_adapters() -> tuple[str, ...]:
    """The makers of the display adapters, by the PCI class that Linux or Windows reports."""
    if sys.platform == "linux":
        return _pci_adapters(Path("/sys/bus/pci/devices"))
    if sys.platform == "win32":
        query = "(Get-CimInstance Win32_VideoController).PNPDeviceID"
        text = _output("powershell", "-NoProfile", "-Command", query).lower()
        return tuple(name for code, name in _PCI_VENDORS.items() if f"ven_{code[2:]}" in text)
    return ()


def _pci_adapters(devices: Path) -> tuple[str, ...]:
    found = []
    try:
        for device in sorted(devices.iterdir()):
            # 0x03xxxx: display controllers, those without a connector included.
            if (device / "class").read_text().startswith("0x03"):
                vendor = _PCI_VENDORS.get((device / "vendor").read_text().strip())
                if vendor:
                    found.append(vendor)
    except OSError:
        pass  # no PCI bus here, or no right to read it: then there is nothing to choose by
    return tuple(found)


def _nvidia() -> tuple[str, tuple[str, ...], tuple[int, int] | None]:
    """Name of the first GPU, all compute capabilities, newest CUDA version of the driver."""
    if shutil.which("nvidia-smi") is None:
        # A GPU on the bus without a driver cannot be used; doctor speaks about it.
        return "", (), None
    table = _output("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader")
    name, capabilities = parse_nvidia_table(table)
    match = re.search(r"CUDA[^:\n]*Version:\s*(\d+)\.(\d+)", _output("nvidia-smi")) if name else None
    return name, capabilities, (int(match.group(1)), int(match.group(2))) if match else None


def parse_nvidia_table(table: str) -> tuple[str, tuple[str, ...]]:
    """Name of the first GPU and the compute capabilities in the lines "name, 8.6"."""
    rows = [line.rsplit(",", 1) for line in table.splitlines() if re.search(r",\s*\d+\.\d+\s*$", line)]
    capabilities = sorted({row[1].strip().replace(".", "") for row in rows}, key=int)
    return (rows[0][0].strip() if rows else ""), tuple(capabilities)


def _include_folders() -> tuple[Path, ...]:
    folders = [Path("/usr/include"), Path("/usr/local/include")]
    if sdk := os.environ.get("VULKAN_SDK"):
        folders = [Path(sdk) / "include", Path(sdk) / "Include", *folders]
    return tuple(folders)


def _vulkan_headers_fit(folders: Iterable[Path]) -> bool:
    """Whether the first headers found know the layer settings, which the engine's sources use."""
    for folder in folders:
        header = folder / "vulkan" / "vulkan_core.h"
        if header.is_file():
            try:
                return "VkLayerSettingEXT" in header.read_text(encoding="utf-8", errors="replace")
            except OSError:
                return False
    return False


def _has_compiler() -> bool:
    if sys.platform == "win32":
        # CMake finds Visual Studio by itself; its installer's locator tells whether one is there.
        program_files = Path(r"C:\Program Files (x86)\Microsoft Visual Studio\Installer\vswhere.exe")
        return shutil.which("cl") is not None or program_files.is_file()
    if sys.platform == "darwin":
        # The stub in /usr/bin is always there; it only works with the command line tools.
        return bool(_output("xcode-select", "-p").strip())
    return any(shutil.which(name) for name in ("g++", "c++", "clang++"))


def _output(*command: str) -> str:
    """What a probe prints; empty when it is missing, fails or takes too long."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
