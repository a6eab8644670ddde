"""The shape of Clover, known before its file is here: for planning ahead. Computed, not measured.

Tensor names and sizes are those of the published files of its network (40 layers, every fourth with full
attention, 256 experts of which 8 work on a token). All matrices are counted as Q4_K, which gives the
published 19.6 GB.
"""

from __future__ import annotations

from pathlib import Path

from clover_gui.model_file.summary import Attention, LayerBytes, ModelFile

CLOVER_ID = "clover"
"""Its name in the catalogue."""

_LAYERS, _EMBEDDING, _VOCABULARY = 40, 2048, 248320
_EXPERTS, _USED, _WIDTH = 256, 8, 512
_HEADS, _HEADS_KV, _HEAD = 16, 2, 256
# Delta-net layers: groups of keys, value heads, state per head, taps of the convolution.
_GROUPS, _RANK, _STATE, _TAPS = 16, 32, 128, 4
_KEYS, _VALUES = _GROUPS * _STATE, _RANK * _STATE
# The header of a published file of this network: vocabulary, merges, chat template, tensor list.
_HEADER_BYTES = 10_988_928


def clover_shape() -> ModelFile:
    """A ModelFile without a file: 35 billion parameters, all matrices Q4_K."""
    layers = tuple(_layer(index) for index in range(_LAYERS))
    full = [_is_full(index) for index in range(_LAYERS)]
    kv_values = tuple(2 * _HEADS_KV * _HEAD * keeps for keeps in full)
    state = 4 * ((_TAPS - 1) * (2 * _KEYS + _VALUES) + _STATE * _VALUES)
    states = tuple(0 if keeps else state for keeps in full)
    words = _q4_k(_EMBEDDING * _VOCABULARY)
    other = 4 * _EMBEDDING
    return ModelFile(
        path=Path("Clover-35B-A3B.gguf"),
        size_bytes=_HEADER_BYTES + sum(layer.total for layer in layers) + 2 * words + other,
        gguf_version=3,
        architecture="clover_moe",
        name="Clover 35B-A3B",
        quantization="Q4_K",
        parameter_count=34_660_610_688,
        layer_count=_LAYERS,
        embedding_length=_EMBEDDING,
        vocabulary_size=_VOCABULARY,
        trained_context=131072,
        expert_count=_EXPERTS,
        expert_used_count=_USED,
        layers=layers,
        token_embedding_bytes=words,
        output_bytes=words,
        other_bytes=other,
        attention=Attention(sum(full), sum(kv_values), full.count(False), sum(states), kv_values, states),
        tensor_count=733,
        data_offset=_HEADER_BYTES,
        chat_template=None,
        head_count=_HEADS,
        key_length=_HEAD,
        expert_feed_forward_length=_WIDTH,
        largest_layer_tensor_bytes=_q4_k(_EMBEDDING * _WIDTH * _EXPERTS),
    )


def _layer(index: int) -> LayerBytes:
    e = _EMBEDDING
    norms = 4 * 2 * e
    router = 4 * e * _EXPERTS + 4 * e  # of the experts, and of the shared expert
    attention = delta = 0
    if _is_full(index):
        queries, keys = _HEADS * _HEAD, _HEADS_KV * _HEAD
        attention = _q4_k(e * 2 * queries + 2 * e * keys + queries * e) + 4 * 2 * _HEAD
    else:
        delta = _q4_k(e * (2 * _KEYS + _VALUES) + 2 * e * _VALUES + 2 * e * _RANK)
        delta += 4 * (_TAPS * (2 * _KEYS + _VALUES) + 2 * _RANK + _STATE)
    return LayerBytes(
        experts=3 * _q4_k(e * _WIDTH * _EXPERTS),
        shared_experts=_q4_k(3 * e * _WIDTH),
        attention=attention,
        delta_net=delta,
        other=norms + router,
    )


def _is_full(index: int) -> bool:
    return (index + 1) % 4 == 0


def _q4_k(values: int) -> int:
    """144 bytes for 256 values."""
    return values // 256 * 144
