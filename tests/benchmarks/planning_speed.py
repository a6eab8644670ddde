"""How long planning and dry runs take, on a file with the header and the true size of a 35B-A3B model.

    python -m tests.benchmarks.planning_speed [--rounds N] [--gguf FILE]

A dry run starts an engine child of its own, so the first one of a file reads its header there; what was asked
before is remembered. "A dry run more" is another context in a child that has read the header already.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import LoadSettings
from clover_gui.model_file.header import read_model_file
from clover_gui.pipeline.dry_run import DryRunner
from clover_gui.planning.plan import Wishes
from tests.benchmarks.plan_table import table
from tests.kit.gguf_maker import make_twin

CONTEXTS = (4096, 8192, 16384, 32768, 65536, 131072)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gguf", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.gguf or make_twin(Path(folder) / "twin.gguf")
        asyncio.run(_measure(path, options.rounds))


async def _measure(path: Path, rounds: int) -> None:
    started = time.perf_counter()
    model = read_model_file(path)
    print(f"header read by the window's side: {(time.perf_counter() - started) * 1e3:.0f} ms")
    _say("plan", [line.seconds for line in table(model, Wishes())])
    settings = LoadSettings(str(path), context=32768, gpu_layers=0, threads=1)
    _say("dry run, child and header included", [await _first(settings) for _ in range(rounds)])
    engine = EngineClient()
    try:
        await engine.dry_run(settings)
        for_each = (replace(settings, context=context) for context in CONTEXTS)
        _say("a dry run more", [await _timed(lambda one=one: engine.dry_run(one)) for one in for_each])
    finally:
        await engine.close()


async def _first(settings: LoadSettings) -> float:
    return (await DryRunner().run(settings)).seconds


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


def _say(name: str, seconds: list[float]) -> None:
    median, worst = statistics.median(seconds), max(seconds)
    print(f"{name}: median {median * 1e3:.1f} ms, longest {worst * 1e3:.1f} ms of {len(seconds)}")


if __name__ == "__main__":
    main()
