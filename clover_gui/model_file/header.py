"""One call from a path to the facts of a model file: ``read_model_file``. Reads the header only.

The sizes by part follow the names that llama.cpp gives to tensors (llama-arch.cpp); what has an unknown
name counts as "other", so that the sum is always all of the file's data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from clover_gui.errors import ModelFileCorrupt, ModelFileTruncated, ModelFileUnsupported
from clover_gui.i18n import capped
from clover_gui.model_file.container import (
    TEMPLATE_KEY,
    ArrayLength,
    Container,
    Tensor,
    Value,
    read_container,
    read_container_beginning,
)
from clover_gui.model_file.shapes import MAX_LAYERS, Keys, attention_shape
from clover_gui.model_file.summary import LayerBytes, ModelFile
from clover_gui.model_file.tensor_types import FILE_TYPES
from clover_gui.model_file.window import Impossible

_LAYER = re.compile(r"blk\.(\d{1,5})\.(.+)", re.DOTALL)
# The engine's own pattern for the tensors that may stay on the CPU (llama.cpp, common/common.h).
_EXPERTS = re.compile(r"ffn_(up|down|gate|gate_up)_(ch|)exps")
_STATE = ("ssm_", "shortconv")
_KEYS_AND_VALUES = ("attn_k.", "attn_kv", "attn_qkv", "attn_v.")
_TOKEN_EMBEDDINGS = ("token_embd.weight", "per_layer_token_embd.weight")
_NAME_LIMIT = 120
_ARCHITECTURE_LIMIT = 64


def read_model_file(path: Path) -> ModelFile:
    """The facts of a GGUF file (v2 or v3, little-endian). Some 0.1 s for a vocabulary of 250,000 tokens.

    Raises:
        ModelFileError: ModelFileMissing, ModelFileUnreadable, NotAModelFile, ModelFileTruncated,
            ModelFileUnsupported or ModelFileCorrupt.
    """
    container = read_container(path)
    try:
        return summarise(container)
    except Impossible as error:
        raise ModelFileCorrupt(path, str(error)) from error


def read_beginning(path: Path, size: int, beginning: bytes) -> ModelFile | None:
    """The facts of a file of this size that lies elsewhere, from its first bytes; None: they are too few.

    Raises:
        ModelFileError: no beginning of a model file that can be used.
    """
    try:
        return summarise(read_container_beginning(path, size, beginning))
    except ModelFileTruncated:
        return None
    except Impossible as error:
        raise ModelFileCorrupt(path, str(error)) from error


def summarise(container: Container) -> ModelFile:
    """The facts of a container that has been read.

    Raises:
        ModelFileUnsupported: one of several part files, or no weights.
        Impossible: a key holds a number that cannot be true.
    """
    values = container.keys
    architecture = _text(values, "general.architecture")
    if not architecture:
        raise Impossible("there is no general.architecture")
    _refuse_unsupported(container)
    keys = Keys(values, architecture)
    parts = _split(container.tensors)
    layer_count = max(keys.number("block_count", 0, MAX_LAYERS), parts.layer_count)
    layers, has_keys, has_state = parts.by_layer(layer_count)
    embedding = keys.number("embedding_length", parts.embedding_length)
    attention = attention_shape(keys, layer_count, embedding, has_keys, has_state)
    template = values.get(TEMPLATE_KEY)
    tokens = values.get("tokenizer.ggml.tokens")
    head_count = max(1, keys.number("attention.head_count", 1))
    return ModelFile(
        path=container.path,
        size_bytes=container.size_bytes,
        gguf_version=container.version,
        architecture=capped(architecture, _ARCHITECTURE_LIMIT),
        name=capped(_text(values, "general.name"), _NAME_LIMIT) or capped(container.path.stem, _NAME_LIMIT),
        quantization=_quantization(container),
        parameter_count=sum(tensor.value_count for tensor in container.tensors),
        layer_count=layer_count,
        embedding_length=embedding,
        vocabulary_size=_count(tokens) or parts.vocabulary_size,
        trained_context=keys.number("context_length", 0, 1 << 40),
        expert_count=keys.number("expert_count"),
        expert_used_count=keys.number("expert_used_count"),
        layers=layers,
        token_embedding_bytes=parts.token_embedding_bytes,
        output_bytes=parts.output_bytes,
        other_bytes=parts.other_bytes,
        attention=attention,
        tensor_count=len(container.tensors),
        data_offset=container.data_offset,
        chat_template=template if isinstance(template, str) and template.strip() else None,
        tied_output=parts.output_bytes == 0,
        head_count=head_count,
        key_length=keys.number("attention.key_length", embedding // head_count),
        feed_forward_length=keys.number("feed_forward_length"),
        expert_feed_forward_length=keys.number("expert_feed_forward_length"),
        largest_layer_tensor_bytes=parts.largest_layer_tensor_bytes,
    )


def _refuse_unsupported(container: Container) -> None:
    pieces = container.keys.get("split.count")
    if type(pieces) is int and pieces > 1:
        number = container.keys.get("split.no")
        piece = number + 1 if type(number) is int else "?"
        raise ModelFileUnsupported(container.path, "split", f"part {piece} of {pieces}")
    if not container.tensors:
        raise ModelFileUnsupported(container.path, "no-weights", "there is not one tensor in it")


class _Parts:
    """Running sums while the tensor list is gone through."""

    def __init__(self) -> None:
        self.token_embedding_bytes = 0
        self.output_bytes = 0
        self.other_bytes = 0
        self.embedding_length = 0
        self.vocabulary_size = 0
        self.largest_layer_tensor_bytes = 0
        self._layers: dict[int, list[tuple[str, int]]] = {}

    @property
    def layer_count(self) -> int:
        return max(self._layers, default=-1) + 1

    def add(self, tensor: Tensor) -> None:
        found = _LAYER.fullmatch(tensor.name)
        if found and int(found[1]) < MAX_LAYERS:
            self._layers.setdefault(int(found[1]), []).append((found[2], tensor.size_bytes))
            self.largest_layer_tensor_bytes = max(self.largest_layer_tensor_bytes, tensor.size_bytes)
        elif tensor.name in _TOKEN_EMBEDDINGS:
            self.token_embedding_bytes += tensor.size_bytes
            if tensor.name == _TOKEN_EMBEDDINGS[0] and len(tensor.dims) == 2:
                self.embedding_length, self.vocabulary_size = tensor.dims
        elif tensor.name in ("output.weight", "output.bias"):
            self.output_bytes += tensor.size_bytes
        else:
            self.other_bytes += tensor.size_bytes

    def by_layer(self, count: int) -> tuple[tuple[LayerBytes, ...], list[bool], list[bool]]:
        """The sums per layer; which layers have key tensors; which have recurrent state."""
        layers = [self._layers.get(layer, []) for layer in range(count)]
        state = [any(name.startswith(_STATE) for name, _ in layer) for layer in layers]
        # In a delta-net layer attn_qkv feeds the recurrent state; attention there has its own attn_k.
        keeps = [
            any(
                name.startswith(_KEYS_AND_VALUES) and not (s and name.startswith("attn_qkv"))
                for name, _ in layer
            )
            for layer, s in zip(layers, state, strict=True)
        ]
        sums = tuple(_layer_bytes(layer, s) for layer, s in zip(layers, state, strict=True))
        return sums, keeps, state


def _split(tensors: Sequence[Tensor]) -> _Parts:
    parts = _Parts()
    for tensor in tensors:
        parts.add(tensor)
    return parts


def _layer_bytes(tensors: list[tuple[str, int]], recurrent: bool) -> LayerBytes:
    sums: Counter[str] = Counter()
    for name, size in tensors:
        sums[_part(name, recurrent)] += size
    return LayerBytes(**sums)


def _part(name: str, recurrent: bool) -> str:
    """The field of LayerBytes that a tensor belongs to; ``name`` without "blk.N."."""
    if _EXPERTS.match(name):
        return "experts"
    if "_shexp" in name:
        return "shared_experts"
    if name.startswith(_STATE) or (recurrent and name.startswith(("attn_qkv", "attn_gate"))):
        return "delta_net"
    if name.startswith("attn_") and not name.startswith("attn_norm"):
        return "attention"
    if name.startswith("ffn_") and not name.startswith(("ffn_norm", "ffn_gate_inp")):
        return "feed_forward"
    return "other"


def _quantization(container: Container) -> str:
    """The label of the quantiser if most bytes are of that kind, else the type of most bytes."""
    sizes: Counter[str] = Counter()
    for tensor in container.tensors:
        sizes[tensor.type.name] += tensor.size_bytes
    main = sizes.most_common(1)[0][0]
    number = container.keys.get("general.file_type")
    label = FILE_TYPES.get(number, "") if type(number) is int else ""
    return label if label and _bits(label) == _bits(main) else main


def _bits(label: str) -> str:
    """The digits of a type ("Q4_K_M" and "IQ4_XS": 4): mixtures go by their label, mistakes do not."""
    found = re.search(r"\d+", label)
    return found[0] if found else label


def _text(values: Mapping[str, Value], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _count(value: Value | None) -> int:
    if isinstance(value, ArrayLength):
        return value.count
    return len(value) if isinstance(value, tuple) else 0
