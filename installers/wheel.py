"""Brings a wheel of the engine: from the cache, from the binding's published wheels, or by compiling it.

A wheel is tried in a child before it is kept: one that was built for another processor, or that lacks the
libraries of its GPU, must not end up in the environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from installers import backend, child
from installers.backend import Facts

VERSION = "0.3.36"
"""Of llama-cpp-python, as in pyproject.toml and engine.lock."""

LOCK = Path(__file__).resolve().parent / "engine.lock"
PUBLISHED_INDEX = "https://abetlen.github.io/llama-cpp-python/whl"
"""The binding's own wheels, a folder per backend. CLOVER_ENGINE_INDEX replaces it; empty: not used."""

_CONNECT_TIMEOUT_S = 4
_TRIAL_TIMEOUT_S = 60
_SOURCE_NAME = f"llama_cpp_python-{VERSION}.tar.gz"

# The features that the engine's own report names, and what Linux calls them.
_REPORTED = {
    "AVX": "avx",
    "AVX2": "avx2",
    "AVX512": "avx512f",
    "AVX512_BF16": "avx512_bf16",
    "AVX512_VBMI": "avx512vbmi",
    "AVX512_VNNI": "avx512_vnni",
    "AVX_VNNI": "avx_vnni",
    "AMX_INT8": "amx_int8",
    "BMI2": "bmi2",
    "F16C": "f16c",
    "FMA": "fma",
}

_TRIAL = """
import json, llama_cpp
llama_cpp.llama_backend_init()
print(json.dumps({
    "version": llama_cpp.__version__,
    "gpu_offload": bool(llama_cpp.llama_supports_gpu_offload()),
    "system_info": llama_cpp.llama_print_system_info().decode("utf-8", "replace"),
}))
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a child said that imported the engine. ``failure`` is empty when it worked."""

    failure: str = ""
    version: str = ""
    gpu_offload: bool = False
    system_info: str = ""


class CompileProgress:
    """Reads ninja's ``[12/140]`` out of the lines of a build and estimates the rest."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started_at: float | None = None
        self._done_at_start = 0

    def read(self, line: str) -> tuple[int, int, float | None] | None:
        """(done, total, seconds left or None) of a line with progress, None of any other line."""
        match = re.match(r"\s*\[(\d+)/(\d+)\]\s", line)
        if match is None:
            return None
        done, total = int(match.group(1)), int(match.group(2))
        if not 0 < done <= total:
            return None
        now = self._clock()
        if self._started_at is None:
            self._started_at, self._done_at_start = now, done
        advanced = done - self._done_at_start
        # The first few files say little about the rest.
        if advanced * 20 < total:
            return done, total, None
        return done, total, (now - self._started_at) / advanced * (total - done)


def index_address(environ: Mapping[str, str]) -> str:
    """The address of the published wheels; empty when they are switched off."""
    return environ.get("CLOVER_ENGINE_INDEX", PUBLISHED_INDEX).rstrip("/")


def is_published(address: str, facts: Facts) -> bool:
    """Whether a set of published wheels can be reached and has one for this system."""
    try:
        # The address is ours or the person's own choice.
        with urllib.request.urlopen(f"{address}/llama-cpp-python/", timeout=_CONNECT_TIMEOUT_S) as answer:
            page = answer.read(4_000_000).decode("utf-8", "replace")
    except (OSError, ValueError, urllib.error.URLError):
        return False
    return lists_wheel(page, facts)


def lists_wheel(page: str, facts: Facts) -> bool:
    """Whether an index page names our version for this system and processor."""
    system = {"linux": "linux", "win32": "win", "darwin": "macosx"}.get(facts.system, facts.system)
    machine = {"x86_64": "(?:x86_64|amd64)", "arm64": "(?:arm64|aarch64)"}.get(facts.machine, facts.machine)
    name = rf"llama_cpp_python-{re.escape(VERSION)}-[\w.]+-[\w.]+-[\w.]*{system}[\w.]*{machine}\.whl"
    return re.search(name, page) is not None


def download_published(address: str, work: Path, log: Path) -> Path:
    """Bring the published wheel that pip finds fitting.

    Raises:
        child.ChildFailed: pip found none or could not bring it.
    """
    child.run(
        pip("download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--index-url", f"{address}/",
            "--dest", str(work), f"llama-cpp-python=={VERSION}"),
        log,
    )  # fmt: skip
    return _only_wheel(work)


def bring_source(folder: Path, work: Path, log: Path) -> Path:
    """The source archive, from ``folder`` where an earlier try left it, else from the package index.

    Raises:
        child.ChildFailed: it could not be brought, or it is not the one that engine.lock names.
    """
    kept = folder / _SOURCE_NAME
    if kept.is_file():
        if f"sha256:{_sha256(kept)}" in LOCK.read_text(encoding="utf-8"):
            return kept
        kept.unlink()
    child.run(
        pip("download", "--no-deps", "--no-binary=llama-cpp-python", "--require-hashes", "-r", str(LOCK),
            "--dest", str(work)),
        log,
        environ=_build_environ(work, ()),
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (work / _SOURCE_NAME).replace(kept)
    return kept


def build(
    source: Path,
    options: tuple[str, ...],
    work: Path,
    log: Path,
    on_line: Callable[[str], None],
    *,
    low_priority: bool,
) -> Path:
    """Compile the wheel.

    pip's cache is left out: it knows nothing of the options and would hand out a wheel of another backend.

    Raises:
        child.ChildFailed: the build failed.
    """
    child.run(
        pip("wheel", "-v", "--no-deps", "--no-cache-dir", "--wheel-dir", str(work), str(source)),
        log,
        on_line,
        environ=_build_environ(work, options),
        low_priority=low_priority,
    )
    return _only_wheel(work)


def try_out(wheel: Path, work: Path) -> Trial:
    """Unpack the wheel beside the environment and import it in a child."""
    unpacked = work / "trial"
    shutil.rmtree(unpacked, ignore_errors=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(
                unpacked, [name for name in archive.namelist() if name.startswith("llama_cpp/")]
            )
    except (OSError, zipfile.BadZipFile) as error:
        return Trial(failure=f"the wheel cannot be unpacked: {error}")
    try:
        return try_import(unpacked)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def try_import(folder: Path | None = None) -> Trial:
    """Import the engine in a child, from ``folder`` or from this environment."""
    environ = dict(os.environ)
    environ.pop("LLAMA_CPP_LIB_PATH", None)
    if folder is not None:
        environ["PYTHONPATH"] = str(folder)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _TRIAL],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TRIAL_TIMEOUT_S,
            env=environ,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Trial(failure=str(error))
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        # SIGILL, and the same under Windows: an instruction that this processor does not know.
        if done.returncode in (-4, 0xC000001D):
            last = ["it was built for another processor"]
        return Trial(failure=last[0])
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return Trial("", str(said["version"]), bool(said["gpu_offload"]), str(said["system_info"]))


def objection(trial: Trial, facts: Facts, wanted_backend: str) -> str:
    """Why an engine that was tried must not be used here; empty when all is well."""
    if trial.failure:
        return trial.failure
    if trial.version != VERSION:
        return f"it is version {trial.version}, not {VERSION}"
    if facts.processor_features:
        used = {_REPORTED[name] for name in re.findall(r"(\w+) = 1", trial.system_info) if name in _REPORTED}
        if facts.system == "linux" and (strange := sorted(used - facts.processor_features)):
            return f"it was built for another processor (with {', '.join(strange)})"
    if wanted_backend in ("cuda", "vulkan", "hip") and facts.gpus and not trial.gpu_offload:
        return "it finds no GPU that it can use"
    return ""


def find_cached(folder: Path) -> Path | None:
    """The whole wheel in a cache folder, if there is one."""
    return next(iter(sorted(folder.glob(f"llama_cpp_python-{VERSION}-*.whl"))), None)


def keep(wheel: Path, folder: Path) -> Path:
    """Copy the wheel into the cache; it has its final name only once it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / (wheel.name + ".part")
    shutil.copyfile(wheel, part)
    return part.replace(folder / wheel.name)


def pip(*arguments: str) -> list[str]:
    """A pip command of this interpreter."""
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]


def build_minutes(facts: Facts, name: str) -> int:
    """A rough time for compiling: about 7 minutes of one processor, GPU code several times that."""
    work = 7 if name in ("cpu", "metal") else 40
    return max(1, round(work / (os.cpu_count() or 1) + 0.5))


def _build_environ(work: Path, options: tuple[str, ...]) -> dict[str, str]:
    environ = dict(os.environ)
    # With it the vector options of the engine change their meaning, and the result would be slow.
    environ.pop("SOURCE_DATE_EPOCH", None)
    environ["CMAKE_ARGS"] = " ".join(options)  # no option holds a space, and quotes would stay in
    if sys.platform != "win32":  # there the names of temporary files must stay short
        environ["TMPDIR"] = str(work)
        # Messages of the engine name its source files; the folder of this machine has no place in a package.
        for name in ("CFLAGS", "CXXFLAGS"):
            environ[name] = f"{environ.get(name, '')} -ffile-prefix-map={work}=.".strip()
    return environ


def _only_wheel(work: Path) -> Path:
    return next(iter(work.glob("llama_cpp_python-*.whl")))


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key_folder(cache: Path, facts: Facts, name: str) -> Path:
    """Where the wheel of a backend is kept."""
    return cache / "engine" / backend.cache_key(facts, name, VERSION)
