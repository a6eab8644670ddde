"""The plan against what an engine reports on a device that it takes for a GPU.

Recorded from a Vulkan build of llama.cpp (2026-08) on the software device llvmpipe, with a twin of 8 layers
and 64 experts: real loads, batch 512, context 4096, f16. That device cannot hold ``output.weight`` (too large
for one of its buffers), so this tensor lay in RAM there; everything else is placed as on any card.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.model_file.header import read_model_file
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.memory import MIB, Layout, gpu_need, gpu_needs, ram_need
from clover_gui.planning.plan import KvType
from tests.kit import gguf_maker

OUTPUT_MIB = 397.85
# gpu_layers, experts in RAM; MiB on the device: weights, KV, state, computing; in RAM: KV, state, computing.
RECORDED = [
    (9, 0, (1095.92, 16.00, 12.56, 75.27), (0.0, 0.0, 12.02)),
    (9, 3, (755.42, 16.00, 12.56, 100.75), (0.0, 0.0, 12.02)),
    (9, 8, (165.92, 16.00, 12.56, 126.00), (0.0, 0.0, 12.02)),
    (5, 0, (547.97, 8.00, 6.28, 125.50), (8.0, 6.28, 24.11)),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelFile:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf_maker, "REAL", replace(gguf_maker.REAL, experts=64))
        path: Path = gguf_maker.make_twin(tmp_path_factory.mktemp("twin") / "twin.gguf", layers=8)
    return read_model_file(path)


@pytest.mark.parametrize(("gpu_layers", "experts", "on_gpu", "in_ram"), RECORDED)
def test_every_buffer_of_a_device(
    model: ModelFile,
    gpu_layers: int,
    experts: int,
    on_gpu: tuple[float, float, float, float],
    in_ram: tuple[float, float, float],
) -> None:
    layout = Layout(gpu_layers, experts, 4096, KvType.F16)
    gpu, ram = gpu_need(model, layout), ram_need(model, layout)
    weights, kv, state, compute = on_gpu
    assert gpu.weights / MIB - OUTPUT_MIB == pytest.approx(weights, abs=0.01)
    assert gpu.kv / MIB == pytest.approx(kv, abs=0.01)
    assert gpu.recurrent / MIB == pytest.approx(state, abs=0.01)
    assert compute <= gpu.compute / MIB <= 1.3 * compute, "room for the largest tensor, whichever comes"
    assert ram.kv / MIB == pytest.approx(in_ram[0], abs=0.01)
    assert ram.recurrent / MIB == pytest.approx(in_ram[1], abs=0.01)
    assert ram.compute / MIB >= 0.99 * in_ram[2]


@pytest.mark.parametrize(
    ("context", "kv_type", "batch", "device", "host"),
    [(4096, KvType.F16, 512, 75.27, 12.02), (32768, KvType.Q8_0, 256, 51.90, 20.27)],
)
def test_working_buffers_with_everything_on_the_device(
    model: ModelFile, context: int, kv_type: KvType, batch: int, device: float, host: float
) -> None:
    layout = Layout(9, 0, context, kv_type, batch)
    assert gpu_need(model, layout).compute / MIB == pytest.approx(device, rel=0.011)
    assert ram_need(model, layout).compute / MIB == pytest.approx(host, rel=0.015)


# The four-layer model for tests on two such devices, by shares of layers: KiB of weights, and of caches.
TWO_DEVICES = [((3, 2), ((539, 57), (212, 512))), ((1, 4), ((179, 19), (572, 550)))]


@pytest.mark.parametrize(("shares", "recorded"), TWO_DEVICES)
def test_two_devices_by_shares_of_layers(
    shares: tuple[int, int], recorded: tuple[tuple[int, int], ...], tiny_gguf: Path
) -> None:
    parts = [range(shares[0]), range(shares[0], sum(shares))]
    needs = gpu_needs(read_model_file(tiny_gguf), Layout(5, 0, 2048, KvType.F16), parts)
    for need, (weights, caches) in zip(needs, recorded, strict=True):
        assert need.weights / 1024 == pytest.approx(weights, abs=1)
        assert (need.kv + need.recurrent) / 1024 == pytest.approx(caches, abs=1)
