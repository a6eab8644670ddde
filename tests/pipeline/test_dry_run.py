"""Dry runs in a child that is thrown away: a real engine, one that crashes, one that hangs."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import BufferBytes, LoadSettings
from clover_gui.errors import EngineDied
from clover_gui.explain import dry_run_text
from clover_gui.model_file.header import read_model_file
from clover_gui.pipeline.dry_run import DryRunEnd, DryRunner, device_buffers, overshoot, with_buffers
from clover_gui.pipeline.placing import load_settings
from clover_gui.planning.plan import DeviceShare, FitPlan, KvType, Need, Placement, Wishes
from clover_gui.planning.planner import make_plan
from tests.planning.shapes import machine

# A child that says it is ready and does this at the first request.
_CHILD = (
    "import sys,os,json,time,signal\n"
    "print(json.dumps({'type':'Ready','protocol':1,'pid':os.getpid(),'engine_version':'x'}),flush=True)\n"
    "sys.stdin.readline()\n"
)
CRASH = [sys.executable, "-c", _CHILD + "os.kill(os.getpid(), signal.SIGSEGV)"]
HANG = [sys.executable, "-c", _CHILD + "time.sleep(600)"]


class Stub:
    """Counts what is asked of it."""

    def __init__(self, asked: list[LoadSettings], fail: Exception | None = None) -> None:
        self.asked = asked
        self.fail = fail

    async def dry_run(self, settings: LoadSettings) -> tuple[BufferBytes, ...]:
        self.asked.append(settings)
        if self.fail:
            raise self.fail
        return (BufferBytes("CPU", "CPU", True, 1, 1, 1),)

    async def close(self) -> None:
        pass


def plan_for(path: Path, context: int = 4096) -> tuple[FitPlan, LoadSettings]:
    plan = make_plan(machine(64), read_model_file(path), Wishes(context=context))
    assert isinstance(plan, FitPlan)
    return plan, load_settings(plan, path)


def test_the_real_engine_agrees_with_the_plan(twin_gguf: Path, caplog: pytest.LogCaptureFixture) -> None:
    plan, settings = plan_for(twin_gguf, 32768)
    found = asyncio.run(DryRunner().run(settings))
    assert found.end is DryRunEnd.DONE
    exact = with_buffers(plan, found.buffers)
    assert exact.checked == "engine"
    assert exact.ram.buffers == pytest.approx(plan.ram.buffers, rel=1e-6)
    assert caplog.text == "", "no disagreement"
    assert overshoot(exact)[1] <= 0


def test_the_same_question_is_asked_once(twin_gguf: Path) -> None:
    asked: list[LoadSettings] = []
    runner = DryRunner(lambda: Stub(asked))
    _, settings = plan_for(twin_gguf)

    async def scenario() -> None:
        await runner.run(settings)
        again = await runner.run(settings)
        assert again.end is DryRunEnd.DONE
        assert again.seconds == 0
        assert len(asked) == 1
        other = plan_for(twin_gguf, 8192)[1]
        await runner.run(other)
        os.utime(twin_gguf)  # another file under the same name
        await runner.run(settings)
        assert len(asked) == 3

    asyncio.run(scenario())


def test_small_files_are_not_worth_it(tiny_gguf: Path) -> None:
    asked: list[LoadSettings] = []
    started = time.perf_counter()
    found = asyncio.run(DryRunner(lambda: Stub(asked)).run(plan_for(tiny_gguf, 512)[1]))
    assert found.end is DryRunEnd.SMALL
    assert asked == []
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(("command", "end"), [(CRASH, DryRunEnd.CRASHED), (HANG, DryRunEnd.TIMEOUT)])
def test_a_fault_in_there_costs_nothing_but_the_exact_figures(
    command: list[str], end: DryRunEnd, tiny_gguf: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clients: list[EngineClient] = []

    def make() -> EngineClient:
        clients.append(EngineClient(command))
        return clients[-1]

    runner = DryRunner(make, time_limit_s=0.5 if end is DryRunEnd.TIMEOUT else 30.0, small_file_bytes=0)
    settings = plan_for(tiny_gguf, 512)[1]
    found = asyncio.run(runner.run(settings))
    assert found.end is end
    assert found.buffers == ()
    assert "the formula's figures are used" in caplog.text
    assert "computed" in dry_run_text(end.value)
    assert clients[0].pid is None, "the child is gone"


def test_failures_are_not_remembered(tiny_gguf: Path) -> None:
    asked: list[LoadSettings] = []
    runner = DryRunner(lambda: Stub(asked, EngineDied(-11)), small_file_bytes=0)
    settings = plan_for(tiny_gguf, 512)[1]
    for _attempt in range(2):
        assert asyncio.run(runner.run(settings)).end is DryRunEnd.CRASHED
    assert len(asked) == 2


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    found = asyncio.run(DryRunner().run(LoadSettings(str(tmp_path / "none.gguf"))))
    assert found.end is DryRunEnd.REFUSED


def test_an_engine_that_names_no_sizes_changes_nothing(tiny_gguf: Path) -> None:
    """Where only the log tells, a dry run prints no size for weights and caches."""
    plan, _ = plan_for(tiny_gguf, 512)
    exact = with_buffers(plan, (BufferBytes("CPU", "", True, 0, 0, 7),))
    assert exact.ram.weights == plan.ram.weights
    assert exact.ram.kv == plan.ram.kv
    assert exact.ram.compute == 7


def test_buffers_are_grouped_by_device() -> None:
    buffers = (
        BufferBytes("CPU", "CPU", True, 1),
        BufferBytes("CUDA1", "CUDA1", False, 2),
        BufferBytes("CUDA0", "CUDA0", False, 3),
        BufferBytes("CUDA_Host", "CUDA0", True, 4),
    )

    def grouped(*names: str) -> list[list[str]]:
        shares = tuple(DeviceShare("card", 1, Need(), 0, engine_name=name) for name in names)
        plan = FitPlan(Placement.FULL_GPU, 1, KvType.F16, 2, 0, 1, Need(), Need(), 0, 0, devices=shares)
        return [[b.buffer for b in group] for group in device_buffers(plan, buffers)]

    assert grouped("CUDA1", "CUDA0") == [["CUDA1"], ["CUDA0"]], "by the engine's names"
    assert grouped("CUDA1") == [["CUDA1"]], "a card that is left out is left out"
    assert grouped("", "") == [["CUDA0"], ["CUDA1"]], "else in the engine's order"
    assert grouped("", "", "") == [["CUDA0"], ["CUDA1"], []]
