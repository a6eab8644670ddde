"""A model of some hundred kilobytes, written here, that a new engine has to compute with before it is used.

One layer of the plainest architecture with weights at random, in the two formats that most files on the hub
carry (Q4_K and Q8_0): an engine that was built for another processor or whose graphics kernels do not run
fails on it as on a real one. What it says means nothing.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

_WIDTH = 256  # one block of Q4_K
_FEED_FORWARD = 512
_HEADS = 4
_F32, _Q8_0, _Q4_K = 0, 8, 12  # ggml_type
_U32, _FLOAT, _STRING, _ARRAY, _I32 = 4, 6, 8, 9, 5  # gguf value types
_ALIGNMENT = 32
_SPECIAL = ("<unk>", "<s>", "</s>")
_UNKNOWN, _CONTROL, _BYTE = 2, 3, 6  # token types


def write_trial_model(path: Path) -> None:
    """Write the file; always the same bytes.

    Raises:
        OSError: it cannot be written.
    """
    # Weights, not secrets.
    rng = random.Random(1)
    tensors = [
        (name, shape, kind, _data(shape, kind, rng))
        for name, shape, kind in (
            ("token_embd.weight", (_WIDTH, len(_tokens())), _Q8_0),
            ("blk.0.attn_norm.weight", (_WIDTH,), _F32),
            ("blk.0.attn_q.weight", (_WIDTH, _WIDTH), _Q4_K),
            ("blk.0.attn_k.weight", (_WIDTH, _WIDTH), _Q4_K),
            ("blk.0.attn_v.weight", (_WIDTH, _WIDTH), _Q8_0),
            ("blk.0.attn_output.weight", (_WIDTH, _WIDTH), _Q4_K),
            ("blk.0.ffn_norm.weight", (_WIDTH,), _F32),
            ("blk.0.ffn_gate.weight", (_WIDTH, _FEED_FORWARD), _Q4_K),
            ("blk.0.ffn_up.weight", (_WIDTH, _FEED_FORWARD), _Q4_K),
            ("blk.0.ffn_down.weight", (_FEED_FORWARD, _WIDTH), _Q4_K),
            ("output_norm.weight", (_WIDTH,), _F32),
        )
    ]
    keys = _keys()
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys)) + b"".join(keys)
    body = b""
    for name, shape, kind, data in tensors:
        header += _text(name) + struct.pack("<I", len(shape))
        header += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", kind, len(body))
        body += data + bytes(-len(data) % _ALIGNMENT)
    path.write_bytes(header + bytes(-len(header) % _ALIGNMENT) + body)


def _tokens() -> list[str]:
    return [*_SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), "▁"]


def _keys() -> list[bytes]:
    tokens = _tokens()
    types = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256, 1]
    numbers = {
        "llama.block_count": 1,
        "llama.context_length": 512,
        "llama.embedding_length": _WIDTH,
        "llama.feed_forward_length": _FEED_FORWARD,
        "llama.attention.head_count": _HEADS,
        "llama.attention.head_count_kv": _HEADS,
        "llama.rope.dimension_count": _WIDTH // _HEADS,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }
    return [
        _text("general.architecture") + struct.pack("<I", _STRING) + _text("llama"),
        _text("general.name") + struct.pack("<I", _STRING) + _text("trial"),
        _text("tokenizer.ggml.model") + struct.pack("<I", _STRING) + _text("llama"),
        _text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", _FLOAT, 1e-5),
        *(_text(name) + struct.pack("<II", _U32, value) for name, value in numbers.items()),
        _text("tokenizer.ggml.tokens") + _array(_STRING, b"".join(map(_text, tokens)), len(tokens)),
        _text("tokenizer.ggml.scores")
        + _array(_FLOAT, struct.pack(f"<{len(tokens)}f", *([0.0] * len(tokens))), len(tokens)),
        _text("tokenizer.ggml.token_type") + _array(_I32, struct.pack(f"<{len(types)}i", *types), len(types)),
    ]


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _array(kind: int, data: bytes, count: int) -> bytes:
    return struct.pack("<IIQ", _ARRAY, kind, count) + data


def _data(shape: tuple[int, ...], kind: int, rng: random.Random) -> bytes:
    count = 1
    for length in shape:
        count *= length
    if kind == _F32:
        return struct.pack(f"<{count}f", *([1.0] * count))
    if kind == _Q8_0:  # blocks of 32: a scale and as many signed bytes
        return b"".join(struct.pack("<e", 0.001) + rng.randbytes(32) for _block in range(count // 32))
    # Q4_K, blocks of 256: two scales, their parts (12 bytes), half bytes.
    scales = struct.pack("<ee", 0.0002, 0.001)
    return b"".join(scales + rng.randbytes(12) + rng.randbytes(128) for _block in range(count // 256))
