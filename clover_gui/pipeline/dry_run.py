"""Ask the engine itself what a plan needs, without allocating it: in a child that is thrown away.

A fault of the engine in there costs nothing but the exact figures: the formula's stay, and it is said.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import BufferBytes, LoadSettings
from clover_gui.errors import EngineError, ModelLoadFailed
from clover_gui.planning.budget import RAM_RESERVE_BYTES, Known
from clover_gui.planning.plan import FitPlan, Need

TIME_LIMIT_S = 10.0
# Below this the formula is exact enough for any machine, and the second child would only cost time.
SMALL_FILE_BYTES = 1 << 30
# More apart than this (and than a few MiB), and our formula is at fault.
_AGREED, _AGREED_BYTES = 0.01, 8 << 20

_log = logging.getLogger(__name__)


class DryEngine(Protocol):
    """The part of EngineClient that is needed."""

    async def dry_run(self, settings: LoadSettings) -> tuple[BufferBytes, ...]: ...
    async def close(self) -> None: ...


class DryRunEnd(StrEnum):
    """How a dry run ended; all but DONE leave the formula's figures."""

    DONE = "done"
    SMALL = "small"  # not worth it
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DryRun:
    """The engine's answer. ``seconds`` 0: it was known already."""

    end: DryRunEnd
    buffers: tuple[BufferBytes, ...] = ()
    seconds: float = 0.0
    reason: str = ""


class DryRunner:
    """Runs dry runs, and remembers what was asked before. One for the life of the program."""

    def __init__(
        self,
        make_engine: Callable[[], DryEngine] = EngineClient,
        *,
        time_limit_s: float = TIME_LIMIT_S,
        small_file_bytes: int = SMALL_FILE_BYTES,
    ) -> None:
        self._make_engine = make_engine
        self._time_limit_s = time_limit_s
        self._small_file_bytes = small_file_bytes
        self._known: dict[tuple[LoadSettings, int, int], DryRun] = {}

    async def run(self, settings: LoadSettings) -> DryRun:
        """The buffers of these settings. Never raises but for a cancel."""
        try:
            facts = await asyncio.to_thread(Path(settings.path).stat)
        except OSError as error:
            return DryRun(DryRunEnd.REFUSED, reason=error.strerror or str(error))
        if facts.st_size < self._small_file_bytes:
            return DryRun(DryRunEnd.SMALL)
        key = (replace(settings, threads=0), facts.st_size, facts.st_mtime_ns)
        if key in self._known:
            return replace(self._known[key], seconds=0.0)
        found = await self._ask(settings)
        if found.end is DryRunEnd.DONE:
            self._known[key] = found
        else:
            _log.warning("no dry run (%s): %s; the formula's figures are used", found.end.value, found.reason)
        return found

    async def _ask(self, settings: LoadSettings) -> DryRun:
        engine, started = self._make_engine(), time.monotonic()
        try:
            async with asyncio.timeout(self._time_limit_s):
                buffers = await engine.dry_run(settings)
        except TimeoutError:
            return DryRun(DryRunEnd.TIMEOUT, reason=f"no answer within {self._time_limit_s:g} s")
        except ModelLoadFailed as error:
            return DryRun(DryRunEnd.REFUSED, reason=error.reason)
        except EngineError as error:
            return DryRun(DryRunEnd.CRASHED, reason=error.reason or type(error).__name__)
        finally:
            await engine.close()
        if not buffers:
            return DryRun(DryRunEnd.REFUSED, reason="the engine named no buffers")
        return DryRun(DryRunEnd.DONE, buffers, time.monotonic() - started)


def with_buffers(plan: FitPlan, buffers: tuple[BufferBytes, ...], known: Known | None = None) -> FitPlan:
    """The plan with the engine's figures in place of the formula's; what the engine left out stays.

    Disagreements are logged: they are faults of the formula. What ``known`` added for such faults is
    taken off again.
    """
    known = known or Known()
    shares = tuple(
        replace(share, need=_exact(share.name, share.need, found, known.extra_gpu_bytes))
        for share, found in zip(plan.devices, device_buffers(plan, buffers), strict=True)
    )
    ram = _exact("RAM", plan.ram, tuple(b for b in buffers if b.is_host), known.extra_ram_bytes)
    return replace(
        plan,
        devices=shares,
        gpu=sum((share.need for share in shares), Need()),
        ram=ram,
        checked="engine",
    )


def device_buffers(plan: FitPlan, buffers: tuple[BufferBytes, ...]) -> list[tuple[BufferBytes, ...]]:
    """The engine's buffers on each device of a plan: by the engine's names, else in its order."""
    groups: dict[str, list[BufferBytes]] = {}
    for buffer in buffers:
        if not buffer.is_host:
            groups.setdefault(buffer.device or buffer.buffer, []).append(buffer)
    unnamed = iter(sorted(groups.keys() - {share.engine_name for share in plan.devices}))
    names = [
        share.engine_name if share.engine_name in groups else next(unnamed, "") for share in plan.devices
    ]
    return [tuple(groups.get(name, ())) for name in names]


def overshoot(plan: FitPlan) -> tuple[int, int]:
    """By how many bytes a plan is over its budget, on the worst GPU and in RAM; not above 0: it fits."""
    gpu = max((s.need.total + s.reserve_bytes - s.available_bytes for s in plan.devices), default=0)
    return gpu, plan.ram.total + RAM_RESERVE_BYTES - plan.ram_available_bytes


def _exact(name: str, need: Need, buffers: tuple[BufferBytes, ...], extra: int) -> Need:
    weights, caches, compute = (
        sum(getattr(buffer, part) for buffer in buffers) for part in ("model", "context", "compute")
    )
    for part, ours, theirs in (
        ("weights", need.weights, weights),
        ("caches", need.kv + need.recurrent, caches),
        ("computing", need.compute, compute),
    ):
        if theirs and abs(ours - theirs) > max(_AGREED * theirs, _AGREED_BYTES):
            _log.warning("%s of %s: planned %d bytes, the engine needs %d", part, name, ours, theirs)
    recurrent = min(need.recurrent, caches)
    return replace(
        need,
        weights=weights or need.weights,
        kv=caches - recurrent if caches else need.kv,
        recurrent=recurrent if caches else need.recurrent,
        compute=compute or need.compute,
        overhead=need.overhead - (extra if weights else 0),
    )
