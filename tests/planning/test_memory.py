"""The formulas against what the engine itself allocates."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from clover_gui.planning.memory import (
    Layout,
    compute_bytes,
    gpu_need,
    gpu_weight_bytes,
    kv_bytes,
    ram_need,
)
from clover_gui.planning.plan import KvType
from tests.planning.shapes import EXPERTS_BYTES, MIB, clover, dense_8b, tied_small

# Measured with llama.cpp 0.5.0 dry runs of the full-size 35B-A3B file: context, KV type, batch, then the
# engine's bytes for KV plus recurrent state, and for its compute buffer.
MEASURED = [
    (4096, "f16", 128, 149749760, 19927616),
    (32768, "f16", 128, 736952320, 27267648),
    (131072, "f16", 128, 2750218240, 52433472),
    (4096, "f16", 512, 149749760, 79710272),
    (8192, "f16", 512, 233635840, 83904576),
    (32768, "f16", 512, 736952320, 109070400),
    (131072, "f16", 512, 2750218240, 209733696),
    (262144, "f16", 512, 5434572800, 343951424),
    (4096, "q8_0", 512, 110428160, 79988800),
    (32768, "q8_0", 512, 422379520, 109348928),
    (131072, "q8_0", 512, 1491927040, 210012224),
    (4096, "f16", 1024, 149749760, 159420480),
    (131072, "f16", 1024, 2750218240, 419467328),
    (32768, "f16", 2048, 736952320, 436281408),
]


@pytest.mark.parametrize(("context", "kv", "batch", "cache", "compute"), MEASURED)
def test_full_size_model_against_the_engine(
    context: int, kv: str, batch: int, cache: int, compute: int
) -> None:
    model = clover(trained=262144)
    kv_type = KvType(kv)
    assert kv_bytes(model, context, kv_type) + model.attention.recurrent_bytes == cache
    assert compute_bytes(model, Layout(0, 0, context, kv_type, batch)) == pytest.approx(compute, rel=0.001)


@pytest.mark.parametrize(
    ("values", "context", "batch", "compute"),
    [
        # Measured with llama.cpp 0.5.0 dry runs: embedding, feed-forward, experts used.
        ((4096, 14336, 0), 4096, 512, 125841440),  # llama 8B
        ((4096, 14336, 0), 32768, 128, 38800416),
        ((1024, 3072, 0), 4096, 512, 31469600),  # qwen3 0.6B
        ((576, 1536, 0), 32768, 512, 47722528),  # SmolLM2 135M
        ((2048, 6144, 8), 4096, 512, 96481312),  # qwen3moe 30B-A3B
        ((2048, 6144, 8), 32768, 128, 31460384),
    ],
)
def test_compute_buffer_of_other_shapes(
    values: tuple[int, int, int], context: int, batch: int, compute: int
) -> None:
    embedding, feed_forward, used = values
    model = replace(
        dense_8b(),
        embedding_length=embedding,
        feed_forward_length=feed_forward,
        expert_used_count=used,
        expert_count=128 if used else 0,
    )
    assert compute_bytes(model, Layout(0, 0, context, KvType.F16, batch)) == pytest.approx(compute, rel=0.001)


def test_weights_of_both_sides_are_the_file() -> None:
    """All expert weights count, wherever they lie."""
    model = clover()
    for gpu_layers in (0, 1, 20, 41):
        for experts in (0, 10, 40):
            layout = Layout(gpu_layers, experts, 8192, KvType.F16)
            assert gpu_need(model, layout).weights + ram_need(model, layout).weights == model.weight_bytes


def test_experts_of_a_layer_move_as_a_whole() -> None:
    model = clover()
    steps = [gpu_weight_bytes(model, 41, experts) for experts in range(41)]
    assert {before - after for before, after in itertools.pairwise(steps)} == {EXPERTS_BYTES}
    assert steps[0] == model.weight_bytes - model.token_embedding_bytes, "token embeddings stay in RAM"


def test_the_output_is_placed_first_and_layers_from_the_end() -> None:
    model = clover()
    assert gpu_weight_bytes(model, 1, 0) == model.output_bytes + model.other_bytes
    # Experts of the first ten layers are in RAM anyway when only the last thirty layers are on the GPU.
    assert gpu_weight_bytes(model, 31, 10) == gpu_weight_bytes(model, 31, 0)
    assert gpu_weight_bytes(model, 32, 10) < gpu_weight_bytes(model, 32, 0)


def test_tied_embeddings_are_held_twice_with_a_gpu() -> None:
    model = tied_small()
    all_of_it = Layout(29, 0, 8192, KvType.F16)
    assert gpu_need(model, all_of_it).weights == model.weight_bytes
    assert ram_need(model, all_of_it).weights == model.token_embedding_bytes
    assert ram_need(model, Layout(0, 0, 8192, KvType.F16)).weights == model.weight_bytes


def test_the_cache_is_halved_by_q8_0_and_rounded_to_the_engines_steps() -> None:
    model = clover()
    assert kv_bytes(model, 8192, KvType.Q8_0) / kv_bytes(model, 8192, KvType.F16) == 17 / 32
    assert kv_bytes(model, 4097, KvType.F16) == kv_bytes(model, 4352, KvType.F16)


def test_nothing_on_the_gpu_needs_nothing_there() -> None:
    assert gpu_need(clover(), Layout(0, 0, 8192, KvType.F16)).total == 0


def test_published_points() -> None:
    """RTX 4090: 128K in 21.4 of 24 GB; experts of 10 layers in RAM: 15,456 MiB (taken as 32K context)."""
    model = clover()
    full = gpu_need(model, Layout(41, 0, 131072, KvType.F16)).total
    assert full / MIB == pytest.approx(21.4 * 1024, rel=0.03)
    part = gpu_need(model, Layout(41, 10, 32768, KvType.F16)).total
    assert part / MIB == pytest.approx(15456, rel=0.03)
