"""What this machine taught the planner: a small JSON file in the data folder.

The driver's overhead for each card and driver version, the writing speed reached with each plan, and the
bandwidth of the RAM. A file that cannot be read counts as empty, one that cannot be written is no error:
measurements come again. Not thread-safe; ``save`` may be called from any one thread at a time.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from clover_gui.hardware.machine import Gpu
from clover_gui.i18n import capped
from clover_gui.model_file.summary import ModelFile
from clover_gui.plain_file import read_json_value
from clover_gui.planning.plan import FitPlan

FILE_NAME = "measurements.json"
# Fewer tokens than this tell nothing about the speed.
FEWEST_TOKENS = 32

_VERSION = 1
_MOST_ENTRIES = 200
# What no driver takes: a figure beyond is somebody else's memory, counted by mistake.
_LARGEST_OVERHEAD = 4 << 30
_FASTEST = 1e5
# A new speed counts this much against what was known.
_WEIGHT_OF_NEW = 0.4

_log = logging.getLogger(__name__)


class Measurements:
    """The figures of one data folder; ``path`` None keeps them in memory only."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._overheads: dict[str, int] = {}
        self._speeds: dict[str, float] = {}
        self._ram_bandwidth = 0
        self._changed = False
        if path is not None:
            self._read(path)

    # ---------------------------------------------------------------- the driver's share

    def overhead(self, gpu: Gpu) -> int | None:
        """Bytes that the driver took on this card beside the engine's buffers; None: not measured."""
        return self._overheads.get(_card(gpu.name, gpu.driver))

    def learn_overhead(self, name: str, driver: str, overhead_bytes: int) -> None:
        if 0 <= overhead_bytes <= _LARGEST_OVERHEAD:
            self._put(self._overheads, _card(name, driver), overhead_bytes)

    # ---------------------------------------------------------------- speed

    def speed(self, model: ModelFile, plan: FitPlan) -> float | None:
        """Tokens per second that this plan reached here; None: not measured."""
        return self._speeds.get(_plan(model, plan))

    def learn_speed(self, model: ModelFile, plan: FitPlan, tokens: int, seconds: float) -> None:
        """One answer of ``tokens`` in ``seconds``; short ones are left out."""
        if tokens < FEWEST_TOKENS or seconds <= 0 or tokens / seconds > _FASTEST:
            return
        rate, key = tokens / seconds, _plan(model, plan)
        before = self._speeds.get(key)
        self._put(self._speeds, key, rate if before is None else before + _WEIGHT_OF_NEW * (rate - before))

    @property
    def ram_bandwidth(self) -> int:
        """Bytes per second; 0: not measured."""
        return self._ram_bandwidth

    def learn_ram_bandwidth(self, bandwidth: int) -> None:
        """The best of all measurements counts: a busy machine only ever shows less than there is."""
        if bandwidth > self._ram_bandwidth:
            self._ram_bandwidth, self._changed = bandwidth, True

    # ---------------------------------------------------------------- the file

    def save(self) -> None:
        """Write beside the file and rename; only if something is new. Never raises."""
        if self._path is None or not self._changed:
            return
        data = {
            "version": _VERSION,
            "overheads": self._overheads,
            "speeds": {key: round(rate, 2) for key, rate in self._speeds.items()},
            "ram_bandwidth": self._ram_bandwidth,
        }
        try:
            _write(self._path, json.dumps(data, indent=1) + "\n")
            self._changed = False
        except OSError as error:
            _log.warning("measurements are not kept: %s", error.strerror or error)

    def _read(self, path: Path) -> None:
        try:
            data = read_json_value(path)
        except FileNotFoundError:
            return
        except (OSError, ValueError):
            _log.warning("the measurements cannot be read and are made anew")
            return
        if not isinstance(data, dict):
            return
        self._overheads = {
            key: value
            for key, value in _entries(data, "overheads")
            if type(value) is int and 0 <= value <= _LARGEST_OVERHEAD
        }
        self._speeds = {
            key: float(value)
            for key, value in _entries(data, "speeds")
            if isinstance(value, (int, float)) and 0 < value <= _FASTEST
        }
        bandwidth = data.get("ram_bandwidth")
        self._ram_bandwidth = bandwidth if type(bandwidth) is int and 0 < bandwidth < 10**13 else 0

    def _put(self, entries: dict[str, Any], key: str, value: float) -> None:
        entries.pop(key, None)  # the newest stand last
        entries[key] = value
        while len(entries) > _MOST_ENTRIES:
            del entries[next(iter(entries))]
        self._changed = True


def _entries(data: dict[str, Any], name: str) -> list[tuple[str, Any]]:
    found = data.get(name)
    return list(found.items())[-_MOST_ENTRIES:] if isinstance(found, dict) else []


def _card(name: str, driver: str) -> str:
    return f"{capped(name)} | {capped(driver, 40)}"


def _plan(model: ModelFile, plan: FitPlan) -> str:
    parts = (
        capped(model.path.name),
        model.size_bytes,
        capped(plan.gpu_name),
        plan.gpu_layers,
        plan.cpu_expert_layers,
        plan.kv_type.value,
        plan.threads,
    )
    return " | ".join(str(part) for part in parts)


def _write(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
