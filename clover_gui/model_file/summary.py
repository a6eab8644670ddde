"""What is in a model file, as far as planning, the setup page and the chat need it.

Made by ``header.py`` from the header alone; no tensor data is read. Strings are capped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """Bytes of the weights of one layer by part."""

    experts: int = 0
    shared_experts: int = 0
    attention: int = 0
    delta_net: int = 0
    feed_forward: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        return (
            self.experts
            + self.shared_experts
            + self.attention
            + self.delta_net
            + self.feed_forward
            + self.other
        )


@dataclass(frozen=True, slots=True)
class Attention:
    """Shapes that decide the size of the KV cache and of the recurrent state.

    ``full_attention_layers`` counts the layers that keep keys and values for every token;
    ``kv_values_per_token`` is the number of key plus value elements of all those layers for one token.
    ``recurrent_bytes`` is the fixed state of one sequence (0 for models without recurrent layers).
    ``layer_kv_values`` and ``layer_state_bytes`` are the same per layer, in order; empty where unknown.
    ``sliding_window`` is the width in tokens where some layers look back only so far, else 0.
    """

    full_attention_layers: int
    kv_values_per_token: int
    recurrent_layers: int = 0
    recurrent_bytes: int = 0
    layer_kv_values: tuple[int, ...] = ()
    layer_state_bytes: tuple[int, ...] = ()
    sliding_window: int = 0


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The facts of one GGUF file. Sizes in bytes.

    ``quantization`` is a label like "Q4_K_M"; ``trained_context`` is 0 where the file does not tell.
    ``layers`` has one entry per repeating layer, in order. ``tied_output``: the output uses the token
    embeddings, and an engine with a GPU keeps a second copy of them there. ``feed_forward_length`` is
    that of a dense layer (0 where all are expert layers). ``largest_layer_tensor_bytes`` is the largest
    single tensor of a layer. Names are capped and free of control characters.
    """

    path: Path
    size_bytes: int
    gguf_version: int
    architecture: str
    name: str
    quantization: str
    parameter_count: int
    layer_count: int
    embedding_length: int
    vocabulary_size: int
    trained_context: int
    expert_count: int
    expert_used_count: int
    layers: tuple[LayerBytes, ...]
    token_embedding_bytes: int
    output_bytes: int
    other_bytes: int
    attention: Attention
    tensor_count: int
    data_offset: int
    chat_template: str | None
    tied_output: bool = False
    head_count: int = 0
    key_length: int = 0
    feed_forward_length: int = 0
    expert_feed_forward_length: int = 0
    largest_layer_tensor_bytes: int = 0

    @property
    def has_template(self) -> bool:
        return bool(self.chat_template)

    @property
    def can_switch_thinking(self) -> bool:
        """Whether the template reacts to ``enable_thinking``."""
        return self.chat_template is not None and "enable_thinking" in self.chat_template

    @property
    def is_moe(self) -> bool:
        return self.expert_count > 0

    @property
    def weight_bytes(self) -> int:
        """All tensor data."""
        return (
            sum(layer.total for layer in self.layers)
            + self.token_embedding_bytes
            + self.output_bytes
            + self.other_bytes
        )
