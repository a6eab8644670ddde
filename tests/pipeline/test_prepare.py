"""The way to the chat: order of the stages, its failures, and what it must not import."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clover_gui.catalog.index import load_catalog
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import EngineInfo, Loaded, LoadProgress, LoadSettings, Sampling
from clover_gui.errors import (
    CloverError,
    DoesNotFitError,
    EngineMissing,
    ModelFileCorrupt,
    ModelFileMissing,
    ModelFileTruncated,
    ModelLoadFailed,
    NotAModelFile,
    RepairImpossible,
)
from clover_gui.hardware.machine import Machine, Memory, Processor
from clover_gui.model_file.header import read_model_file
from clover_gui.pipeline.free_memory import FreeMemory
from clover_gui.pipeline.prepare import (
    EngineDescribed,
    Examined,
    Loading,
    MachineProbed,
    ModelRead,
    PlanChecked,
    Planned,
    ReadyToChat,
    Services,
    StageEvent,
    prepare,
)
from clover_gui.pipeline.sampling_defaults import default_sampling
from clover_gui.planning.plan import Placement, Wishes
from tests.chat.fake_engine import FakeEngine
from tests.engine.kit import with_client


@dataclass
class LoadableEngine(FakeEngine):
    """Loads until it is let; notes whether the load was cancelled."""

    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    settings: LoadSettings | None = None
    cancelled: bool = False
    known: dict[str, bool] = field(default_factory=dict)
    fault: CloverError | None = None

    async def describe(self) -> EngineInfo:
        if isinstance(self.fault, EngineMissing):
            raise self.fault
        return EngineInfo(1, "fake", False, (), self.known)

    async def load(
        self, settings: LoadSettings, progress: Callable[[LoadProgress], None] | None = None
    ) -> Loaded:
        self.settings = settings
        assert progress is not None
        assert self.loaded is not None
        progress(LoadProgress(1, 0.5))
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.fault is not None:
            raise self.fault
        progress(LoadProgress(1, 1.0))
        return self.loaded


async def all_stages(
    engine: EngineClient | LoadableEngine,
    model: Path,
    into: list[StageEvent],
    services: Services | None = None,
) -> None:
    async for stage in prepare(engine, model, model.parent, Wishes(context=512), services):
        into.append(stage)


def test_all_stages_with_the_real_engine(scripted_gguf: Path) -> None:
    stages: list[StageEvent] = []
    with_client(lambda client: all_stages(client, scripted_gguf, stages))
    kinds = [type(stage) for stage in stages]
    assert kinds[:5] == [MachineProbed, EngineDescribed, ModelRead, Examined, Planned]
    assert kinds[-1] is ReadyToChat
    assert set(kinds[5:-1]) <= {PlanChecked, Loading}
    planned, ready = stages[4], stages[-1]
    assert isinstance(planned, Planned)
    assert isinstance(ready, ReadyToChat)
    assert planned.plan.placement is Placement.CPU_ONLY
    assert planned.settings.path == str(scripted_gguf)
    assert planned.settings.context == planned.plan.context
    assert planned.settings.threads == planned.plan.threads
    assert ready.loaded.can_switch_thinking
    assert ready.model.architecture == "qwen35moe"


def test_progress_comes_while_it_loads_and_closing_cancels_the_load(tiny_gguf: Path) -> None:
    async def scenario() -> None:
        engine = LoadableEngine()
        async with contextlib.aclosing(prepare(engine, tiny_gguf, tiny_gguf.parent)) as stages:
            async for stage in stages:
                if isinstance(stage, Loading):
                    assert stage.progress.fraction == 0.5
                    break
        assert engine.cancelled

    asyncio.run(scenario())


def test_progress_and_result_arrive_in_order(tiny_gguf: Path) -> None:
    async def scenario() -> None:
        engine = LoadableEngine()
        engine.go_on.set()
        stages: list[StageEvent] = []
        await all_stages(engine, tiny_gguf, stages)
        assert [s.progress.fraction for s in stages if isinstance(s, Loading)] == [0.5, 1.0]
        assert isinstance(stages[-1], ReadyToChat)

    asyncio.run(scenario())


def fails(engine: LoadableEngine, model: Path, error: type[CloverError]) -> list[StageEvent]:
    engine.go_on.set()
    stages: list[StageEvent] = []
    with pytest.raises(error):
        asyncio.run(all_stages(engine, model, stages))
    return stages


def test_a_missing_engine_still_tells_of_the_machine(tiny_gguf: Path) -> None:
    stages = fails(LoadableEngine(fault=EngineMissing("no")), tiny_gguf, EngineMissing)
    assert [type(stage) for stage in stages] == [MachineProbed]


def test_an_architecture_that_the_engine_does_not_know_is_not_loaded(unknown_gguf: Path) -> None:
    engine = LoadableEngine(known={"clover_moe": False})
    stages = fails(engine, unknown_gguf, RepairImpossible)
    assert isinstance(stages[-1], Planned)
    assert engine.settings is None


def test_a_refused_load_is_raised(tiny_gguf: Path) -> None:
    fault = ModelLoadFailed(tiny_gguf, "other", "odd")
    assert isinstance(fails(LoadableEngine(fault=fault), tiny_gguf, ModelLoadFailed)[-1], Loading)


def test_a_plan_that_does_not_fit_is_never_started(twin_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = Machine("Linux", Processor("x", "x86_64", 2, 2), Memory(4 << 30, 3 << 30), None)
    monkeypatch.setattr("clover_gui.pipeline.prepare.probe_machine", lambda _path: small)
    engine = LoadableEngine()
    services = Services(free_memory=FreeMemory(read_ram=lambda: small.memory))
    with pytest.raises(DoesNotFitError) as caught:
        asyncio.run(all_stages(engine, twin_gguf, [], services))
    assert caught.value.needed_bytes > 19 << 30
    assert caught.value.where == "ram"
    assert "smaller-model" in caught.value.suggestions
    assert engine.settings is None


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("empty", NotAModelFile),
        ("html", NotAModelFile),
        ("cut-header", ModelFileTruncated),
        ("cut-data", ModelFileTruncated),
        ("counts-tensors", ModelFileCorrupt),
    ],
)
def test_bad_files_never_reach_the_engine(
    damaged_ggufs: dict[str, Path], kind: str, error: type[CloverError]
) -> None:
    engine = LoadableEngine()
    fails(engine, damaged_ggufs[kind], error)
    assert engine.settings is None


def test_a_missing_file(tmp_path: Path) -> None:
    fails(LoadableEngine(), tmp_path / "no.gguf", ModelFileMissing)


def test_sampling_of_known_and_unknown_models(twin_gguf: Path, tiny_gguf: Path, tmp_path: Path) -> None:
    catalog = load_catalog()
    clover = tmp_path / "Clover-35B-A3B-Q4_K_M.gguf"
    clover.symlink_to(twin_gguf)
    model = read_model_file(clover)
    assert default_sampling(catalog, model, thinking=True) == Sampling(1.0, 20, 0.95, 0.0, 1.5)
    assert default_sampling(catalog, model, thinking=False, seed=3) == Sampling(
        0.7, 20, 0.8, 0.0, 1.5, seed=3
    )
    unknown = default_sampling(catalog, read_model_file(tiny_gguf), thinking=True)
    assert unknown.temperature == catalog.default_preset.temperature
    greedy = default_sampling(catalog, model, thinking=True, greedy=True)
    assert (greedy.temperature, greedy.presence_penalty, greedy.repeat_penalty) == (0.0, 0.0, 1.0)


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, clover_gui.pipeline.prepare, clover_gui.pipeline.advice, clover_gui.explain\n"
        "print([m for m in ('PySide6', 'llama_cpp', 'huggingface_hub', 'pynvml', 'qasync')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
