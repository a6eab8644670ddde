"""From the keys of a GGUF file to the shapes that decide the size of KV cache and recurrent state.

The keys are those of llama.cpp (llama-arch.cpp, llama-hparams.cpp). Numbers out of any sensible range
count as a damaged file; keys of an unexpected type as absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clover_gui.model_file.container import Value
from clover_gui.model_file.summary import Attention
from clover_gui.model_file.window import Impossible

MAX_LAYERS = 4096
_MAX_WIDTH = 1 << 24


class Keys:
    """The keys of one architecture ("qwen35moe.block_count" as "block_count")."""

    def __init__(self, values: Mapping[str, Value], architecture: str) -> None:
        self._values = values
        self._architecture = architecture

    def number(self, name: str, default: int = 0, limit: int = _MAX_WIDTH) -> int:
        """A whole number from 0 to ``limit``; of a list the largest.

        Raises:
            Impossible: it is outside.
        """
        value = self._values.get(f"{self._architecture}.{name}")
        if isinstance(value, tuple):
            value = max((v for v in value if type(v) is int), default=default)
        if type(value) is not int:
            return default
        if not 0 <= value <= limit:
            raise Impossible(f"{name[:64]} is {value}")
        return value

    def per_layer(self, name: str, layers: int, default: int) -> list[int]:
        """One number per layer: the list of the file, or the same number for all."""
        value = self._values.get(f"{self._architecture}.{name}")
        if isinstance(value, tuple):
            numbers = [int(v) for v in value[:layers]]
            if any(not 0 <= n <= _MAX_WIDTH for n in numbers):
                raise Impossible(f"{name[:64]} has a number out of range")
            return numbers + [default] * (layers - len(numbers))
        return [self.number(name, default)] * layers


def attention_shape(
    keys: Keys, layers: int, embedding: int, has_keys: Sequence[bool], has_state: Sequence[bool]
) -> Attention:
    """Which layers keep keys and values, and how many; sliding windows count as full attention.

    ``has_keys`` and ``has_state`` tell per layer whether the file has attention key tensors and
    recurrent (ssm, short convolution) tensors; the file's own keys go before them.
    """
    heads = max(1, keys.number("attention.head_count", 1))
    head_length = embedding // heads
    key_length = keys.number("attention.key_length", head_length)
    value_length = keys.number("attention.value_length", head_length)
    kv_heads = keys.per_layer("attention.head_count_kv", layers, heads)
    recurrent = _recurrent_layers(keys, layers, has_keys, has_state)
    full = [not r and h > 0 for r, h in zip(recurrent, kv_heads, strict=True)]
    kv_values = [h * (key_length + value_length) * keeps for h, keeps in zip(kv_heads, full, strict=True)]
    # Models with both in one layer (state beside attention) have state wherever the tensors are.
    stateful = [r or s for r, s in zip(recurrent, has_state, strict=True)]
    state_bytes = _state_bytes(keys, embedding)
    return Attention(
        full_attention_layers=sum(full),
        kv_values_per_token=sum(kv_values),
        recurrent_layers=sum(stateful),
        recurrent_bytes=sum(stateful) * state_bytes,
        layer_kv_values=tuple(kv_values),
        layer_state_bytes=tuple(state_bytes * keeps for keeps in stateful),
        sliding_window=keys.number("attention.sliding_window"),
    )


def _recurrent_layers(
    keys: Keys, layers: int, has_keys: Sequence[bool], has_state: Sequence[bool]
) -> list[bool]:
    listed = keys.per_layer("attention.recurrent_layers", layers, -1)
    if -1 not in listed:
        return [bool(flag) for flag in listed]
    interval = keys.number("full_attention_interval", 0, MAX_LAYERS)
    if interval:
        return [(layer + 1) % interval != 0 for layer in range(layers)]
    return [state and not keeps for keeps, state in zip(has_keys, has_state, strict=True)]


def _state_bytes(keys: Keys, embedding: int) -> int:
    """State of one sequence in one layer, as llama.cpp allocates it in F32: convolution plus state."""
    kernel = keys.number("ssm.conv_kernel")
    inner, state = keys.number("ssm.inner_size"), keys.number("ssm.state_size")
    groups = keys.number("ssm.group_count")
    if inner:
        return 4 * (max(kernel - 1, 0) * (inner + 2 * groups * state) + state * inner)
    short = keys.number("shortconv.l_cache")
    return 4 * embedding * max(short - 1, 0)
