"""A report for a problem: this machine, the engine, the model, the plan, the settings and the last log lines.

No chat is in it, and no file name but the model's; the home folder and what looks like a secret are masked.
The person reads it before it goes anywhere. Technical English, for those who repair programs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any

from clover_gui import __version__
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import EngineInfo, Loaded, LoadSettings
from clover_gui.errors import CloverError
from clover_gui.hardware.machine import Machine
from clover_gui.i18n import capped
from clover_gui.logs import masked
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.prepare import MachineProbed, ReadyToChat, look_around
from clover_gui.settings import Settings

LOG_LINES = 200
ENGINE_LOG_LINES = 80
_PACKAGES = ("PySide6-Essentials", "llama-cpp-python", "qasync", "markdown-it-py", "psutil", "gguf")
# Folders of the person; that they were changed is enough.
_PLACES = ("model_path", "models_folder")

_Plain = Any  # what JSON knows, and what is made into it


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known at the moment; None where it is not. ``engine`` may be why there is none."""

    machine: Machine | None
    engine: EngineInfo | CloverError | None
    ready: ReadyToChat | None
    loading: LoadSettings | None
    settings: Settings
    log: Sequence[str] = ()
    engine_log: Sequence[str] = ()


async def gather_findings(
    engine: EngineClient,
    ready: ReadyToChat | None,
    settings: Settings,
    models_folder: Path,
    log: Sequence[str],
) -> Findings:
    """What is known now; where no model is loaded, machine and engine are looked at again. Never raises."""
    machine: Machine | None = ready.machine if ready is not None else None
    info: EngineInfo | CloverError | None = None
    try:
        if machine is not None:
            info = await engine.describe()
        else:
            async with contextlib.aclosing(look_around(engine, models_folder)) as stages:
                async for stage in stages:
                    if isinstance(stage, MachineProbed):
                        machine = stage.machine
                    else:
                        info = stage.info
    except CloverError as error:
        info = error
    return Findings(machine, info, ready, engine.last_settings, settings, log, engine.log_lines)


def diagnostics_text(findings: Findings, *, home: Path | None = None) -> str:
    """The report as text. ``home`` is the folder to be masked (default: the person's)."""
    ready = findings.ready
    parts = [
        _section("Program", _program()),
        _section("Machine", _plain(findings.machine) if findings.machine else "not known yet"),
        _section("Engine", _engine(findings.engine)),
        _section("Model", _model(ready.model) if ready else "none"),
        _section("Plan", _plain(ready.plan) if ready else "none"),
        _section("Loaded with", _loading(findings.loading)),
        _section("Buffers", _buffers(ready.loaded) if ready else "none"),
        _section("Measured", _plain(ready.measured) if ready and ready.measured else "not measured"),
        _section("Settings", _settings(findings.settings)),
        _section("Log of the window", "\n".join(findings.log[-LOG_LINES:]) or "empty"),
        _section("Log of the engine", "\n".join(findings.engine_log[-ENGINE_LOG_LINES:]) or "empty"),
    ]
    text = masked("\n".join(parts))
    for place in {str(home or Path.home()), str((home or Path.home()).resolve())}:
        if len(place) > 1:
            text = text.replace(place, "~").replace(json.dumps(place)[1:-1], "~")
    return text


def _section(title: str, content: object) -> str:
    if not isinstance(content, str):
        content = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=False)
    return f"== {title}\n{content}\n"


def _program() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "clover-gui": __version__,
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "frozen": str(bool(getattr(sys, "frozen", False))),
        **versions,
    }


def _engine(engine: EngineInfo | CloverError | None) -> _Plain:
    if isinstance(engine, CloverError):
        return f"{type(engine).__name__}: {engine}"
    if engine is None:
        return "not asked yet"
    values = _plain(engine)
    values.pop("architectures", None)  # a hundred names that follow from the version
    return values


def _model(model: ModelFile) -> dict[str, Any]:
    values = _plain(model)
    kept = {key: value for key, value in values.items() if isinstance(value, int | float | bool | None)}
    return {
        "file": capped(model.path.name, 200),
        "architecture": capped(model.architecture),
        "name": capped(model.name),
        **kept,
    }


def _loading(settings: LoadSettings | None) -> _Plain:
    if settings is None:
        return "nothing"
    return _plain(dataclasses.replace(settings, path=PurePath(settings.path).name))


def _buffers(loaded: Loaded) -> _Plain:
    values = _plain(loaded)
    values["description"] = capped(loaded.description)
    return values


def _settings(settings: Settings) -> dict[str, Any]:
    values = dataclasses.asdict(settings)
    for name in _PLACES:
        values[name] = "set" if values[name] else ""
    return values


def _plain(value: _Plain) -> _Plain:
    """Dataclasses, enums, paths and sets as what JSON knows; long texts are capped."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(str(item) for item in value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value[:200]]
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, str):
        return capped(value, 400)
    return value if isinstance(value, int | float | bool | None) else capped(str(value), 200)
