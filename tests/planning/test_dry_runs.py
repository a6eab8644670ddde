"""The formulas against the engine itself: its dry runs of files with real shapes, buffer by buffer."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType as Quant

from clover_gui.engine.placement import _EXPERTS
from clover_gui.model_file.container import read_container
from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.memory import (
    MIB,
    Layout,
    compute_bytes,
    gpu_weight_bytes,
    kv_bytes,
    ram_need,
)
from clover_gui.planning.plan import KvType
from tests.kit import gguf_maker
from tests.planning.families import FAMILIES, make_family

CONTEXTS = (4096, 32768, 131072)
BATCHES = (128, 512, 1024)
EXPERTS = (0, 10, 40)
LARGEST_DIFFERENCE = 0.005


def dry_run(model: Path, layouts: list[Layout]) -> list[dict[str, int]]:
    """The engine's bytes for weights, caches and computing, for each layout."""
    asked = [[x.context, x.kv_type.value, x.batch, x.cpu_expert_layers, x.outputs] for x in layouts]
    done = subprocess.run(
        [sys.executable, "-m", "tests.planning.engine_dry", str(model)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    sums = []
    for buffers in json.loads(done.stdout)["buffers"]:
        parts = zip(("weights", "caches", "compute"), zip(*buffers.values(), strict=True), strict=True)
        sums.append({name: sum(values) for name, values in parts})
    return sums


def grid() -> list[Layout]:
    """Every context, KV type and batch; and that experts in RAM change nothing of these buffers."""
    full = [Layout(0, 0, *values) for values in itertools.product(CONTEXTS, KvType, BATCHES)]
    return [*full, *(Layout(0, count, 32768, KvType.F16, 512) for count in EXPERTS)]


@pytest.fixture(scope="module")
def pure_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The full-size twin with all matrices in Q4_K, as the published file of 19.6 GB."""
    path = tmp_path_factory.mktemp("pure") / "pure.gguf"
    with pytest.MonkeyPatch.context() as patch:
        kind = lambda _name, matrix, _layers: Quant.Q4_K if matrix else Quant.F32  # noqa: E731
        patch.setattr(gguf_maker, "q4_k_m", kind)
        return gguf_maker.make_twin(path)


@pytest.mark.parametrize("form", ["twin_gguf", "pure_gguf"])
def test_every_buffer_of_the_full_size_twin(
    form: str, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    """30 settings each: the weights and caches to the byte, the working buffer within half a percent."""
    path = request.getfixturevalue(form)
    model = read_model_file(path)
    asked = grid()
    worst = 0.0
    for layout, found in zip(asked, dry_run(path, asked), strict=True):
        assert found["weights"] == model.weight_bytes
        assert found["caches"] == kv_bytes(model, layout.context, layout.kv_type) + (
            model.attention.recurrent_bytes
        )
        difference = abs(compute_bytes(model, layout) / found["compute"] - 1)
        worst = max(worst, difference)
        assert difference <= LARGEST_DIFFERENCE, layout
    record_property("largest difference", f"{worst:.6%}")
    assert worst < 1e-6


@pytest.mark.parametrize("form", ["twin_gguf", "pure_gguf"])
def test_the_experts_of_a_layer_are_those_that_the_engine_moves(
    form: str, request: pytest.FixtureRequest
) -> None:
    path = request.getfixturevalue(form)
    model = read_model_file(path)
    for count in EXPERTS:
        patterns = [re.compile(rf"blk\.{layer}{_EXPERTS}") for layer in range(count)]
        moved = sum(
            tensor.size_bytes
            for tensor in read_container(path).tensors
            if any(pattern.search(tensor.name) for pattern in patterns)
        )
        assert gpu_weight_bytes(model, 41, 0) - gpu_weight_bytes(model, 41, count) == moved
        ram = ram_need(model, Layout(41, count, 4096, KvType.F16)).weights
        assert ram == model.token_embedding_bytes + moved


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_other_families(name: str, tmp_path: Path) -> None:
    """Never less than the engine takes (but for a percent), and not much more."""
    path = make_family(tmp_path / "family.gguf", FAMILIES[name])
    model: ModelFile = read_model_file(path)
    asked = [
        Layout(0, 0, context, kv_type, batch)
        for context, kv_type, batch in itertools.product(CONTEXTS, (KvType.F16, KvType.Q8_0), BATCHES)
    ]
    for layout, found in zip(asked, dry_run(path, asked), strict=True):
        assert found["weights"] == pytest.approx(model.weight_bytes, rel=1e-4)
        assert found["caches"] == kv_bytes(model, layout.context, layout.kv_type)
        ratio = compute_bytes(model, layout) / found["compute"]
        assert 0.99 <= ratio <= 1.10, (layout, ratio)


def test_small_models_that_run_here(tiny_gguf: Path, tiny_dense_gguf: Path, demo_gguf: Path) -> None:
    """Where all rows are tiny another step may be the largest; a megabyte does not matter there."""
    for path in (tiny_gguf, tiny_dense_gguf, demo_gguf):
        model = read_model_file(path)
        layout = Layout(0, 0, 2048, KvType.F16)
        (found,) = dry_run(path, [layout])
        assert found["weights"] == pytest.approx(model.weight_bytes, rel=1e-3)
        caches = kv_bytes(model, 2048, KvType.F16) + model.attention.recurrent_bytes
        assert found["caches"] == caches
        assert abs(compute_bytes(model, layout) - found["compute"]) < 2 * MIB
