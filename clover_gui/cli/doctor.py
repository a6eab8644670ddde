"""``clover-gui doctor``: what this machine is, what the engine can use, and what could be better."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import json
from typing import Any

from clover_gui import __version__
from clover_gui.cli.engine_choice import engine_client
from clover_gui.cli.screen import Screen
from clover_gui.engine.protocol import EngineInfo
from clover_gui.errors import EngineError
from clover_gui.exit_codes import ExitCode
from clover_gui.explain import (
    advice_text,
    describe_disk,
    describe_engine,
    describe_memory,
    describe_processor,
    explain,
    likely_causes,
    note_text,
)
from clover_gui.hardware.machine import Machine
from clover_gui.i18n import _, capped
from clover_gui.patching.findings import CLOVER, QWEN
from clover_gui.paths import DataFolder, cache_folder, portable_folder
from clover_gui.pipeline.advice import CURED_BY_ENGINE, Advice, advise, installer_command
from clover_gui.pipeline.device_list import device_rows
from clover_gui.pipeline.engine_install import installer
from clover_gui.pipeline.prepare import MachineProbed, look_around
from clover_gui.settings import chosen_models_folder


def add_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", action="store_true", help=_("write one JSON object instead of text"))


def run(options: argparse.Namespace, data: DataFolder, screen: Screen) -> ExitCode:
    """Look and report. ENGINE where the engine is missing or does not start."""
    machine, engine = asyncio.run(_look(data, screen))
    advice = advise(machine, engine, installer=installer_command(installer()))
    if options.json:
        report = as_json(machine, engine, advice, data)
        screen.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
    else:
        screen.write(as_text(machine, engine, advice, data))
    return ExitCode.ENGINE if isinstance(engine, EngineError) else ExitCode.OK


async def _look(data: DataFolder, screen: Screen) -> tuple[Machine, EngineInfo | EngineError]:
    machine: Machine | None = None
    engine: EngineInfo | EngineError | None = None
    client = engine_client(data, screen)
    try:
        async with contextlib.aclosing(look_around(client, chosen_models_folder(data))) as stages:
            async for stage in stages:
                if isinstance(stage, MachineProbed):
                    machine = stage.machine
                else:
                    engine = stage.info
    except EngineError as error:
        engine = error
    finally:
        await client.close()
    assert machine is not None
    assert engine is not None
    return machine, engine


def as_json(
    machine: Machine, engine: EngineInfo | EngineError, advice: list[Advice], data: DataFolder
) -> dict[str, Any]:
    """The report for programs. Sizes in bytes; keys are only ever added."""
    processor = machine.processor
    return {
        "program_version": __version__,
        "system": machine.system,
        "ram_total_bytes": machine.memory.total_bytes,
        "ram_free_bytes": machine.memory.available_bytes,
        "cpu": processor.name,
        "cpu_architecture": processor.architecture,
        "cpu_cores": processor.physical_cores,
        "cpu_threads": processor.logical_cores,
        "cpu_features": sorted(processor.features),
        "disk": dataclasses.asdict(machine.disk) if machine.disk else None,
        "data_folder": str(data.root),
        "models_folder": str(chosen_models_folder(data)),
        "cache_folder": str(cache_folder()),
        "gpus": [dataclasses.asdict(gpu) for gpu in machine.gpus],
        "notes": [dataclasses.asdict(note) for note in machine.notes],
        "engine": _engine_json(engine),
        "advice": [
            {
                "key": item.key,
                "level": item.level.value,
                "text": advice_text(item.key, item.facts),
                "command": item.command,
            }
            for item in advice
        ],
    }


def _engine_json(engine: EngineInfo | EngineError) -> dict[str, Any]:
    if isinstance(engine, EngineError):
        text = explain(engine)
        return {
            "version": None,
            "gpu_offload": False,
            "devices": [],
            "architectures": {},
            "error": {"kind": type(engine).__name__, "text": text.sentence, "detail": text.detail},
        }
    return {
        "version": engine.engine_version,
        "gpu_offload": engine.gpu_offload,
        "devices": [dataclasses.asdict(device) for device in engine.devices],
        "architectures": dict(engine.architectures),
        "system_info": engine.system_info,
        "library_folder": engine.library_folder,
        "error": None,
    }


def as_text(
    machine: Machine, engine: EngineInfo | EngineError, advice: list[Advice], data: DataFolder
) -> str:
    """The report for people: one aligned line for each finding, then the advice."""
    rows: list[tuple[str, tuple[str, ...]]] = [
        (_("Program"), (f"clover-gui {__version__}",)),
        (_("System"), (capped(machine.system, 100),)),
        (_("Processor"), (describe_processor(machine.processor),)),
        (_("RAM"), (describe_memory(machine.memory),)),
        (_("Disk"), (describe_disk(machine.disk),)),
        (_("Graphics"), _graphics(machine, engine)),
        (_("Engine"), (*describe_engine(engine), *_known_models(engine))),
        (_("Data folder"), (capped(str(data.root), 200), *_portable(data))),
        (_("Models"), (capped(str(chosen_models_folder(data)), 200),)),
        (_("Caches"), (capped(str(cache_folder()), 200),)),
    ]
    if machine.notes:
        rows.append((_("Notes"), tuple(note_text(note) for note in machine.notes)))
    width = max(len(label) for label, _lines in rows) + 2
    lines = [
        f"{label if first else '':<{width}}{line}"
        for label, texts in rows
        for first, line in ((index == 0, text) for index, text in enumerate(texts))
    ]
    if advice:
        lines += ["", _("Advice")]
        for item in advice:
            lines.append(f"  - {advice_text(item.key, item.facts)}")
            if item.command:
                lines.append(f"    {item.command}")
            if item.key in CURED_BY_ENGINE:
                others = _("Engines that would fit: {command}").format(command="clover-gui engine")
                lines.append(f"    {others}")
    return "\n".join(lines) + "\n"


def _graphics(machine: Machine, engine: EngineInfo | EngineError) -> tuple[str, ...]:
    """Every device with its use; without one, why that may be."""
    rows = device_rows(machine, engine if isinstance(engine, EngineInfo) else None)
    causes = likely_causes(machine)
    about = (_("If there is a graphics card in this machine, this may be why it is not found:"),)
    return (*(row.text for row in rows), *(about if causes else ()), *(f"- {cause}" for cause in causes))


def _portable(data: DataFolder) -> tuple[str, ...]:
    return (_("beside the program (portable)"),) if data.root == portable_folder() else ()


def _known_models(engine: EngineInfo | EngineError) -> tuple[str, ...]:
    if isinstance(engine, EngineError) or not engine.architectures:
        return ()
    known = [name for name, answer in engine.architectures.items() if answer]
    unknown = [name for name, answer in engine.architectures.items() if not answer]
    lines = []
    if known:
        lines.append(_("knows the model architectures {names}").format(names=", ".join(known)))
    if unknown:
        lines.append(_("does not know {names}").format(names=", ".join(unknown)))
    if CLOVER in unknown and QWEN in known:
        lines.append(_("Clover runs all the same, after a small repair of its file (clover-gui patch)"))
    return tuple(lines)
