"""The formulas against what the engine itself allocates."""

from __future__ import annotations

import bisect
import ctypes
import itertools

import pytest

from clover_gui.planning.memory import (
    Layout,
    compute_bytes,
    gpu_need,
    gpu_needs,
    gpu_weight_bytes,
    kv_bytes,
    output_bytes,
    ram_need,
    split_layers,
)
from clover_gui.planning.plan import KvType
from tests.planning.shapes import EXPERTS_BYTES, MIB, PURE_Q4_K_BYTES, clover, tied_small

# Measured with llama.cpp 0.5.0 dry runs of the full-size 35B-A3B file: context, KV type, batch, then the
# engine's bytes for KV plus recurrent state, and for its compute buffer.
MEASURED = [
    (4096, "f16", 128, 149749760, 19927616),
    (32768, "f16", 128, 736952320, 27267648),
    (131072, "f16", 128, 2750218240, 52433472),
    (4096, "f16", 256, 149749760, 39855168),
    (32768, "f16", 256, 736952320, 54535232),
    (131072, "f16", 256, 2750218240, 104866880),
    (4096, "f16", 512, 149749760, 79710272),
    (8192, "f16", 512, 233635840, 83904576),
    (16384, "f16", 512, 401408000, 92293184),
    (32768, "f16", 512, 736952320, 109070400),
    (65536, "f16", 512, 1408040960, 142624832),
    (131072, "f16", 512, 2750218240, 209733696),
    (262144, "f16", 512, 5434572800, 343951424),
    (4096, "q8_0", 512, 110428160, 79988800),
    (8192, "q8_0", 512, 154992640, 84183104),
    (16384, "q8_0", 512, 244121600, 92571712),
    (32768, "q8_0", 512, 422379520, 109348928),
    (65536, "q8_0", 512, 778895360, 142903360),
    (131072, "q8_0", 512, 1491927040, 210012224),
    (262144, "q8_0", 512, 2917990400, 344229952),
    (4096, "q4_0", 512, 89456640, 79988800),
    (8192, "q4_0", 512, 113049600, 84183104),
    (16384, "q4_0", 512, 160235520, 92571712),
    (32768, "q4_0", 512, 254607360, 109348928),
    (65536, "q4_0", 512, 443351040, 142903360),
    (131072, "q4_0", 512, 820838400, 210012224),
    (262144, "q4_0", 512, 1575813120, 344229952),
    (4096, "f16", 1024, 149749760, 159420480),
    (32768, "f16", 1024, 736952320, 218140736),
    (131072, "f16", 1024, 2750218240, 419467328),
    (4096, "f16", 2048, 149749760, 318840896),
    (32768, "f16", 2048, 736952320, 436281408),
    (131072, "f16", 2048, 2750218240, 838934592),
]


@pytest.mark.parametrize(("context", "kv", "batch", "cache", "compute"), MEASURED)
def test_full_size_model_against_the_engine(
    context: int, kv: str, batch: int, cache: int, compute: int
) -> None:
    model = clover(trained=262144)
    kv_type = KvType(kv)
    assert kv_bytes(model, context, kv_type) + model.attention.recurrent_bytes == cache
    assert compute_bytes(model, Layout(0, 0, context, kv_type, batch)) == pytest.approx(compute, rel=1e-6)


@pytest.mark.parametrize(
    ("context", "outputs", "compute"),
    [
        # As above, for more than one result at a time (batch 512, f16).
        (4096, 16, 79710304),
        (4096, 128, 143936032),
        (4096, 512, 525357088),
        (32768, 512, 521144320),
        (131072, 128, 209734176),
    ],
)
def test_results_of_many_tokens_take_room(context: int, outputs: int, compute: int) -> None:
    layout = Layout(0, 0, context, KvType.F16, 512, outputs)
    assert compute_bytes(clover(trained=262144), layout) == pytest.approx(compute, rel=0.01)
    assert output_bytes(clover(), layout) == 4 * 248320 * outputs


def test_the_known_shape_is_the_published_file() -> None:
    model = clover()
    assert model.weight_bytes == PURE_Q4_K_BYTES
    assert {layer.experts for layer in model.layers} == {EXPERTS_BYTES}
    assert model.size_bytes == pytest.approx(19.6e9, rel=0.002)


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


@pytest.mark.parametrize(
    ("kv_type", "share"), [(KvType.F16, 1.0), (KvType.Q8_0, 17 / 32), (KvType.Q4_0, 9 / 32)]
)
def test_the_cache_follows_its_type(kv_type: KvType, share: float) -> None:
    for context in (4096, 8192, 131072):
        assert kv_bytes(clover(), context, kv_type) == share * kv_bytes(clover(), context, KvType.F16)


def test_the_context_is_rounded_to_the_engines_steps() -> None:
    assert kv_bytes(clover(), 4097, KvType.F16) == kv_bytes(clover(), 4352, KvType.F16)


def test_nothing_on_the_gpu_needs_nothing_there() -> None:
    assert gpu_need(clover(), Layout(0, 0, 8192, KvType.F16)).total == 0


def test_published_points() -> None:
    """RTX 4090: 128K in 21.4 of 24 GB; experts of 10 layers in RAM: 15,456 MiB (at 32K of context)."""
    model = clover()
    full = gpu_need(model, Layout(41, 0, 131072, KvType.F16)).total
    assert full / MIB == pytest.approx(21.4 * 1024, rel=0.03)
    part = gpu_need(model, Layout(41, 10, 32768, KvType.F16)).total
    assert part / MIB == pytest.approx(15456, rel=0.005)


def test_cards_are_filled_to_the_same_part() -> None:
    model = clover()

    def split(gpu_layers: int, rooms: list[int], experts: int = 0) -> list[range]:
        return split_layers(model, Layout(gpu_layers, experts, 8192, KvType.F16), rooms)

    assert split(41, [1]) == [range(41)]
    assert split(41, [10, 10]) == [range(20), range(20, 41)]
    assert split(41, [30, 10]) == [range(30), range(30, 41)]
    assert split(20, [1, 1]) == [range(21, 31), range(31, 41)]
    assert [len(part) for part in split(41, [5, 0, 5])] == [20, 0, 21]
    assert split(41, [0, 0]) == [range(41), range(41, 41)]
    assert split(0, [1, 1]) == [range(41, 41), range(41, 41)]
    # Twenty small layers and twenty large ones: by number the second card would get ten times as much.
    needs = gpu_needs(model, Layout(41, 20, 8192, KvType.F16), split(41, [1, 1], 20), [0, 0])
    assert needs[0].weights == pytest.approx(needs[1].weights, rel=0.1)


@pytest.mark.parametrize("rooms", [[1, 1], [30, 10], [5, 0, 5], [7, 100], [1, 2, 3, 4]])
@pytest.mark.parametrize("experts", [0, 20])
def test_the_engine_given_these_counts_divides_in_the_same_way(rooms: list[int], experts: int) -> None:
    """Its own rule: the first device whose sum of shares is above the layer's place, in single precision."""
    layout = Layout(41, experts, 8192, KvType.F16)
    parts = split_layers(clover(), layout, rooms)
    shares = list(itertools.accumulate(len(part) for part in parts))
    points = [ctypes.c_float(share / shares[-1]).value for share in shares]
    for layer in range(41):
        device = bisect.bisect_right(points, ctypes.c_float(layer / 41).value)
        assert layer in parts[device]


@pytest.mark.parametrize("free", [[24, 24], [24, 8, 16], [7, 100]])
@pytest.mark.parametrize("experts", [0, 12])
def test_parts_of_several_cards_are_the_whole(free: list[int], experts: int) -> None:
    model = clover()
    layout = Layout(41, experts, 8192, KvType.F16)
    needs = gpu_needs(model, layout, split_layers(model, layout, free))
    assert sum(need.weights for need in needs) == gpu_weight_bytes(model, 41, experts)
    assert sum(need.kv for need in needs) == kv_bytes(model, 8192, KvType.F16)
    assert sum(need.recurrent for need in needs) == model.attention.recurrent_bytes


def test_layers_that_keep_no_keys_cost_no_cache() -> None:
    """Of the last four layers one has full attention, three a recurrent state."""
    model = clover()
    need = gpu_need(model, Layout(5, 0, 8192, KvType.F16))
    assert need.kv == kv_bytes(model, 8192, KvType.F16) // 10
    assert need.recurrent == model.attention.recurrent_bytes // 10
