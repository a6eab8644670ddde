"""How many bytes a placement needs, on each GPU and in RAM. Pure arithmetic, no choices.

The formulas follow what llama.cpp 0.5.0 allocates (flash attention on, one sequence); they were compared
with its own dry runs, see ``compute_bytes``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.plan import DEFAULT_BATCH, KvType, Need

MIB = 1 << 20

# What a driver takes for its context and pools: 400 to 500 MiB follow from published totals of CUDA cards.
DRIVER_OVERHEAD_BYTES = 450 * MIB
# The engine process itself with its libraries and the vocabulary.
PROCESS_OVERHEAD_BYTES = 200 * MIB
# The engine keeps at least so many copies of the recurrent state, to go back to the end of earlier messages.
LEAST_STATE_COPIES = 2
# Of more than these it would make no use: so many whole states of other chats, and copies within them.
_USEFUL_STATES, _USEFUL_STATE_COPIES = 2, 6
# The engine rounds the context up to whole steps of this many tokens.
CONTEXT_STEP = 256
# With the whole model on several GPUs the engine keeps so many copies of its inputs
# (GGML_SCHED_MAX_COPIES).
_PIPELINE_COPIES = 4
# From this many tokens on a GPU also computes with weights in RAM (ggml's op_offload_min_batch_size).
_OFFLOADED_BATCH = 32


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to place a model. ``gpu_layers`` counts the output as one, and it is placed first.

    ``outputs`` is the number of tokens whose results are wanted at a time: one in a chat.
    """

    gpu_layers: int
    cpu_expert_layers: int
    context: int
    kv_type: KvType
    batch: int = DEFAULT_BATCH
    outputs: int = 1


def all_gpu_layers(model: ModelFile) -> int:
    """The value of ``gpu_layers`` that means everything."""
    return model.layer_count + 1


# ------------------------------------------------------------------ where


def split_layers(model: ModelFile, layout: Layout, capacities: Sequence[int]) -> list[range]:
    """The layers of each GPU, the output counted as layer ``layer_count``: the last ``gpu_layers``, divided
    so that each device is filled to about the same part of its capacity.

    The engine by itself divides by the number of layers, and those whose experts are in RAM are small. With
    no capacity anywhere the first device gets all.
    """
    count = min(layout.gpu_layers, all_gpu_layers(model))
    start = all_gpu_layers(model) - count
    if count <= 0:
        return [range(start, start) for _ in capacities]
    if not any(capacities):
        capacities = [1] + [0] * (len(capacities) - 1)
    sizes = [sum(_device_bytes(model, layout, range(i, i + 1))) for i in range(start, start + count)]
    scale = sum(sizes) / sum(capacities)
    edges = [start]
    place, filled, target = 0, 0.0, 0.0
    for capacity in capacities[:-1]:
        target += capacity * scale
        while place < count and filled + sizes[place] / 2 < target:
            filled += sizes[place]
            place += 1
        edges.append(start + place)
    edges.append(start + count)
    return [range(first, end) for first, end in itertools.pairwise(edges)]


def _device_bytes(model: ModelFile, layout: Layout, part: range) -> tuple[int, int, int]:
    """What some layers put on a GPU: weights, KV, recurrent state."""
    return _device_weights(model, layout, part), _kv_of(model, part, layout), _state_of(model, part)


def gpu_needs(
    model: ModelFile, layout: Layout, parts: Sequence[range], overheads: Sequence[int] = ()
) -> tuple[Need, ...]:
    """Bytes on each GPU for its part of the layers; a GPU without a layer still pays the driver's share.

    All zero when no layer is on a GPU.
    """
    if layout.gpu_layers <= 0:
        return tuple(Need() for _ in parts)
    overheads = overheads or [DRIVER_OVERHEAD_BYTES] * len(parts)
    everything = layout.gpu_layers >= all_gpu_layers(model)
    pipeline = len(parts) > 1 and everything and layout.cpu_expert_layers == 0
    compute = compute_bytes(model, layout) + (
        (_PIPELINE_COPIES - 1) * _input_bytes(model, layout) if pipeline else 0
    )
    if layout.batch >= _OFFLOADED_BATCH and (layout.cpu_expert_layers or not everything):
        # Long prompts are computed on the GPU all the same: room for one tensor out of the RAM at a time.
        compute += model.largest_layer_tensor_bytes
    return tuple(
        Need(*_device_bytes(model, layout, part), compute=compute if part else 0, overhead=overhead)
        for part, overhead in zip(parts, overheads, strict=True)
    )


def gpu_need(model: ModelFile, layout: Layout, overhead_bytes: int = DRIVER_OVERHEAD_BYTES) -> Need:
    """As ``gpu_needs`` for a single GPU."""
    return gpu_needs(model, layout, split_layers(model, layout, [1]), [overhead_bytes])[0]


def ram_need(model: ModelFile, layout: Layout) -> Need:
    """Bytes in main memory, the pages of the mapped file that are used at every token included.

    ``copies`` is the least; see ``useful_copies_bytes``.
    """
    gpu_start = all_gpu_layers(model) - max(0, min(layout.gpu_layers, all_gpu_layers(model)))
    here = range(min(gpu_start, model.layer_count))
    on_gpu = gpu_weight_bytes(model, layout.gpu_layers, layout.cpu_expert_layers)
    copied = model.token_embedding_bytes if model.tied_output and layout.gpu_layers > 0 else 0
    everything = layout.gpu_layers >= all_gpu_layers(model)
    handed_over = everything and (layout.cpu_expert_layers == 0 or layout.batch >= _OFFLOADED_BATCH)
    return Need(
        weights=model.weight_bytes - (on_gpu - copied),
        kv=_kv_of(model, here, layout),
        recurrent=_state_of(model, here),
        compute=_input_bytes(model, layout) if handed_over else compute_bytes(model, layout),
        overhead=PROCESS_OVERHEAD_BYTES,
        output=output_bytes(model, layout),
        copies=LEAST_STATE_COPIES * model.attention.recurrent_bytes,
    )


# ------------------------------------------------------------------ how much


def gpu_weight_bytes(model: ModelFile, gpu_layers: int, cpu_expert_layers: int) -> int:
    """Weights that the engine puts on GPUs: the output first, then the last layers.

    The token embeddings always stay in RAM; an output that is tied to them is a second copy.
    """
    layout = Layout(gpu_layers, cpu_expert_layers, 0, KvType.F16)
    (part,) = split_layers(model, layout, [1])
    return _device_weights(model, layout, part)


def _device_weights(model: ModelFile, layout: Layout, part: range) -> int:
    layers = sum(
        model.layers[index].total - (model.layers[index].experts if index < layout.cpu_expert_layers else 0)
        for index in part
        if index < model.layer_count
    )
    if model.layer_count not in part:
        return layers
    output = model.token_embedding_bytes if model.tied_output else model.output_bytes
    return layers + output + model.other_bytes


def kv_bytes(model: ModelFile, context: int, kv_type: KvType) -> int:
    """The KV cache of the whole context."""
    return int(padded(context) * model.attention.kv_values_per_token * kv_type.bytes_per_value)


def useful_copies_bytes(model: ModelFile, layout: Layout) -> int:
    """What copies of states may take at most to any use: two other chats that fill their context."""
    recurrent = model.attention.recurrent_bytes
    whole = kv_bytes(model, layout.context, layout.kv_type) + recurrent
    return _USEFUL_STATES * whole + _USEFUL_STATE_COPIES * recurrent


def output_bytes(model: ModelFile, layout: Layout) -> int:
    """The results for ``outputs`` tokens: one F32 for each word of the vocabulary."""
    return 4 * layout.outputs * model.vocabulary_size


def compute_bytes(model: ModelFile, layout: Layout) -> int:
    """The engine's working buffer: the largest set of intermediate values, the attention mask, the inputs.

    Against dry runs of llama.cpp 0.5.0: qwen35moe of full size to a millionth for every context, KV type
    and batch; llama, qwen3, qwen3moe and gemma3 from 1 % below to 10 % above (the engine's allocator finds
    gaps that no formula knows).
    """
    quantised = layout.kv_type is not KvType.F16
    values = max(_feed_forward_values(model, quantised), _expert_values(model))
    caches = 2 if model.attention.sliding_window else 1
    hybrid = model.attention.recurrent_layers > 0
    # Token, positions (four each where they have sections), output row, and two row numbers per cache.
    inputs = 4 + (16 if hybrid else 4) + 16 * caches
    per_token = 4 * values + inputs + caches * 2 * padded(layout.context)
    fixed = 64 + (caches * _rotation_bytes(model.key_length) if quantised else 0)
    results = 4 * layout.outputs * model.vocabulary_size + 16 * model.embedding_length * layout.batch
    return max(layout.batch * per_token + fixed, results if layout.outputs > 1 else 0)


def _feed_forward_values(model: ModelFile, quantised: bool) -> int:
    """Values per token in a feed-forward part: three rows of its width, three of the embedding, queries."""
    embedding, queries = model.embedding_length, model.head_count * model.key_length
    if quantised:  # the queries are turned first; where all rows have one width, their place is used again
        queries = 0 if queries == embedding else queries if queries > embedding else 2 * queries
    if model.is_moe:
        width = model.expert_used_count * (model.expert_feed_forward_length or model.feed_forward_length)
    else:
        width = model.feed_forward_length
    return 3 * width + 3 * embedding + queries


def _expert_values(model: ModelFile) -> int:
    """Values per token where the experts are added up: each one's output twice, and some rows beside."""
    if not model.is_moe:
        return 0
    rows = 2 if model.attention.recurrent_layers else 6
    return (2 * model.expert_used_count + rows) * model.embedding_length


def _rotation_bytes(head: int) -> int:
    """Two F32 matrices that turn keys and values before they are quantised, where the head allows it."""
    if head <= 0 or head % 64:
        return 0
    side = 64
    while head % (2 * side) == 0:
        side *= 2
    return 4 * (side * side + 64 * 64)


def padded(context: int) -> int:
    """The context as the engine allocates it."""
    return -(-context // CONTEXT_STEP) * CONTEXT_STEP


def _input_bytes(model: ModelFile, layout: Layout) -> int:
    """What stays in RAM when long prompts are computed on the GPU: embedded tokens, twice, and the mask."""
    return layout.batch * (8 * model.embedding_length + 2 * padded(layout.context))


def _kv_of(model: ModelFile, part: range, layout: Layout) -> int:
    values = _of_layers(model.attention.layer_kv_values, model.attention.kv_values_per_token, model, part)
    return int(padded(layout.context) * values * layout.kv_type.bytes_per_value)


def _state_of(model: ModelFile, part: range) -> int:
    return _of_layers(model.attention.layer_state_bytes, model.attention.recurrent_bytes, model, part)


def _of_layers(per_layer: Sequence[int], total: int, model: ModelFile, part: range) -> int:
    """The sum over some layers; where only the total is known they count as equal."""
    layers = [index for index in part if index < model.layer_count]
    if per_layer:
        return sum(per_layer[index] for index in layers)
    return -(-total * len(layers) // model.layer_count) if model.layer_count else 0
