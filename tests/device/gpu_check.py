"""On a machine with an NVIDIA GPU: planned against measured memory and speed. See README.md beside it.

    python -m tests.device.gpu_check [--layers 40] [--experts 0 10 40] [--context 32768] [--out FOLDER]

Makes the twin (the true shapes and sizes of a 35B-A3B file over a hole), plans it, asks the engine's dry run,
loads it, reads the driver, and writes some tokens, for each number of layers with experts in RAM. Prints a
table and leaves ``gpu_check.json`` in the folder. Needs no network and takes a few minutes. Without a GPU it
compares the RAM alone, so that the script itself can be tried anywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import Finished, PromptMessage, Sampling
from clover_gui.errors import CloverError, EngineError
from clover_gui.hardware.machine import Machine
from clover_gui.hardware.probe import probe_machine
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.dry_run import DryRunner
from clover_gui.pipeline.gpu_choice import choose_gpu
from clover_gui.pipeline.measurements import FILE_NAME, Measurements
from clover_gui.pipeline.placing import Placer
from clover_gui.pipeline.placing_events import Loading, Placed, PlanChecked, Replanned
from clover_gui.pipeline.services import Services
from clover_gui.planning.plan import FitPlan, Wishes
from tests.kit.gguf_maker import make_twin

MIB = 1 << 20
PROMPT = "Count from one to two hundred in words."


async def one_load(
    machine: Machine, model: ModelFile, services: Services, wishes: Wishes, tokens: int
) -> dict[str, Any]:
    """Plan, check, load, measure, write; in an engine child of its own. A failure is a result as well."""
    engine = EngineClient()
    result: dict[str, Any] = {"cpu_expert_layers": wishes.cpu_expert_layers, "context": wishes.context}
    try:
        info = await engine.describe()
        placer = Placer(engine, machine, model, wishes, choose_gpu(machine, info), services)
        started = time.perf_counter()
        planned = await placer.plan()
        result["planning_s"] = time.perf_counter() - started
        result["formula"] = _sizes(planned.plan)
        async with contextlib.aclosing(placer.place(planned)) as steps:
            async for step in steps:
                if isinstance(step, PlanChecked):
                    result["dry_run_s"], result["dry_run"] = step.dry_run.seconds, step.dry_run.end.value
                    result["engine"] = _sizes(step.plan)
                elif isinstance(step, Replanned):
                    result.setdefault("replanned", []).append(step.reason)
                elif isinstance(step, Placed):
                    result |= _placed(step)
                elif isinstance(step, Loading):
                    continue
        result |= await _written(engine, tokens)
    except CloverError as error:
        lines = error.log_lines[-5:] if isinstance(error, EngineError) else ()
        result["failed"] = f"{type(error).__name__}: {error}"[:500]
        result["log"] = list(lines)
    finally:
        await engine.close()
    return result


def _placed(step: Placed) -> dict[str, Any]:
    speed = step.plan.speed
    return {
        "load_s": step.loaded.seconds,
        "devices": [
            dataclasses.asdict(device) | {"overhead_bytes": device.overhead_bytes}
            for device in step.measured.devices
        ],
        "ram_planned_bytes": step.measured.ram_planned_bytes,
        "ram_buffer_bytes": step.measured.ram_buffer_bytes,
        "warnings": list(step.measured.warnings),
        "buffers": [dataclasses.asdict(buffer) for buffer in step.loaded.buffers],
        "expected_tokens_per_second": speed.tokens_per_second if speed else None,
    }


async def _written(engine: EngineClient, tokens: int) -> dict[str, Any]:
    """Tokens per second, of reading and of writing. The twin writes nonsense at its true speed."""
    messages = (PromptMessage("user", PROMPT),)
    found: dict[str, Any] = {}
    async for event in engine.generate(messages, sampling=Sampling(temperature=0), max_tokens=tokens):
        if isinstance(event, Finished) and event.write_seconds > 0:
            found = {
                "written": event.written,
                "tokens_per_second": event.written / event.write_seconds,
                "read_tokens_per_second": event.read / max(event.read_seconds, 1e-9),
            }
    return found


def _sizes(plan: FitPlan) -> dict[str, Any]:
    return {
        "gpu": dataclasses.asdict(plan.gpu) | {"total": plan.gpu.total},
        "ram": dataclasses.asdict(plan.ram) | {"total": plan.ram.total},
    }


def as_table(results: list[dict[str, Any]]) -> str:
    """Sizes in MiB: by the formula, by the dry run, by the engine's buffers, by the driver."""
    head = "experts in RAM  formula  dry run  buffers  driver  overhead  RAM planned  RAM buffers"
    head += "  tok/s  expected"
    lines = [head]
    for result in results:
        name = f"{result['cpu_expert_layers']:>14}"
        if "failed" in result:
            lines.append(f"{name}  {result['failed']}")
            continue
        devices = result["devices"]
        cells = [
            result["formula"]["gpu"]["total"],
            result.get("engine", result["formula"])["gpu"]["total"],
            sum(device["buffer_bytes"] for device in devices),
            sum(device["measured_bytes"] or 0 for device in devices),
            sum(device["overhead_bytes"] or 0 for device in devices),
            result["ram_planned_bytes"],
            result["ram_buffer_bytes"],
        ]
        widths = (9, 9, 9, 8, 10, 13, 13)
        row = "".join(f"{cell / MIB:>{width}.0f}" for cell, width in zip(cells, widths, strict=True))
        rate, expected = result.get("tokens_per_second", 0.0), result["expected_tokens_per_second"] or 0.0
        lines.append(f"{name}{row}{rate:>7.1f}{expected:>10.1f}")
    return "\n".join(lines)


async def check(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    path = options.gguf or make_twin(folder / "twin.gguf", layers=options.layers)
    machine, model = probe_machine(folder), read_model_file(path)
    services = dataclasses.replace(
        Services.for_folder(folder), dry_runner=DryRunner(small_file_bytes=0, time_limit_s=30)
    )
    results = []
    for experts in options.experts:
        # Nothing learned from one load may flatter the next plan.
        fresh = dataclasses.replace(services, measurements=Measurements(folder / f"{experts}-{FILE_NAME}"))
        wishes = Wishes(context=options.context, cpu_expert_layers=experts, batch=options.batch)
        result = await asyncio.wait_for(
            one_load(machine, model, fresh, wishes, options.tokens), options.limit_s
        )
        results.append(result)
        print(json.dumps({key: value for key, value in result.items() if key != "buffers"}), flush=True)
    summary = {
        "system": machine.system,
        "gpus": [dataclasses.asdict(gpu) for gpu in machine.gpus],
        "model_bytes": model.size_bytes,
        "results": results,
    }
    (folder / "gpu_check.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description="Planned against measured, on a machine with a GPU.")
    parser.add_argument("--gguf", type=Path, help="this file in place of the twin")
    parser.add_argument("--layers", type=int, default=40, help="layers of the twin (8 for a try)")
    parser.add_argument("--experts", type=int, nargs="+", default=[0, 10, 40])
    parser.add_argument("--context", type=int, default=32768)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--limit-s", type=float, default=170.0, help="for one load with its answer")
    parser.add_argument("--out", type=Path, default=Path("device-check"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(as_table(asyncio.run(check(options, options.out))))


if __name__ == "__main__":
    main()
