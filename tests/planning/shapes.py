"""Models and machines for planning tests, from published shapes. No files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clover_gui.hardware.machine import DeviceKind, Gpu, Machine, Memory, Processor
from clover_gui.model_file.summary import Attention, LayerBytes, ModelFile
from clover_gui.planning.clover_shape import clover_shape

MIB, GIB = 1 << 20, 1 << 30
# A 35B-A3B file whose matrices are all Q4_K: tensor data in all, experts of one layer.
PURE_Q4_K_BYTES = 19_572_951_552
EXPERTS_BYTES = 432 * MIB


def clover(*, trained: int = 131072) -> ModelFile:
    """The pure Q4_K form of the 35B-A3B model."""
    return replace(clover_shape(), trained_context=trained)


def dense_8b(*, trained: int = 131072) -> ModelFile:
    """A Llama of 8 billion parameters in Q4_K."""
    layers = tuple(LayerBytes(attention=24 * MIB, feed_forward=95 * MIB) for _ in range(32))
    return _model(
        "llama",
        layers,
        Attention(32, 65536),
        embedding_length=4096,
        vocabulary_size=128256,
        trained_context=trained,
        token_embedding_bytes=282 * MIB,
        output_bytes=282 * MIB,
        feed_forward_length=14336,
        head_count=32,
        key_length=128,
    )


def tied_small() -> ModelFile:
    """A small model that uses its token embeddings as output."""
    layers = tuple(LayerBytes(attention=3 * MIB, feed_forward=5 * MIB) for _ in range(28))
    return _model(
        "qwen3",
        layers,
        Attention(28, 57344),
        embedding_length=1024,
        vocabulary_size=151936,
        trained_context=40960,
        token_embedding_bytes=83 * MIB,
        output_bytes=0,
        feed_forward_length=3072,
        head_count=16,
        key_length=128,
        tied_output=True,
    )


def _model(
    architecture: str, layers: tuple[LayerBytes, ...], attention: Attention, **values: int
) -> ModelFile:
    facts: dict[str, int] = {"expert_count": 0, "expert_used_count": 0, "other_bytes": 0, **values}
    size = sum(layer.total for layer in layers) + sum(
        facts[name] for name in ("token_embedding_bytes", "output_bytes", "other_bytes")
    )
    return ModelFile(
        path=Path("model.gguf"),
        size_bytes=size,
        gguf_version=3,
        architecture=architecture,
        name="A model",
        quantization="Q4_K",
        parameter_count=0,
        layer_count=len(layers),
        layers=layers,
        attention=attention,
        tensor_count=1,
        data_offset=32,
        chat_template=None,
        **facts,
    )


def machine(ram_gib: float = 32, *gpus: Gpu, free_gib: float | None = None, cores: int = 8) -> Machine:
    """A machine with this much RAM, of which nine tenths are free unless said otherwise."""
    total = int(ram_gib * GIB)
    free = int((ram_gib * 0.9 if free_gib is None else free_gib) * GIB)
    return Machine(
        "Linux", Processor("A processor", "x86_64", cores, 2 * cores), Memory(total, free), None, gpus
    )


def card(vram_gib: float, *, used_mib: int = 300) -> Gpu:
    """A card with memory of its own, a little of it taken by the screen."""
    total = int(vram_gib * GIB)
    return Gpu("A card", "NVIDIA", DeviceKind.DISCRETE, total, max(0, total - used_mib * MIB), source="nvml")
