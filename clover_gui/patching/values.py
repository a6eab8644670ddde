"""The small F32 tensors whose values tell how a file was made, and the two ways to transform them.

Two groups are stored differently by converters of this family (llama.cpp, conversion/qwen.py):
``ssm_a``, kept as A_log or as -exp(A_log), and the norm weights, kept centred on zero or with one added.
``ssm_norm`` is a plain norm in both and belongs to neither.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections.abc import Sequence
from typing import BinaryIO

from clover_gui.patching.findings import Form, Group
from clover_gui.patching.header_map import F32, HeaderMap, NotUnderstood, TensorEntry

_DECAY = re.compile(r"blk\.\d+\.ssm_a")
_NORM = re.compile(
    r"output_norm\.weight|blk\.\d+\.(attn_norm|post_attention_norm|ffn_norm|attn_q_norm|attn_k_norm"
    r"|nextn\.(enorm|hnorm|shared_head_norm))\.weight"
)
# The two kinds with most values, which training keeps nearest to their starting point.
_BROAD_NORM = re.compile(r"blk\.\d+\.(attn_norm|post_attention_norm|ffn_norm)\.weight")
_LARGEST_TENSOR_BYTES = 4 << 20

# Raw norms start at zero and scatter around it, so that about half of them are negative; with one added
# only a raw value below -1 is.
_RAW_NEGATIVE_SHARE = 0.02
_HALF = 0.5


def decay_tensors(header: HeaderMap) -> list[TensorEntry]:
    """All ``ssm_a``."""
    return _small(header, _DECAY)


def norm_tensors(header: HeaderMap) -> list[TensorEntry]:
    """All norm weights of the second group."""
    return _small(header, _NORM)


def _small(header: HeaderMap, pattern: re.Pattern[str]) -> list[TensorEntry]:
    found = [tensor for tensor in header.tensors if pattern.fullmatch(tensor.name)]
    for tensor in found:
        if tensor.type != F32 or tensor.size_bytes > _LARGEST_TENSOR_BYTES:
            raise NotUnderstood(f"{tensor.name} is not a small F32 tensor")
    return found


def read_raw(file: BinaryIO, header: HeaderMap, tensor: TensorEntry) -> bytes:
    """The bytes of a tensor."""
    file.seek(header.data_offset + tensor.offset)
    data = file.read(tensor.size_bytes)
    if len(data) != tensor.size_bytes:
        raise NotUnderstood(f"the file ends inside {tensor.name}")
    return data


def floats(data: bytes) -> array[float]:
    """The values of F32 bytes."""
    values = array("f")
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def to_bytes(values: Sequence[float]) -> bytes:
    """F32 bytes of these values, rounded once."""
    result = array("f", values)
    if sys.byteorder == "big":
        result.byteswap()
    return result.tobytes()


def decayed(data: bytes) -> bytes:
    """``-exp(x)``, computed in double precision and rounded once."""
    return to_bytes([-math.exp(min(value, 88.0)) for value in floats(data)])


def plus_one(data: bytes) -> bytes:
    """``x + 1``, rounded once: the same as in single precision."""
    return to_bytes([value + 1.0 for value in floats(data)])


def judge_decay(tensors: Sequence[tuple[TensorEntry, bytes]]) -> Group:
    """-exp(x) is below zero everywhere, so one value that is not shows the raw form.

    Where fewer than half of the tensors show it, some have been transformed and others not.
    """
    values = {tensor.name: floats(data) for tensor, data in tensors}
    # -0.0 is what -exp of a very negative number rounds to.
    raw = tuple(name for name, numbers in values.items() if any(x > 0 or _positive_zero(x) for x in numbers))
    if not values:
        form = Form.ABSENT
    elif not _all_finite(values):
        form = Form.UNCLEAR
    elif not raw:
        form = Form.TRANSFORMED
    else:
        form = Form.RAW if 2 * len(raw) >= len(values) else Form.UNCLEAR
    return _group(form, values, raw)


def judge_norms(tensors: Sequence[tuple[TensorEntry, bytes]]) -> Group:
    """Around zero with many negatives is raw, around one with hardly any is transformed."""
    values = {tensor.name: floats(data) for tensor, data in tensors}
    if not values:
        return _group(Form.ABSENT, values, ())
    if not _all_finite(values):
        return _group(Form.UNCLEAR, values, ())
    broad = {name: numbers for name, numbers in values.items() if _BROAD_NORM.fullmatch(name)} or values
    clearly_raw = [name for name, numbers in broad.items() if _seems_raw(numbers)]
    clearly_done = [name for name, numbers in broad.items() if _seems_transformed(numbers)]
    together = array("f")
    for numbers in broad.values():
        together.extend(numbers)
    if clearly_raw and clearly_done and 10 * min(len(clearly_raw), len(clearly_done)) >= len(broad):
        form = Form.UNCLEAR
    elif _seems_raw(together):
        form = Form.RAW
    else:
        form = Form.TRANSFORMED if _seems_transformed(together) else Form.UNCLEAR
    raw = tuple(values) if form is Form.RAW else tuple(n for n, x in values.items() if _below_half(x) > _HALF)
    return _group(form, values, raw if form is not Form.TRANSFORMED else ())


def _seems_raw(numbers: array[float]) -> bool:
    return _below_half(numbers) > _HALF and _negatives(numbers) > _RAW_NEGATIVE_SHARE


def _seems_transformed(numbers: array[float]) -> bool:
    return _below_half(numbers) <= _HALF and _negatives(numbers) <= _RAW_NEGATIVE_SHARE


def _below_half(numbers: array[float]) -> float:
    return sum(1 for x in numbers if x < _HALF) / len(numbers)


def _negatives(numbers: array[float]) -> float:
    return sum(1 for x in numbers if x < 0) / len(numbers)


def _positive_zero(value: float) -> bool:
    return value == 0 and math.copysign(1.0, value) > 0


def _all_finite(values: dict[str, array[float]]) -> bool:
    return all(math.isfinite(sum(numbers)) or all(map(math.isfinite, numbers)) for numbers in values.values())


def _group(form: Form, values: dict[str, array[float]], raw: tuple[str, ...]) -> Group:
    count = sum(map(len, values.values()))
    if not count:
        return Group(form)
    negatives = sum(1 for numbers in values.values() for x in numbers if x < 0)
    return Group(
        form,
        tuple(values),
        raw,
        count,
        negatives / count,
        min(map(min, values.values())),
        max(map(max, values.values())),
        sum(map(sum, values.values())) / count,
    )
