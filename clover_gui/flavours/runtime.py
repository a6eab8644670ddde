"""CUDA's own libraries, which the published engines do not bring: where this machine may have them already.

The driver alone does not bring them. A toolkit, another program for local models or a Python package of
NVIDIA's often does, in a folder that the system's loader does not search. Looks only; changes nothing there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

# Only these are ever taken from elsewhere: whoever may put other libraries there is not asked.
_RUNTIME = re.compile(r"^(lib)?(cudart|cublas|cublaslt|nvrtc)[\w.-]*\.(so[.\d]*|dll)$", re.IGNORECASE)
_LINUX_PLACES = (
    "/usr/local/cuda/lib64",
    "/usr/local/cuda-*/lib64",
    "/usr/local/cuda/targets/*/lib",
    "/opt/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/local/lib/ollama",
    "/usr/local/lib/ollama/cuda_v*",
    "/usr/lib/ollama",
    "/usr/lib/ollama/cuda_v*",
)
_WINDOWS_PLACES = (
    "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v*/bin",
    "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v*/bin/x64",
)


def is_runtime(name: str) -> bool:
    """Whether a library belongs to CUDA's runtime."""
    return _RUNTIME.match(name) is not None


def runtime_places(environment: Mapping[str, str] | None = None, root: Path = Path("/")) -> tuple[Path, ...]:
    """Folders that may hold the runtime, the person's own choice (CUDA_PATH, CUDA_HOME) first."""
    environment = os.environ if environment is None else environment
    part = "bin" if sys.platform == "win32" else "lib64"
    found = [Path(environment[name]) / part for name in ("CUDA_PATH", "CUDA_HOME") if environment.get(name)]
    if sys.platform == "win32":
        drive = Path(environment.get("SystemDrive", "C:") + "\\")
        found += _matching(drive, _WINDOWS_PLACES)
        programs = environment.get("LOCALAPPDATA", "")
        found += _matching(
            Path(programs), ("Programs/Ollama/lib/ollama", "Programs/Ollama/lib/ollama/cuda_v*")
        )
    elif sys.platform == "linux":
        found += _matching(root, [place.removeprefix("/") for place in _LINUX_PLACES])
    return tuple(dict.fromkeys(found))


def find_runtime(name: str, places: Iterable[Path]) -> Path | None:
    """The first folder that holds this library; None for one that is not of the runtime."""
    if not is_runtime(name):
        return None
    for place in places:
        try:
            if (place / name).is_file():
                return place
        except OSError:
            continue
    return None


def _matching(root: Path, patterns: Iterable[str]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        try:
            # The newest version first.
            found += sorted((place for place in root.glob(pattern) if place.is_dir()), reverse=True)
        except (OSError, ValueError):
            continue
    return found
