"""The trial of a set of libraries: a child of its own loads them, says what it sees, and computes something.

Only what passes is ever chosen. The child is the program's ordinary engine child, with the folder as its
libraries; its death costs nothing.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import EngineInfo, Finished, LoadSettings, PromptMessage, Sampling
from clover_gui.engine.start_fault import FaultKind, fault_of
from clover_gui.errors import EngineError, FlavourRefused
from clover_gui.flavours.runtime import find_runtime
from clover_gui.flavours.trial_model import write_trial_model
from clover_gui.i18n import capped

_TIMEOUT_S = 180.0  # a first start on a graphics card compiles its kernels
_TOKENS = 4
_ALL_LAYERS = 99

# The features that the engine's own report names, and what systems call them.
_REPORTED = {
    "AVX": "avx",
    "AVX2": "avx2",
    "AVX512": "avx512f",
    "AVX512_BF16": "avx512_bf16",
    "AVX512_VNNI": "avx512_vnni",
    "AVX_VNNI": "avx_vnni",
    "AMX_INT8": "amx_int8",
    "BMI2": "bmi2",
    "F16C": "f16c",
    "FMA": "fma",
}


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial found: the graphics devices by name, whether the build can use any at all, and the folders
    of this machine from which a part of CUDA's runtime was needed."""

    devices: tuple[str, ...]
    gpu_offload: bool
    version: str
    search: tuple[str, ...] = ()


async def try_out(
    folder: Path,
    backend: str,
    features: frozenset[str] = frozenset(),
    places: Sequence[Path] = (),
    command: list[str] | None = None,
) -> Trial:
    """Load the libraries in ``folder`` in a child and let it compute. ``features`` are the processor's, empty
    where they are not known; ``places`` are looked through for parts of CUDA's runtime that are missing.

    Raises:
        FlavourRefused: how it failed. ``what`` names the library, symbol or feature.
    """
    search: list[str] = []
    while True:
        try:
            return await _try_once(folder, backend, features, search, command)
        except FlavourRefused as refused:
            found = find_runtime(refused.what, places) if refused.kind == "missing-library" else None
            # Each folder once: a library that is there and is not found for all that is another matter.
            if found is None or str(found) in search:
                raise
            search.append(str(found))


async def _try_once(
    folder: Path, backend: str, features: frozenset[str], search: Sequence[str], command: list[str] | None
) -> Trial:
    client = EngineClient(command, libraries=_Given(str(folder), tuple(search)))
    step = "does-not-start"
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            info = await client.describe()
            _check(info, folder, backend, features)
            step = "does-not-compute"
            await _compute(client, info)
    except TimeoutError as error:
        raise FlavourRefused(step, detail="no answer in time", log_lines=client.log_lines) from error
    except EngineError as error:
        raise _refusal(error, step, folder) from error
    finally:
        await client.close()
    return Trial(_devices(info), info.gpu_offload, info.engine_version, tuple(search))


@dataclass(frozen=True, slots=True)
class _Given:
    """Libraries for the trial: these and no others."""

    place: str
    search: tuple[str, ...]

    def folder(self) -> str:
        return self.place

    def search_path(self, folder: str) -> tuple[str, ...]:
        return self.search

    def started(self, folder: str) -> None:
        """The trial looks at its results itself."""

    def failed(self, folder: str, error: EngineError) -> bool:
        return False


def _refusal(error: EngineError, step: str, folder: Path) -> FlavourRefused:
    fault = fault_of(error, folder)
    kind = step if fault.kind is FaultKind.OTHER else fault.kind.value
    return FlavourRefused(kind, fault.what, log_lines=error.log_lines, detail=capped(error.reason, 300))


def _check(info: EngineInfo, folder: Path, backend: str, features: frozenset[str]) -> None:
    if not _same_place(Path(info.library_folder), folder):
        raise FlavourRefused("does-not-start", detail=f"it loaded {info.library_folder}")
    used = {_REPORTED[name] for name in re.findall(r"(\w+) = 1", info.system_info) if name in _REPORTED}
    if features and (strange := sorted(used - features)):
        raise FlavourRefused("illegal-instruction", ", ".join(strange))
    if backend != "cpu" and not info.gpu_offload:
        raise FlavourRefused("no-device", backend)


async def _compute(client: EngineClient, info: EngineInfo) -> None:
    """Some tokens of the trial model, on the graphics device where there is one."""
    with tempfile.TemporaryDirectory(prefix="clover-trial-", ignore_cleanup_errors=True) as place:
        model = Path(place) / "trial.gguf"
        await asyncio.to_thread(write_trial_model, model)
        on_gpu = bool(_devices(info))
        await client.load(
            LoadSettings(
                str(model), context=256, batch=32, threads=1, gpu_layers=_ALL_LAYERS if on_gpu else 0
            )
        )
        question = (PromptMessage("user", "Hello"),)
        answer = client.generate(question, sampling=Sampling(temperature=0.0), max_tokens=_TOKENS)
        async for event in answer:
            if isinstance(event, Finished):
                break
        await client.close()  # before the file goes: the child has it mapped


def _devices(info: EngineInfo) -> tuple[str, ...]:
    return tuple(
        capped(device.description or device.name) for device in info.devices if device.type in ("gpu", "igpu")
    )


def _same_place(found: Path, folder: Path) -> bool:
    try:
        return found.resolve() == folder.resolve()
    except OSError:
        return False
