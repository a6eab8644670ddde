"""What an architecture name of this family needs in a header, and what it refuses.

Sources: llama.cpp, src/models/qwen35moe.cpp and conversion/clover.py. Most keys also follow from the
shapes of the tensors, so that a file which lacks one can be completed instead of refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from clover_gui.patching.findings import CLOVER, QWEN
from clover_gui.patching.header_map import (
    ARRAY,
    FLOAT32,
    INT32,
    STRING,
    UINT32,
    HeaderMap,
    TensorEntry,
    Value,
)

_BLOCK = re.compile(r"blk\.(\d{1,5})\.(.+)")
# Parts of the block-diffusion decoder, which llama.cpp drops at conversion and refuses in a file.
_SURPLUS = re.compile(r"conv_right|bd_softmax")
SECTIONS = "rope.dimension_sections"
SHARED_COUNT = "expert_shared_count"
NEXT_N = "nextn_predict_layers"
BLOCK_COUNT = "block_count"
# Nothing in the shapes tells these.
_UNDERIVABLE = ("context_length", "attention.head_count", "expert_used_count")
_EPSILON = "attention.layer_norm_rms_epsilon"
_EPSILON_OF_FAMILY = 1e-6


@dataclass(frozen=True, slots=True)
class NewValue:
    """A value for a key: GGUF type and its bytes as they stand behind the type."""

    type: int
    data: bytes
    text: str


def u32(value: int) -> NewValue:
    return NewValue(UINT32, struct.pack("<I", value), str(value))


def f32(value: float) -> NewValue:
    return NewValue(FLOAT32, struct.pack("<f", value), f"{value:g}")


def i32_list(values: tuple[int, ...]) -> NewValue:
    data = struct.pack(f"<IQ{len(values)}i", INT32, len(values), *values)
    return NewValue(ARRAY, data, str(list(values)))


def text(value: str) -> NewValue:
    raw = value.encode()
    return NewValue(STRING, struct.pack("<Q", len(raw)) + raw, value)


class Facts:
    """Look-ups that the rules share: keys of the file's own architecture, blocks, shapes."""

    def __init__(self, header: HeaderMap) -> None:
        self.header = header
        architecture = header.value("general.architecture")
        self.architecture = architecture if isinstance(architecture, str) else ""
        self.by_name = {tensor.name: tensor for tensor in header.tensors}
        self.blocks: dict[int, list[TensorEntry]] = {}
        self.by_suffix: dict[str, TensorEntry] = {}
        for tensor in header.tensors:
            found = _BLOCK.fullmatch(tensor.name)
            if found:
                self.blocks.setdefault(int(found[1]), []).append(tensor)
                self.by_suffix.setdefault(found[2], tensor)

    def own(self, name: str) -> Value | None:
        """The value of ``<architecture>.name``."""
        return self.header.value(f"{self.architecture}.{name}")

    def number(self, name: str) -> int | None:
        value = self.own(name)
        return value if type(value) is int else None

    def has(self, name: str) -> bool:
        return self.header.key(f"{self.architecture}.{name}") is not None

    def length(self, suffix: str, dimension: int) -> int | None:
        """One side of a tensor that stands in some block, by its name behind "blk.N."."""
        tensor = self.by_suffix.get(suffix)
        return tensor.dims[dimension] if tensor and len(tensor.dims) > dimension else None

    @property
    def is_hybrid_moe(self) -> bool:
        """Has the tensors of a network with gated delta-net layers and routed experts."""
        needed = ("ssm_a", "attn_norm.weight", "ffn_gate_inp.weight", "ffn_down_exps.weight")
        return "token_embd.weight" in self.by_name and all(name in self.by_suffix for name in needed)


def _sides(facts: Facts) -> dict[str, Callable[[], int | None]]:
    length = facts.length

    def groups() -> int | None:
        channels, inner, state = (
            length("ssm_conv1d.weight", 1),
            length("ssm_out.weight", 0),
            length("ssm_norm.weight", 0),
        )
        return (channels - inner) // (2 * state) if channels and inner and state else None

    def kv_heads() -> int | None:
        width, head = length("attn_k.weight", 1), length("attn_k_norm.weight", 0)
        return width // head if width and head else None

    embedding = facts.by_name.get("token_embd.weight")
    return {
        "embedding_length": lambda: embedding.dims[0] if embedding else None,
        "expert_count": lambda: length("ffn_gate_inp.weight", 1),
        "expert_feed_forward_length": lambda: length("ffn_down_exps.weight", 0),
        "expert_shared_feed_forward_length": lambda: length("ffn_down_shexp.weight", 0),
        "attention.head_count_kv": kv_heads,
        "attention.key_length": lambda: length("attn_k_norm.weight", 0),
        "attention.value_length": lambda: length("attn_k_norm.weight", 0),
        "ssm.conv_kernel": lambda: length("ssm_conv1d.weight", 0),
        "ssm.inner_size": lambda: length("ssm_out.weight", 0),
        "ssm.state_size": lambda: length("ssm_norm.weight", 0),
        "ssm.time_step_rank": lambda: length("ssm_a", 0),
        "ssm.group_count": groups,
    }


def missing_keys(facts: Facts, target: str) -> tuple[dict[str, NewValue], list[str]]:
    """Keys (without their prefix) that ``target`` needs and the file lacks: derivable ones, and the rest."""
    found: dict[str, NewValue] = {}
    unknown = [name for name in _UNDERIVABLE if not facts.has(name)]
    for name, side in _sides(facts).items():
        if not facts.has(name):
            value = side()
            if value is None:
                unknown.append(name)
            else:
                found[name] = u32(value)
    if not facts.has(_EPSILON):
        found[_EPSILON] = f32(_EPSILON_OF_FAMILY)
    if target == CLOVER and not facts.has(SHARED_COUNT):
        found[SHARED_COUNT] = u32(_shared_count(facts))
    if target == QWEN and not _sections_fit(facts):
        sections = _sections(facts)
        if sections is None:
            unknown.append(SECTIONS)
        else:
            found[SECTIONS] = sections
    return found, unknown


def _shared_count(facts: Facts) -> int:
    width, each = facts.length("ffn_down_shexp.weight", 0), facts.number("expert_shared_feed_forward_length")
    return width // each if width and each and width % each == 0 else 1


def _sections_fit(facts: Facts) -> bool:
    value = facts.own(SECTIONS)
    return type(value) is int or (isinstance(value, tuple) and len(value) == 4)


def _sections(facts: Facts) -> NewValue | None:
    """Four sections: the file's own with zeros added, else a third of the rotated pairs each.

    All positions of a text are equal in every section, so that the split does not change the result;
    the thirds are those of the family's published files (64 rotated dimensions: 11, 11, 10, 0).
    """
    value = facts.own(SECTIONS)
    if isinstance(value, tuple) and value and all(type(v) is int for v in value):
        return i32_list((*(int(v) for v in value[:4]), *[0] * (4 - len(value))))
    rotated = facts.number("rope.dimension_count") or facts.number("attention.key_length")
    if not rotated:
        return None
    third, rest = divmod(rotated // 2, 3)
    return i32_list((third + (rest > 0), third + (rest > 1), third, 0))


class NextN(Enum):
    """What is wrong with the prediction layers, and so what is done."""

    RIGHT = "right"
    DECLARE = "declare"  # counted as blocks, but not declared
    DROP = "drop"  # the target or the engine cannot read them
    CORRECT = "correct"  # counted or declared, but not in the file


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a file: how many it has, which are prediction layers, what is to be done."""

    count: int
    next_n: tuple[int, ...]
    action: NextN
    new_count: int


def block_state(facts: Facts, target: str, reads_next_n: bool) -> Blocks:
    """``reads_next_n``: the engine reads prediction layers of ``qwen35moe``; ``clover_moe`` never has any."""
    present = max(facts.blocks, default=-1) + 1
    counted = facts.number(BLOCK_COUNT) or 0
    declared = facts.number(NEXT_N) or 0
    layers = tuple(
        number
        for number, tensors in sorted(facts.blocks.items())
        if any(".nextn." in t.name for t in tensors)
    )
    if not layers:
        right = counted == present and not declared
        # Fewer counted than present: the rest is surplus and the count stands.
        count = counted if 0 < counted < present else present
        action = NextN.RIGHT if right or (count == counted and not declared) else NextN.CORRECT
        return Blocks(counted, (), action, count)
    at_end = layers == tuple(range(present - len(layers), present))
    if not at_end:  # of no known kind: the engine decides
        return Blocks(counted, layers, NextN.RIGHT, max(counted, present))
    readable = reads_next_n and target == QWEN
    if not readable or counted != present:
        return Blocks(counted, layers, NextN.DROP, present - len(layers))
    return Blocks(counted, layers, NextN.RIGHT if declared == len(layers) else NextN.DECLARE, present)


def surplus_tensors(facts: Facts, blocks: Blocks) -> list[TensorEntry]:
    """Tensors that a loader refuses: of the diffusion decoder, or of blocks that are not counted."""
    kept = blocks.new_count
    return [
        tensor
        for tensor in facts.header.tensors
        if _SURPLUS.search(tensor.name)
        or ((found := _BLOCK.fullmatch(tensor.name)) is not None and int(found[1]) >= kept)
    ]
