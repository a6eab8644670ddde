"""One small random model in two forms from the same weights, and every mixture of them.

The *reference* is what llama.cpp's own converter would write: ``qwen35moe``, ``ssm_a`` as -exp(A_log), norm
weights with one added. The *DiffuSpace form* says ``clover_moe``, lacks ``expert_shared_count`` and holds
A_log and norm weights as they were trained. Also: the full-size twin of that form over a hole.

    python -m tests.kit.diffuspace reference|diffuspace|twin OUT

Has a writer of its own, byte by byte, so that slack, order and gaps can be chosen. Knows nothing of the
program.
"""

from __future__ import annotations

import argparse
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Quant
from gguf import GGUFValueType as Kind

from tests.kit.gguf_parts import HYBRID, REAL, TEMPLATE, TINY, Shape, Vocabulary, tensors, write_metadata

CLOVER = "clover_moe"
_CODES = {
    Kind.UINT8: "B",
    Kind.INT8: "b",
    Kind.UINT16: "H",
    Kind.INT16: "h",
    Kind.UINT32: "I",
    Kind.INT32: "i",
    Kind.FLOAT32: "f",
    Kind.BOOL: "?",
    Kind.UINT64: "Q",
    Kind.INT64: "q",
    Kind.FLOAT64: "d",
}
_ALIGNMENT = 32
_NORMS = (
    "attn_norm",
    "post_attention_norm",
    "attn_q_norm",
    "attn_k_norm",
    "enorm",
    "hnorm",
    "shared_head_norm",
)
DESCRIPTIVE = {
    "general.license": "apache-2.0",
    "general.license.link": "https://example.org/licence/a-long-path-to-a-text",
    "general.author": "Somebody",
    "general.base_model.0.name": "A base model",
    "general.base_model.0.repo_url": "https://example.org/models/a-base-model",
    "general.description": "A description of some length that nobody needs for running it.",
}


@dataclass(frozen=True, slots=True)
class Form:
    """How the file is written. The defaults are the reference.

    ``sections`` is "right", "missing" or "three"; ``surplus`` is "none", "tail" or "middle"; ``next_n`` is
    "none", "declared", "undeclared" (tensors and count, but no key), "counted" (only the count).
    ``slack`` is the padding between header and data, 0 to 31 bytes.
    """

    architecture: str = HYBRID
    shared_count: bool = True
    raw_decay: bool = False
    raw_norms: bool = False
    sections: str = "right"
    surplus: str = "none"
    next_n: str = "none"
    descriptive: bool = True
    slack: int = 0
    vocabulary: int | None = None
    trailing: int = 0


REFERENCE = Form()
DIFFUSPACE = Form(CLOVER, shared_count=False, raw_decay=True, raw_norms=True)


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """A tensor of the file: ggml shape, type, and its bytes (None: a hole)."""

    name: str
    dims: tuple[int, ...]
    quant: Quant
    data: bytes | None
    size_bytes: int


def make_form(path: Path, form: Form = REFERENCE, *, seed: int = 1) -> Path:
    """A small model that runs, in this form. The same seed gives the same network in every form."""
    vocabulary = Vocabulary(size=form.vocabulary)
    plans = list(_tensors(form, vocabulary, seed))
    write_gguf(path, _keys(form, TINY, vocabulary), plans, form.slack)
    if form.trailing:
        with path.open("ab") as file:
            file.write(b"\xa5" * form.trailing)
    return path


def make_raw_twin(path: Path, *, layers: int = 40, form: Form = DIFFUSPACE) -> Path:
    """Names, shapes and types of the official 19.6 GB file in DiffuSpace's form, over a hole.

    All matrices are Q4_K zeros; the small F32 tensors hold values like those of a trained model.
    """
    shape = replace(REAL, layers=layers, context=131072)
    vocabulary = Vocabulary(size=248320)
    rng = np.random.default_rng(7)
    plans = []
    for name, dims, matrix in tensors(shape, len(vocabulary), HYBRID):
        quant = Quant.Q4_K if matrix else Quant.F32
        block, size = gguf.GGML_QUANT_SIZES[quant]
        size_bytes = int(np.prod(dims, dtype=np.int64)) // block * size
        small = _small(name, dims, rng, form) if not matrix else None
        plans.append(TensorPlan(name, dims, quant, small, size_bytes))
    write_gguf(path, _keys(form, shape, vocabulary), plans, form.slack)
    return path


def write_gguf(
    path: Path, keys: dict[str, tuple[Kind, Any]], plans: list[TensorPlan], slack: int | None = None
) -> None:
    """Write a file; with ``slack`` the header ends so many bytes before the data."""
    at = 0
    entries = []
    offsets = []
    for plan in plans:
        entries.append(
            _text(plan.name)
            + struct.pack("<I", len(plan.dims))
            + struct.pack(f"<{len(plan.dims)}Q", *plan.dims)
            + struct.pack("<IQ", int(plan.quant), at)
        )
        offsets.append(at)
        at += -(-plan.size_bytes // _ALIGNMENT) * _ALIGNMENT
    if slack is not None:
        # A name of the right length brings the end of the header to where it is wanted.
        kind, name = keys["general.name"]
        length = 24 + len(_key_bytes(keys)) + sum(map(len, entries))
        keys["general.name"] = (kind, name + "." * ((_ALIGNMENT - slack - length) % _ALIGNMENT))
    header = b"GGUF" + struct.pack("<IQQ", 3, len(plans), len(keys)) + _key_bytes(keys) + b"".join(entries)
    start = -(-len(header) // _ALIGNMENT) * _ALIGNMENT
    with path.open("wb") as file:
        file.write(header.ljust(start, b"\0"))
        for plan, offset in zip(plans, offsets, strict=True):
            if plan.data is not None:
                file.seek(start + offset)
                file.write(plan.data)
        file.truncate(start + at)


def _keys(form: Form, shape: Shape, vocabulary: Vocabulary) -> dict[str, tuple[Kind, Any]]:
    writer = gguf.GGUFWriter(os.devnull, HYBRID)
    write_metadata(writer, shape, vocabulary, "Two forms of one model", 15, TEMPLATE)
    own: dict[str, tuple[Kind, Any]] = {
        name: (value.type, value.value) for name, value in writer.kv_data[0].items()
    }
    writer.close()
    if form.shared_count and form.architecture == CLOVER:
        own[f"{HYBRID}.expert_shared_count"] = (Kind.UINT32, 1)
    sections = f"{HYBRID}.rope.dimension_sections"
    if form.sections == "missing":
        del own[sections]
    elif form.sections == "three":
        own[sections] = (Kind.ARRAY, list(shape.sections[:3]))
    if form.next_n != "none":
        own[f"{HYBRID}.block_count"] = (Kind.UINT32, shape.layers + 1)
    if form.next_n == "declared":
        own[f"{HYBRID}.nextn_predict_layers"] = (Kind.UINT32, 1)
    keys: dict[str, tuple[Kind, Any]] = {}
    for name, value in own.items():
        keys[name.replace(f"{HYBRID}.", f"{form.architecture}.")] = value
        if name == "general.name" and form.descriptive:
            keys |= {key: (Kind.STRING, text) for key, text in DESCRIPTIVE.items()}
    keys["general.architecture"] = (Kind.STRING, form.architecture)
    return keys


def _tensors(form: Form, vocabulary: Vocabulary, seed: int) -> Iterator[TensorPlan]:
    rng = np.random.default_rng(seed)
    extra = np.random.default_rng(seed + 1)
    for name, dims, matrix in tensors(TINY, len(vocabulary), HYBRID):
        if name == "blk.1.attn_norm.weight" and form.surplus == "middle":
            yield from _surplus(extra)
        if not matrix:
            yield _plan(name, dims, _small(name, dims, rng, form))
            continue
        wide = name in ("token_embd.weight", "output.weight")
        values = rng.normal(0, 1.0 if wide else 1.5 / np.sqrt(dims[0]), tuple(reversed(dims)))
        data = values.astype(np.float16)
        yield TensorPlan(name, dims, Quant.F16, data.tobytes(), data.nbytes)
    if form.next_n in ("declared", "undeclared"):
        yield from _prediction_layer(extra, form)
    if form.surplus == "tail":
        yield from _surplus(extra)


def _small(name: str, dims: tuple[int, ...], rng: np.random.Generator, form: Form) -> bytes:
    """A small F32 tensor in the form that is wanted; the random numbers are the same in every form."""
    count = int(np.prod(dims))
    if name.endswith("ssm_a"):
        raw = np.log(rng.uniform(1e-3, 16, count)).astype(np.float32)
        raw[0] = abs(raw[0])  # also the smallest tensor shows what it is
        # Rounded once from double precision, as the repair does it.
        return (raw if form.raw_decay else (-np.exp(raw.astype(np.float64))).astype(np.float32)).tobytes()
    if name.rsplit(".", 2)[-2] in (*_NORMS, "output_norm"):
        raw = rng.normal(0.03, 0.2, count).astype(np.float32)
        return (raw if form.raw_norms else raw + np.float32(1)).tobytes()
    if name.endswith("ssm_norm.weight"):
        return rng.normal(1, 0.1, count).astype(np.float32).tobytes()
    return rng.normal(0, 0.2, count).astype(np.float32).tobytes()


def _prediction_layer(rng: np.random.Generator, form: Form) -> Iterator[TensorPlan]:
    """One next-n block behind the last layer, as in files that were converted with it."""
    e = TINY.embedding
    number = TINY.layers
    for name, dims, matrix in tensors(replace(TINY, layers=4), 8, HYBRID):
        if not name.startswith("blk.3."):  # a full-attention block
            continue
        own = name.replace("blk.3.", f"blk.{number}.")
        if matrix:
            data = rng.normal(0, 0.1, tuple(reversed(dims))).astype(np.float16)
            yield TensorPlan(own, dims, Quant.F16, data.tobytes(), data.nbytes)
        else:
            yield _plan(own, dims, _small(own, dims, rng, form))
    projection = rng.normal(0, 0.1, (e, 2 * e)).astype(np.float16)
    yield TensorPlan(
        f"blk.{number}.nextn.eh_proj.weight", (2 * e, e), Quant.F16, projection.tobytes(), projection.nbytes
    )
    for name in ("enorm", "hnorm", "shared_head_norm"):
        full = f"blk.{number}.nextn.{name}.weight"
        yield _plan(full, (e,), _small(full, (e,), rng, form))


def _surplus(rng: np.random.Generator) -> Iterator[TensorPlan]:
    """Kinds of tensors that llama.cpp's converter drops."""
    channels = TINY.ssm_state * (2 * TINY.ssm_groups + TINY.ssm_rank)
    for name, dims in (
        ("blk.0.conv_right.weight", (3, channels)),
        ("bd_softmax_logit_scale", (1,)),
        ("bd_softmax_history_bias", (TINY.embedding,)),
        ("bd_softmax_history_c", (5,)),
    ):
        yield _plan(name, dims, rng.normal(0, 1, int(np.prod(dims))).astype(np.float32).tobytes())


def _plan(name: str, dims: tuple[int, ...], data: bytes) -> TensorPlan:
    return TensorPlan(name, dims, Quant.F32, data, len(data))


def _key_bytes(keys: dict[str, tuple[Kind, Any]]) -> bytes:
    return b"".join(
        _text(name) + struct.pack("<I", int(kind)) + _value(kind, value)
        for name, (kind, value) in keys.items()
    )


def _value(kind: Kind, value: Any) -> bytes:
    if kind == Kind.STRING:
        return _text(value)
    if kind != Kind.ARRAY:
        return struct.pack(f"<{_CODES[kind]}", value)
    if isinstance(value[0], str):
        return struct.pack("<IQ", int(Kind.STRING), len(value)) + b"".join(map(_text, value))
    element = Kind.FLOAT32 if isinstance(value[0], float) else Kind.INT32
    return struct.pack(f"<IQ{len(value)}{_CODES[element]}", int(element), len(value), *value)


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a model file in one of two forms.")
    parser.add_argument("what", choices=("reference", "diffuspace", "twin"))
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "twin":
        make_raw_twin(arguments.out)
    else:
        make_form(arguments.out, REFERENCE if arguments.what == "reference" else DIFFUSPACE)


if __name__ == "__main__":
    main()
