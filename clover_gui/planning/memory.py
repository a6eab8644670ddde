"""How many bytes a placement needs, on the GPU and in RAM. Pure arithmetic, no choices.

The formulas follow what llama.cpp 0.5.0 allocates (flash attention on, one sequence, logits of one token
at a time); they were compared with its own dry runs, see ``compute_bytes``.
"""

from __future__ import annotations

from dataclasses import dataclass

from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.plan import KvType, Need

MIB = 1 << 20

# What a driver takes for its context and pools: 400 to 500 MiB follow from published totals of CUDA cards.
DRIVER_OVERHEAD_BYTES = 450 * MIB
# The engine process itself with its libraries and the vocabulary.
PROCESS_OVERHEAD_BYTES = 200 * MIB
# The engine keeps this many copies of the recurrent state, to go back to the end of earlier messages.
STATE_COPIES = 2
# The engine rounds the context up to whole steps of this many tokens.
CONTEXT_STEP = 256


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to place a model. ``gpu_layers`` counts the output as one, and it is placed first."""

    gpu_layers: int
    cpu_expert_layers: int
    context: int
    kv_type: KvType
    batch: int = 512


def all_gpu_layers(model: ModelFile) -> int:
    """The value of ``gpu_layers`` that means everything."""
    return model.layer_count + 1


def gpu_need(model: ModelFile, layout: Layout) -> Need:
    """Bytes on the GPU; all zero when no layer is there."""
    if layout.gpu_layers <= 0:
        return Need()
    blocks = min(layout.gpu_layers - 1, model.layer_count)
    return Need(
        weights=gpu_weight_bytes(model, layout.gpu_layers, layout.cpu_expert_layers),
        kv=_share(kv_bytes(model, layout.context, layout.kv_type), blocks, model.layer_count),
        recurrent=_share(model.attention.recurrent_bytes, blocks, model.layer_count),
        compute=compute_bytes(model, layout),
        overhead=DRIVER_OVERHEAD_BYTES,
    )


def ram_need(model: ModelFile, layout: Layout) -> Need:
    """Bytes in main memory, the pages of the mapped file that are used at every token included."""
    blocks = max(0, min(layout.gpu_layers - 1, model.layer_count))
    on_gpu = gpu_weight_bytes(model, layout.gpu_layers, layout.cpu_expert_layers)
    copied = model.token_embedding_bytes if model.tied_output and layout.gpu_layers > 0 else 0
    on_cpu = model.weight_bytes - (on_gpu - copied)
    everything = layout.gpu_layers >= all_gpu_layers(model) and layout.cpu_expert_layers == 0
    kv, state = kv_bytes(model, layout.context, layout.kv_type), model.attention.recurrent_bytes
    return Need(
        weights=on_cpu,
        kv=kv - _share(kv, blocks, model.layer_count),
        recurrent=state - _share(state, blocks, model.layer_count),
        compute=(_input_bytes(model, layout) if everything else compute_bytes(model, layout))
        + 4 * model.vocabulary_size,
        overhead=PROCESS_OVERHEAD_BYTES + STATE_COPIES * state,
    )


def gpu_weight_bytes(model: ModelFile, gpu_layers: int, cpu_expert_layers: int) -> int:
    """Weights that the engine puts on the GPU: the output first, then the last layers.

    The token embeddings always stay in RAM; an output that is tied to them is a second copy.
    """
    if gpu_layers <= 0:
        return 0
    output = model.token_embedding_bytes if model.tied_output else model.output_bytes
    start = max(0, model.layer_count + 1 - gpu_layers)
    layers = sum(
        layer.total - (layer.experts if start + index < cpu_expert_layers else 0)
        for index, layer in enumerate(model.layers[start:])
    )
    return output + model.other_bytes + layers


def kv_bytes(model: ModelFile, context: int, kv_type: KvType) -> int:
    """The KV cache of the whole context."""
    return int(padded(context) * model.attention.kv_values_per_token * kv_type.bytes_per_value)


def compute_bytes(model: ModelFile, layout: Layout) -> int:
    """The engine's working buffer: the largest set of intermediate values plus the attention mask.

    Per prompt token of a batch, in F32 values: with experts two copies of every used expert's output and
    two (hybrid) or six rows of the embedding; dense three rows of the feed-forward part and four of the
    embedding. Against dry runs of llama.cpp 0.5.0: qwen35moe, qwen3moe, llama and qwen3 within 0.1 %,
    gemma3 0.5 % above; with a quantised cache dense models need up to 7 % less than this.
    """
    embedding = model.embedding_length
    hybrid = model.attention.recurrent_layers > 0
    if model.is_moe:
        values = (2 * model.expert_used_count + (2 if hybrid else 6)) * embedding
    else:
        values = 3 * model.feed_forward_length + 4 * embedding
    per_token = 4 * (values + (10 if hybrid else 6)) + 2 * padded(layout.context)
    if layout.kv_type is not KvType.F16:
        per_token += 544
    return layout.batch * per_token


def padded(context: int) -> int:
    """The context as the engine allocates it."""
    return -(-context // CONTEXT_STEP) * CONTEXT_STEP


def _input_bytes(model: ModelFile, layout: Layout) -> int:
    """What stays in RAM when everything else is on the GPU: embedded tokens and the mask."""
    return layout.batch * (4 * model.embedding_length + 2 * padded(layout.context))


def _share(total: int, part: int, whole: int) -> int:
    """The part of some of the layers; layers of one kind are spread evenly. Rounded up."""
    return -(-total * part // whole) if whole else 0
