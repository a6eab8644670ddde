"""Parts of the test models: shapes, vocabulary, metadata, tensor lists. Knows nothing of the engine.

The hybrid architecture is ``qwen35moe`` (gated delta-net layers, every fourth layer full attention,
mixture of experts); ``llama`` is the plain dense one, whose state can be cut at any token.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import gguf

HYBRID = "qwen35moe"
DENSE = "llama"
TEMPLATE = Path(__file__).with_name("qwen_form.jinja").read_text(encoding="utf-8")
# As in the real files: <think> is USER_DEFINED (printed), <|im_end|> is CONTROL (not printed).
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of one model; the names are those of the GGUF keys."""

    layers: int
    embedding: int
    heads: int
    heads_kv: int
    head_dim: int
    rotary: int
    sections: tuple[int, int, int, int]
    experts: int
    experts_used: int
    feed_forward: int
    ssm_state: int
    ssm_groups: int
    ssm_rank: int
    context: int


TINY = Shape(4, 64, 4, 2, 32, 16, (3, 3, 2, 0), 8, 2, 32, 32, 2, 4, 8192)
SCRIPTED = Shape(4, 128, 4, 2, 32, 16, (3, 3, 2, 0), 8, 2, 32, 32, 2, 4, 8192)
REAL = Shape(40, 2048, 16, 2, 256, 64, (11, 11, 10, 0), 256, 8, 512, 128, 16, 32, 262144)


def byte_characters() -> list[str]:
    """The printable character that byte-level BPE writes for each byte (GPT-2's table)."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = itertools.count(256)
    return [chr(b) if b in plain else chr(next(spare)) for b in range(256)]


def encoded(text: str) -> str:
    """``text`` as it stands in a byte-level vocabulary."""
    table = byte_characters()
    return "".join(table[b] for b in text.encode())


class Vocabulary:
    """Tokens with their types and merges; every text at most once, as the engine aborts on duplicates."""

    def __init__(self, size: int | None = None, extra: Iterable[str] = ()) -> None:
        """``size`` None: bytes, a few merges, the special tokens, then ``extra`` (plain texts).

        Otherwise exactly ``size`` synthetic tokens with the special ones at the end and some padding.
        """
        table = byte_characters()
        self.tokens: list[str] = list(table)
        self.merges: list[str] = []
        self._ids = {token: i for i, token in enumerate(table)}
        if size is None:
            self._add_common_merges(table)
        else:
            self._add_synthetic(table, size - len(SPECIAL) - 64)
        self.types = [int(gguf.TokenType.NORMAL)] * len(self.tokens)
        for text in SPECIAL:
            kind = gguf.TokenType.USER_DEFINED if "think" in text else gguf.TokenType.CONTROL
            self._add(text, kind)
        for text in extra:
            if text not in SPECIAL and encoded(text) not in self._ids:
                self._add(encoded(text), gguf.TokenType.NORMAL)
        while size and len(self.tokens) < size:
            self._add(f"[PAD{len(self.tokens)}]", gguf.TokenType.UNUSED)

    def __len__(self) -> int:
        return len(self.tokens)

    def id(self, text: str) -> int:
        """The token of a special text or of a plain text that is one token."""
        return self._ids[text if text in SPECIAL else encoded(text)]

    def _add(self, token: str, kind: gguf.TokenType) -> None:
        self._ids[token] = len(self.tokens)
        self.tokens.append(token)
        self.types.append(int(kind))

    def _merge(self, left: str, right: str) -> None:
        self.merges.append(f"{left} {right}")
        self._ids[left + right] = len(self.tokens)
        self.tokens.append(left + right)

    def _add_common_merges(self, table: list[str]) -> None:
        for pair in ("he", "in", "er", "an", "th", "on", "st", "en", "re", "es"):
            self._merge(pair[0], pair[1])
        self._merge("th", "e")
        self._merge(table[32], "the")
        for letter in "abcdefghijklmnopqrstuvwxyz":
            self._merge(table[32], letter)
        # One token as in the real vocabulary: the tail of a prompt without thinking.
        self._merge(table[10], table[10])

    def _add_synthetic(self, table: list[str], wanted: int) -> None:
        for left, right in itertools.product(table, table):
            self._merge(left, right)
        printable = [table[c] for c in range(32, 127)]
        for a, b, c in itertools.product(printable, printable, printable):
            if len(self.tokens) >= wanted:
                break
            self._merge(a + b, c)


def tensors(shape: Shape, vocabulary: int, architecture: str) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    """(name, ggml shape, is it a matrix) of every tensor. Vectors and small ones are F32."""
    e = shape.embedding
    yield "token_embd.weight", (e, vocabulary), True
    yield "output_norm.weight", (e,), False
    yield "output.weight", (e, vocabulary), True
    for layer in range(shape.layers):
        block = _dense_block(shape) if architecture == DENSE else _hybrid_block(shape, layer)
        for name, dims, matrix in block:
            yield f"blk.{layer}.{name}", dims, matrix


def _dense_block(s: Shape) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    e, ff = s.embedding, 2 * s.feed_forward
    yield "attn_norm.weight", (e,), False
    yield "attn_q.weight", (e, s.head_dim * s.heads), True
    yield "attn_k.weight", (e, s.head_dim * s.heads_kv), True
    yield "attn_v.weight", (e, s.head_dim * s.heads_kv), True
    yield "attn_output.weight", (s.head_dim * s.heads, e), True
    yield "ffn_norm.weight", (e,), False
    yield "ffn_gate.weight", (e, ff), True
    yield "ffn_up.weight", (e, ff), True
    yield "ffn_down.weight", (ff, e), True


def _hybrid_block(s: Shape, layer: int) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    e, ff = s.embedding, s.feed_forward
    yield "attn_norm.weight", (e,), False
    yield "post_attention_norm.weight", (e,), False
    if (layer + 1) % 4:
        key, value = s.ssm_state * s.ssm_groups, s.ssm_state * s.ssm_rank
        yield "attn_qkv.weight", (e, 2 * key + value), True
        yield "attn_gate.weight", (e, value), True
        yield "ssm_conv1d.weight", (4, 2 * key + value), False
        yield "ssm_dt.bias", (s.ssm_rank,), False
        yield "ssm_a", (s.ssm_rank,), False
        yield "ssm_beta.weight", (e, s.ssm_rank), True
        yield "ssm_alpha.weight", (e, s.ssm_rank), True
        yield "ssm_norm.weight", (s.ssm_state,), False
        yield "ssm_out.weight", (value, e), True
    else:
        yield "attn_q.weight", (e, 2 * s.head_dim * s.heads), True
        yield "attn_k.weight", (e, s.head_dim * s.heads_kv), True
        yield "attn_v.weight", (e, s.head_dim * s.heads_kv), True
        yield "attn_output.weight", (s.head_dim * s.heads, e), True
        yield "attn_q_norm.weight", (s.head_dim,), False
        yield "attn_k_norm.weight", (s.head_dim,), False
    yield "ffn_gate_inp.weight", (e, s.experts), False
    yield "ffn_gate_exps.weight", (e, ff, s.experts), True
    yield "ffn_up_exps.weight", (e, ff, s.experts), True
    yield "ffn_down_exps.weight", (ff, e, s.experts), True
    yield "ffn_gate_inp_shexp.weight", (e,), False
    yield "ffn_gate_shexp.weight", (e, ff), True
    yield "ffn_up_shexp.weight", (e, ff), True
    yield "ffn_down_shexp.weight", (ff, e), True


def write_metadata(
    writer: gguf.GGUFWriter,
    shape: Shape,
    vocabulary: Vocabulary,
    name: str,
    file_type: int,
    template: str | None,
) -> None:
    """All keys of a model; ``template`` None leaves the chat template out."""
    writer.add_name(name)
    writer.add_file_type(file_type)
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.embedding)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads_kv)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim if writer.arch == DENSE else shape.rotary)
    if writer.arch == DENSE:
        writer.add_rope_freq_base(10000.0)
        writer.add_feed_forward_length(2 * shape.feed_forward)
    else:
        _write_hybrid_keys(writer, shape)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35" if writer.arch == HYBRID else "qwen2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    writer.add_eos_token_id(vocabulary.id("<|im_end|>"))
    writer.add_pad_token_id(vocabulary.id("<|endoftext|>"))
    if template is not None:
        writer.add_chat_template(template)


def _write_hybrid_keys(writer: gguf.GGUFWriter, shape: Shape) -> None:
    arch = writer.arch
    writer.add_rope_freq_base(10000000.0)
    writer.add_rope_dimension_sections(list(shape.sections))
    writer.add_expert_count(shape.experts)
    writer.add_expert_used_count(shape.experts_used)
    writer.add_expert_feed_forward_length(shape.feed_forward)
    writer.add_expert_shared_feed_forward_length(shape.feed_forward)
    writer.add_uint32(f"{arch}.ssm.conv_kernel", 4)
    writer.add_uint32(f"{arch}.ssm.state_size", shape.ssm_state)
    writer.add_uint32(f"{arch}.ssm.group_count", shape.ssm_groups)
    writer.add_uint32(f"{arch}.ssm.time_step_rank", shape.ssm_rank)
    writer.add_uint32(f"{arch}.ssm.inner_size", shape.ssm_state * shape.ssm_rank)
    writer.add_uint32(f"{arch}.full_attention_interval", 4)
