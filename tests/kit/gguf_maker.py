"""Makes GGUF files for tests: models that run, models that only have a header, and broken ones.

    python -m tests.kit.gguf_maker tiny OUT          random weights, < 1 MB, loads and writes noise
    python -m tests.kit.gguf_maker scripted OUT      always the same thinking-then-answer text
    python -m tests.kit.gguf_maker long|endless|transcript OUT
    python -m tests.kit.gguf_maker twin OUT          full-size shapes, sparse file of 19.7 GiB (7 MB on disk)
    python -m tests.kit.gguf_maker twin8 OUT         the same with 8 layers (4.6 GiB), quick enough to run
    python -m tests.kit.gguf_maker big-vocabulary|unknown OUT
    python -m tests.kit.gguf_maker damaged FOLDER    one broken file of each kind

Knows nothing of the engine and of the program.
"""

from __future__ import annotations

import argparse
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Quant

from tests.kit import scripts
from tests.kit.gguf_parts import (
    DENSE,
    HYBRID,
    REAL,
    SCRIPTED,
    SPECIAL,
    TEMPLATE,
    TINY,
    Shape,
    Vocabulary,
    tensors,
    write_metadata,
)

Fill = Callable[[str, tuple[int, ...]], np.ndarray]


def make_tiny(
    path: Path,
    *,
    seed: int = 1,
    arch: str = HYBRID,
    template: str | None = TEMPLATE,
    name: str = "Tiny test model",
    context: int = 8192,
) -> Path:
    """Random weights: the output is noise, but it depends on the whole history."""
    rng = np.random.default_rng(seed)
    vocabulary = Vocabulary()
    specials = len(vocabulary) - len(SPECIAL)
    # Large weights make the dense model amplify rounding until greedy answers differ from run to run.
    scale = 0.5 if arch == DENSE else 1.5

    def fill(tensor: str, shape: tuple[int, ...]) -> np.ndarray:
        if tensor.endswith("norm.weight"):
            return np.ones(shape, np.float32)
        if tensor.endswith("ssm_a"):
            return -np.exp(rng.uniform(-3, 0, shape)).astype(np.float32)
        wide = tensor in ("token_embd.weight", "output.weight")
        data = rng.normal(0, 1.0 if wide else scale / np.sqrt(shape[-1]), shape).astype(np.float32)
        if tensor == "output.weight":
            data *= 0.35  # a soft distribution
            data[specials:] = 0.0  # special tokens and broken characters never win by accident
            data[128:256] = 0.0
        return data

    _write_model(path, replace(TINY, context=context), vocabulary, arch, template, name, fill)
    return path


def make_scripted(
    path: Path,
    *,
    script: scripts.Script = scripts.DEFAULT,
    arch: str = HYBRID,
    template: str | None = TEMPLATE,
    name: str = "Scripted test model",
    context: int = 8192,
    seed: int = 1,
    broken: bool = False,
) -> Path:
    """A model that always says the same, whatever the sampling.

    ``broken`` puts a value that is no number into its last norm: it loads, and computes no numbers.

    All block outputs are zero, so the residual stream is the embedding of the last token, and the output
    matrix maps each token to its successor in ``script``.
    """
    rng = np.random.default_rng(seed)
    vocabulary = Vocabulary(extra=script.texts())
    embedding = rng.choice([-1.0, 1.0], (len(vocabulary), SCRIPTED.embedding)).astype(np.float32)
    output = np.zeros_like(embedding)

    def token(step: scripts.Step) -> int:
        return step if isinstance(step, int) else vocabulary.id(step)

    for before, after in script.successors():
        output[token(after)] += embedding[token(before)]
    silent = (
        "attn_output.weight",
        "ssm_out.weight",
        "ffn_down_exps.weight",
        "ffn_down_shexp.weight",
        "ffn_down.weight",
    )

    def fill(tensor: str, shape: tuple[int, ...]) -> np.ndarray:
        if tensor == "token_embd.weight":
            return embedding
        if tensor == "output.weight":
            return output
        if tensor.endswith("norm.weight"):
            ones = np.ones(shape, np.float32)
            if broken and tensor == "output_norm.weight":
                ones[0] = np.nan
            return ones
        if tensor.endswith("ssm_a"):  # negative, or the recurrent state grows beyond all numbers
            return -np.exp(rng.uniform(-3, 0, shape)).astype(np.float32)
        if tensor.endswith(silent):
            return np.zeros(shape, np.float32)
        return rng.normal(0, 0.1, shape).astype(np.float32)

    _write_model(path, replace(SCRIPTED, context=context), vocabulary, arch, template, name, fill)
    return path


def _write_model(
    path: Path, shape: Shape, vocabulary: Vocabulary, arch: str, template: str | None, name: str, fill: Fill
) -> None:
    writer = gguf.GGUFWriter(str(path), arch)
    write_metadata(writer, shape, vocabulary, name, int(gguf.LlamaFileType.MOSTLY_F16), template)
    for tensor, dims, matrix in tensors(shape, len(vocabulary), arch):
        data = fill(tensor, tuple(reversed(dims)))
        writer.add_tensor(tensor, data.astype(np.float16) if matrix else data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ------------------------------------------------------------------ header with a hole for the data


def more_bits(layer: int, layers: int) -> bool:
    """Layers whose sensitive matrices get Q6_K in a Q4_K_M file (the rule of llama.cpp's quantiser)."""
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


def q4_k_m(tensor: str, matrix: bool, layers: int) -> Quant:
    """The type of a tensor in a Q4_K_M file of the hybrid architecture."""
    if not matrix:
        return Quant.F32
    if tensor == "output.weight":
        return Quant.Q6_K
    part = tensor.split(".")
    sensitive = part[0] == "blk" and part[2] in ("ffn_down_exps", "ffn_down_shexp", "attn_qkv", "attn_v")
    return Quant.Q6_K if sensitive and more_bits(int(part[1]), layers) else Quant.Q4_K


def make_twin(path: Path, *, layers: int = 40, template: str | None = TEMPLATE) -> Path:
    """Names, shapes and types of a 35B-A3B Q4_K_M file over a hole of its true size. All weights are zero.

    With 40 layers the file seems to have 21.2 GB and needs 7 MB on disk; 8 layers seem to have 4.6 GiB.
    """
    shape = replace(REAL, layers=layers)
    vocabulary = Vocabulary(size=248320)

    def kind(tensor: str, matrix: bool) -> Quant:
        return q4_k_m(tensor, matrix, layers)

    _write_sparse(path, HYBRID, shape, vocabulary, "Full-size twin (zeros)", 15, kind, template, {})
    return path


def make_big_vocabulary(path: Path, *, size: int = 262144, string_bytes: int = 1_000_000) -> Path:
    """A small model (zeros) with a huge vocabulary and megabytes of text in its metadata."""
    long_text = ("<b>A very long name</b> \u202e" * (string_bytes // 24))[:string_bytes]
    texts = {"general.description": long_text, "general.license": long_text, "general.author": long_text}

    def kind(tensor: str, matrix: bool) -> Quant:
        return Quant.F16 if matrix else Quant.F32

    _write_sparse(path, HYBRID, TINY, Vocabulary(size=size), long_text, 1, kind, TEMPLATE, texts)
    return path


def _write_sparse(
    path: Path,
    arch: str,
    shape: Shape,
    vocabulary: Vocabulary,
    name: str,
    file_type: int,
    kind: Callable[[str, bool], Quant],
    template: str | None,
    texts: dict[str, str],
) -> None:
    writer = gguf.GGUFWriter(str(path), arch)
    write_metadata(writer, shape, vocabulary, name, file_type, template)
    for key, text in texts.items():
        writer.add_string(key, text)
    total = 0
    for tensor, dims, matrix in tensors(shape, len(vocabulary), arch):
        quant = kind(tensor, matrix)
        block, size = gguf.GGML_QUANT_SIZES[quant]
        size_bytes = int(np.prod(dims, dtype=np.int64)) // block * size
        writer.add_tensor_info(
            tensor, tuple(reversed(dims)), np.dtype(np.float32), size_bytes, raw_dtype=quant
        )
        total += gguf.GGUFWriter.ggml_pad(size_bytes, 32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.flush()
    start = gguf.GGUFWriter.ggml_pad(path.stat().st_size, 32)
    writer.close()
    os.truncate(path, start + total)


def make_unknown(path: Path, *, arch: str = "clover_moe") -> Path:
    """A small well-formed file of an architecture that the engine may not know."""
    writer = gguf.GGUFWriter(str(path), arch)
    writer.add_name("Unknown architecture")
    writer.add_uint32(f"{arch}.block_count", 1)
    writer.add_uint32(f"{arch}.context_length", 128)
    writer.add_uint32(f"{arch}.embedding_length", 8)
    writer.add_tensor("token_embd.weight", np.zeros((16, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# ------------------------------------------------------------------ broken files

PAGE = b"<!DOCTYPE html>\n<html><head><title>404</title></head><body>Not found</body></html>\n" * 8


def make_damaged(folder: Path) -> dict[str, Path]:
    """One file of each kind of damage, by name: empty, html, magic, version, cut-*, counts-*."""
    whole = make_tiny(folder / "whole.gguf").read_bytes()
    keys_end = whole.index(b"tokenizer.chat_template")
    list_at = whole.index(b"output_norm.weight")
    kinds = {
        "empty": b"",
        "html": PAGE,
        "magic": b"GGML" + whole[4:],
        "version": whole[:4] + struct.pack("<I", 99) + whole[8:],
        "cut-magic": whole[:3],
        "cut-header": whole[:20],
        "cut-keys": whole[: keys_end // 2],
        "cut-tensors": whole[: list_at + 9],
        "cut-data": whole[: len(whole) // 2],
        "cut-last-byte": whole[:-1],
        "counts-tensors": _header(1 << 60, 1),
        "counts-keys": _header(1, 1 << 60),
        "counts-string": _header(1, 1) + struct.pack("<Q", 1 << 62) + b"general.name" + bytes(64),
        "counts-array": _header(1, 1) + _key("a.list") + struct.pack("<IIQ", 9, 4, 1 << 61) + bytes(64),
    }
    paths = {}
    for kind, data in kinds.items():
        paths[kind] = folder / f"{kind}.gguf"
        paths[kind].write_bytes(data)
    return paths


def _header(tensor_count: int, key_count: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensor_count, key_count)


def _key(name: str) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode()


MAKERS: dict[str, Callable[[Path], object]] = {
    "tiny": make_tiny,
    "tiny-dense": lambda path: make_tiny(path, arch=DENSE),
    "scripted": make_scripted,
    "long": lambda path: make_scripted(path, script=scripts.LONG),
    "endless": lambda path: make_scripted(path, script=scripts.ENDLESS),
    "transcript": lambda path: make_scripted(path, script=scripts.TRANSCRIPT, template=None),
    "twin": make_twin,
    "twin8": lambda path: make_twin(path, layers=8),
    "big-vocabulary": make_big_vocabulary,
    "unknown": make_unknown,
    "damaged": make_damaged,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a GGUF file for tests.")
    parser.add_argument("what", choices=sorted(MAKERS))
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "damaged":
        arguments.out.mkdir(parents=True, exist_ok=True)
    MAKERS[arguments.what](arguments.out)


if __name__ == "__main__":
    main()
