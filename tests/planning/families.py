"""Files with the shapes of other model families over a hole: header and true sizes, a small vocabulary.

For comparing the planner with the engine's dry runs; the weights are zero.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Quant

from tests.kit.gguf_parts import Vocabulary


@dataclass(frozen=True, slots=True)
class Family:
    """Sizes of one model; ``experts`` 0 is a dense one. ``window`` is that of sliding-window layers."""

    architecture: str
    layers: int
    embedding: int
    heads: int
    heads_kv: int
    head_dim: int
    feed_forward: int
    tied: bool = False
    norms: bool = False
    post_norms: bool = False
    experts: int = 0
    experts_used: int = 0
    window: int = 0


FAMILIES = {
    "llama-8b": Family("llama", 32, 4096, 32, 8, 128, 14336),
    "smol-135m": Family("llama", 30, 576, 9, 3, 64, 1536, tied=True),
    "qwen3-0.6b": Family("qwen3", 28, 1024, 16, 8, 128, 3072, tied=True, norms=True),
    "qwen3moe-30b": Family("qwen3moe", 48, 2048, 32, 4, 128, 768, norms=True, experts=128, experts_used=8),
    "mixtral-8x7b": Family("llama", 32, 4096, 32, 8, 128, 14336, experts=8, experts_used=2),
    "gemma3-1b": Family("gemma3", 26, 1152, 4, 1, 256, 6912, True, True, True, window=512),
}


def make_family(path: Path, family: Family) -> Path:
    """Write the file (some KB on disk)."""
    f = family
    writer = gguf.GGUFWriter(str(path), f.architecture)
    vocabulary = Vocabulary()
    writer.add_name(f.architecture)
    writer.add_block_count(f.layers)
    writer.add_context_length(131072)
    writer.add_embedding_length(f.embedding)
    writer.add_head_count(f.heads)
    writer.add_head_count_kv(f.heads_kv)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_key_length(f.head_dim)
    writer.add_value_length(f.head_dim)
    writer.add_feed_forward_length(f.feed_forward)
    if f.architecture == "llama":
        writer.add_rope_dimension_count(f.head_dim)
    if f.window:
        writer.add_sliding_window(f.window)
    if f.experts:
        writer.add_expert_count(f.experts)
        writer.add_expert_used_count(f.experts_used)
        writer.add_expert_feed_forward_length(f.feed_forward)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    writer.add_eos_token_id(vocabulary.id("<|im_end|>"))
    total = 0
    for name, dims, matrix in _tensors(f, len(vocabulary)):
        quant = _type(dims, matrix)
        block, size = gguf.GGML_QUANT_SIZES[quant]
        size_bytes = int(np.prod(dims, dtype=np.int64)) // block * size
        writer.add_tensor_info(name, tuple(reversed(dims)), np.dtype(np.float32), size_bytes, raw_dtype=quant)
        total += gguf.GGUFWriter.ggml_pad(size_bytes, 32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.flush()
    start = gguf.GGUFWriter.ggml_pad(path.stat().st_size, 32)
    writer.close()
    os.truncate(path, start + total)
    return path


def _type(dims: tuple[int, ...], matrix: bool) -> Quant:
    if not matrix:
        return Quant.F32
    return Quant.Q4_K if dims[0] % 256 == 0 else Quant.Q8_0


def _tensors(f: Family, vocabulary: int) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    """(name, ggml shape, is it a matrix)."""
    e, q, kv = f.embedding, f.heads * f.head_dim, f.heads_kv * f.head_dim
    yield "token_embd.weight", (e, vocabulary), True
    yield "output_norm.weight", (e,), False
    if not f.tied:
        yield "output.weight", (e, vocabulary), True
    for layer in range(f.layers):
        for name, dims, matrix in (
            ("attn_norm.weight", (e,), False),
            ("attn_q.weight", (e, q), True),
            ("attn_k.weight", (e, kv), True),
            ("attn_v.weight", (e, kv), True),
            ("attn_output.weight", (q, e), True),
            ("ffn_norm.weight", (e,), False),
            *_norms(f),
            *_feed_forward(f),
        ):
            yield f"blk.{layer}.{name}", dims, matrix


def _norms(f: Family) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    for name in ("attn_q_norm.weight", "attn_k_norm.weight") if f.norms else ():
        yield name, (f.head_dim,), False
    for name in ("post_attention_norm.weight", "post_ffw_norm.weight") if f.post_norms else ():
        yield name, (f.embedding,), False


def _feed_forward(f: Family) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    e, ff, x = f.embedding, f.feed_forward, f.experts
    if not x:
        yield "ffn_gate.weight", (e, ff), True
        yield "ffn_up.weight", (e, ff), True
        yield "ffn_down.weight", (ff, e), True
        return
    yield "ffn_gate_inp.weight", (e, x), False
    yield "ffn_gate_exps.weight", (e, ff, x), True
    yield "ffn_up_exps.weight", (e, ff, x), True
    yield "ffn_down_exps.weight", (ff, e, x), True
