"""How many tokens per second a plan should write: bytes that are read per token, and bandwidths.

An estimate before the first measurement, with an honest band. It was fitted to published points of a
35B-A3B model: RTX 4090, all on the GPU, 202 to 211 tokens/s, and 102 with the experts of ten layers in RAM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clover_gui.hardware.machine import Processor
from clover_gui.model_file.summary import LayerBytes, ModelFile
from clover_gui.planning.memory import Layout
from clover_gui.planning.plan import Speed

# Share of the published bandwidth that the engine's kernels reach when they read weights for one token.
_GPU_EFFICIENCY = 0.75
_RAM_EFFICIENCY = 0.9
# Starting the kernels of one layer on a GPU: plain, with experts, with recurrent state as well.
_LAYER_S, _EXPERT_LAYER_S, _HYBRID_LAYER_S = 20e-6, 45e-6, 64e-6
# Handing over from the GPU to the processor and back, for each layer that is computed there in part.
_HANDOVER_S = 200e-6
# What one core reads and computes of quantised weights, in bytes per second.
_CORE_AVX512, _CORE_AVX2, _CORE_PLAIN = 11e9, 8e9, 2.5e9
_LOW, _HIGH = 0.6, 1.25


@dataclass(frozen=True, slots=True)
class Bandwidths:
    """Bytes per second: each GPU in order, and the RAM."""

    gpus: tuple[int, ...]
    ram: int


def expected_speed(
    model: ModelFile,
    layout: Layout,
    parts: Sequence[range],
    bandwidths: Bandwidths,
    processor: Processor,
    threads: int,
) -> Speed:
    """Tokens per second while writing, early in a chat. ``parts`` are the layers of each GPU."""
    seconds = 0.0
    on_gpu: set[int] = set()
    for part, bandwidth in zip(parts, bandwidths.gpus, strict=True):
        on_gpu.update(part)
        read = sum(_gpu_bytes(model, index, layout) for index in part)
        seconds += read / (bandwidth * _GPU_EFFICIENCY) + _layer_seconds(model) * len(part)
    ram_read, handovers = 0.0, 0
    for index in range(model.layer_count + 1):
        if index not in on_gpu:
            ram_read += _all_bytes(model, index)
        elif index < min(layout.cpu_expert_layers, model.layer_count):
            ram_read += _used_experts(model, model.layers[index])
            handovers += 1
    cores = threads * _core_speed(processor)
    seconds += ram_read / min(bandwidths.ram * _RAM_EFFICIENCY, cores) + handovers * _HANDOVER_S
    rate = 1 / seconds if seconds > 0 else 0.0
    return Speed(rate, rate * _LOW, rate * _HIGH)


def measured_speed(tokens_per_second: float) -> Speed:
    """From this machine's own measurement of the same plan."""
    return Speed(tokens_per_second, 0.8 * tokens_per_second, 1.15 * tokens_per_second, measured=True)


def _layer_seconds(model: ModelFile) -> float:
    if not model.is_moe:
        return _LAYER_S
    return _HYBRID_LAYER_S if model.attention.recurrent_layers else _EXPERT_LAYER_S


def _gpu_bytes(model: ModelFile, index: int, layout: Layout) -> float:
    """Bytes that a GPU reads of this layer for one token."""
    if index >= model.layer_count or index >= layout.cpu_expert_layers:
        return _all_bytes(model, index)
    layer = model.layers[index]
    return float(layer.total - layer.experts)


def _all_bytes(model: ModelFile, index: int) -> float:
    if index >= model.layer_count:
        return float(model.token_embedding_bytes if model.tied_output else model.output_bytes)
    layer = model.layers[index]
    return layer.total - layer.experts + _used_experts(model, layer)


def _used_experts(model: ModelFile, layer: LayerBytes) -> float:
    return layer.experts * model.expert_used_count / model.expert_count if model.expert_count else 0.0


def _core_speed(processor: Processor) -> float:
    features = processor.features
    if features & {"avx512bw", "avx512f"}:
        return _CORE_AVX512
    if not features or features & {"avx2", "neon"}:
        return _CORE_AVX2
    return _CORE_PLAIN
