"""``clover-gui plan``: what fits where, on this machine or on one that is described, with every summand."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
from dataclasses import replace
from pathlib import Path

from clover_gui.catalog.index import resolve_model
from clover_gui.cli.engine_choice import engine_client
from clover_gui.cli.plan_report import as_json, as_text
from clover_gui.cli.screen import Screen
from clover_gui.engine.protocol import EngineInfo
from clover_gui.errors import EngineError, ModelFileMissing
from clover_gui.exit_codes import ExitCode
from clover_gui.hardware.bandwidth import measure_ram_bandwidth
from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor
from clover_gui.hardware.probe import probe_machine
from clover_gui.i18n import _, capped
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.paths import DataFolder
from clover_gui.pipeline.gpu_choice import GPU_CHOICE_MISSING, GpuChoice, choose_gpu, gpu_id, usable_gpus
from clover_gui.pipeline.measurements import FILE_NAME, Measurements
from clover_gui.pipeline.prepare import MachineProbed, look_around
from clover_gui.planning.budget import Known
from clover_gui.planning.clover_shape import CLOVER_ID, clover_shape
from clover_gui.planning.plan import DEFAULT_BATCH, PROCESSOR_ONLY, FitPlan, KvType, Wishes
from clover_gui.planning.planner import make_plan
from clover_gui.planning.speed import measured_speed
from clover_gui.settings import chosen_models_folder

_MIB = 1 << 20
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(b|[kmgt]i?b?)?", re.IGNORECASE)
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# Of the RAM of a described machine the system and what always runs take this much.
_SYSTEM_SHARE, _SYSTEM_BYTES = 0.1, 1536 * _MIB
# The processor of a described machine: a desktop of some years.
_USUAL_PROCESSOR = Processor("", "x86_64", 8, 16, frozenset({"avx2", "fma"}))


def add_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", action="store_true", help=_("write one JSON object instead of text"))
    chosen = group.add_mutually_exclusive_group()
    chosen.add_argument("--gguf", type=Path, metavar=_("FILE"), help=_("the model file to plan for"))
    chosen.add_argument(
        "--model",
        metavar=_("NAME"),
        help=_("a known model; clover (the default) needs no file, its shape is known"),
    )
    group.add_argument(
        "--vram", type=size_of, metavar=_("SIZE"), help=_("plan for a card of this memory, such as 16GiB")
    )
    group.add_argument(
        "--ram",
        type=size_of,
        metavar=_("SIZE"),
        help=_("plan for a machine with this much RAM (and 8 cores)"),
    )
    group.add_argument("--gpu-name", metavar=_("NAME"), help=_("name of the card, for its speed"))
    group.add_argument(
        "--card",
        metavar=_("NAME"),
        help=_("use this graphics card alone: a part of its name, or cpu for none"),
    )
    group.add_argument("--context", type=_positive, metavar="N", help=_("tokens of context; else chosen"))
    group.add_argument("--kv", choices=[kind.value for kind in KvType], help=_("form of the KV cache"))
    group.add_argument("--cpu-experts", type=_count, metavar="N", help=_("layers whose experts stay in RAM"))
    group.add_argument(
        "--ubatch", type=_positive, default=DEFAULT_BATCH, metavar="N", help=_("prompt tokens at once")
    )


def size_of(text: str) -> int:
    """Bytes of "16GiB", "16G", "15888MiB" or a plain number; all units are binary, as memory is sold."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(_("is no size; write it like 16GiB"))
    return int(float(found[1]) * _UNITS[(found[2] or "b")[0].lower()])


def _positive(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(_("must be greater than 0"))
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(_("must not be less than 0"))
    return value


def run(options: argparse.Namespace, data: DataFolder, screen: Screen) -> ExitCode:
    """Plan and report. DOES_NOT_FIT where nothing fits.

    Raises:
        ModelFileError: the file is missing or cannot be used.
    """
    model = _model(options, data)
    known = Measurements(data.root / FILE_NAME if data.root.is_dir() else None)
    machine, choice = _machine(options, data, screen, known)
    wishes = Wishes(
        context=options.context,
        kv_type=KvType(options.kv) if options.kv else None,
        cpu_expert_layers=options.cpu_experts,
        batch=options.ubatch,
        graphics=PROCESSOR_ONLY if options.card == "cpu" else "",
    )
    learned = Known(tuple(known.overhead(gpu) for gpu in choice.gpus))
    plan = make_plan(machine, model, wishes, choice.gpus, learned)
    if isinstance(plan, FitPlan):
        rate = known.speed(model, plan)
        plan = replace(
            plan,
            warnings=(*choice.warnings, *(w for w in plan.warnings if w not in choice.warnings)),
            speed=plan.speed if rate is None else measured_speed(rate),
        )
    if options.json:
        report = as_json(model, plan, options.ubatch)
        screen.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
    else:
        screen.write(as_text(model, plan))
    return ExitCode.OK if isinstance(plan, FitPlan) else ExitCode.DOES_NOT_FIT


# ------------------------------------------------------------------ what to plan for


def _model(options: argparse.Namespace, data: DataFolder) -> ModelFile:
    if options.gguf is not None:
        return read_model_file(options.gguf)
    name = options.model or CLOVER_ID
    try:
        return read_model_file(resolve_model(name, chosen_models_folder(data)))
    except ModelFileMissing:
        if name.lower() != CLOVER_ID:
            raise
        return clover_shape()


def _machine(
    options: argparse.Namespace, data: DataFolder, screen: Screen, known: Measurements
) -> tuple[Machine, GpuChoice]:
    """This machine, or this one with another card or RAM in its place."""
    if options.vram is None and options.gpu_name is None:
        machine, choice = asyncio.run(_look(data, screen, options.card or ""))
    else:
        machine = probe_machine(chosen_models_folder(data))
        machine, choice = described_card(machine, options.vram, options.gpu_name)
        choice = GpuChoice(None) if options.card == "cpu" else choice
    if options.ram is not None:
        return replace(machine, memory=described_ram(options.ram), processor=_USUAL_PROCESSOR), choice
    bandwidth = known.ram_bandwidth or measure_ram_bandwidth(max(1, machine.processor.physical_cores - 1))
    return replace(machine, memory=replace(machine.memory, bandwidth=bandwidth)), choice


def described_card(machine: Machine, vram: int | None, name: str | None) -> tuple[Machine, GpuChoice]:
    """The machine with one empty card of this size (0: none). Without a size that of its own best card."""
    own = machine.best_gpu
    total = vram if vram is not None else (own.vram_total_bytes or 0) if own is not None else 0
    if total <= 0:
        return replace(machine, gpus=()), GpuChoice(None)
    title = capped(name) if name else _("card of {size}").format(size=f"{total / (1 << 30):.4g} GB")
    card = Gpu(title, "", DeviceKind.DISCRETE, total, total, source="described")
    return replace(machine, gpus=(card,)), GpuChoice(card, (), (card,))


def described_ram(total: int) -> Memory:
    """A machine with this much RAM, of which the system itself takes its part."""
    return Memory(total, max(0, total - max(int(_SYSTEM_SHARE * total), _SYSTEM_BYTES)))


async def _look(data: DataFolder, screen: Screen, card: str) -> tuple[Machine, GpuChoice]:
    """This machine and what the engine can use of it; without an engine its cards count as usable.

    ``card`` is what the person wants of it: a part of a name, "cpu", or "".
    """
    machine: Machine | None = None
    engine: EngineInfo | None = None
    client = engine_client(data, screen)
    try:
        async with contextlib.aclosing(look_around(client, chosen_models_folder(data))) as stages:
            async for stage in stages:
                if isinstance(stage, MachineProbed):
                    machine = stage.machine
                else:
                    engine = stage.info
    except EngineError:
        pass  # the question is what would fit; doctor says what is wrong with the engine
    finally:
        await client.close()
    assert machine is not None
    if engine is not None:
        return machine, choose_gpu(machine, engine, _wish(card, usable_gpus(machine, engine)))
    if card == "cpu":
        return machine, GpuChoice(None)
    best = machine.best_gpu
    cards = tuple(gpu for gpu in machine.gpus if best is not None and gpu.kind is best.kind)
    named = tuple(gpu for gpu in machine.gpus if card and card.lower() in gpu.name.lower())
    missing = (GPU_CHOICE_MISSING,) if card and not named else ()
    return machine, GpuChoice(named[0] if named else best, missing, named[:1] or cards)


def _wish(card: str, gpus: tuple[Gpu, ...]) -> str:
    """The wish for the first card whose name contains this; as it is where there is none."""
    if card == "cpu":
        return PROCESSOR_ONLY
    return next((gpu_id(gpu) for gpu in gpus if card and card.lower() in gpu.name.lower()), card)
