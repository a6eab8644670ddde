"""Run in a process of its own: what the engine itself would allocate, for a list of layouts of one file.

    python -m tests.planning.engine_dry MODEL < layouts.json > buffers.json

The list on stdin holds ``[context, kv_type, batch, cpu_expert_layers, outputs]`` each; the answer holds per
layout the buffers as ``{name: [model, context, compute]}``, and ``seconds`` of the first and of the others.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from clover_gui.engine import llama
from clover_gui.engine.engine_log import EngineLog
from clover_gui.engine.placement import Ggml, experts_on_cpu, memory_by_buffer

KV_TYPES = {"f16": 1, "q8_0": 8, "q4_0": 2}


def main() -> None:
    binding = llama.import_binding()
    log = EngineLog(binding, lambda _line: None)
    ggml = Ggml(binding)
    found: list[dict[str, list[int]]] = []
    seconds: list[float] = []
    models: dict[int, llama.Model] = {}
    for context, kv_type, batch, experts, outputs in json.load(sys.stdin):
        started = time.perf_counter()
        if experts not in models:
            models[experts] = llama.Model(
                binding, Path(sys.argv[1]), dry=True, overrides=experts_on_cpu(ggml, experts)
            )
        params = binding.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context, batch, batch
        params.n_outputs_max = outputs
        params.flash_attn_type = -1
        params.type_k = params.type_v = KV_TYPES[kv_type]
        handle = binding.llama_init_from_model(models[experts].handle, params)
        if not handle:
            raise SystemExit("\n".join(log.last()))
        found.append({b.buffer: [b.model, b.context, b.compute] for b in _buffers(ggml, handle, log)})
        binding.llama_free(handle)
        seconds.append(time.perf_counter() - started)
    json.dump({"buffers": found, "seconds": seconds}, sys.stdout)


def _buffers(ggml: Ggml, handle: object, log: EngineLog) -> tuple:
    class Handle:
        def __init__(self) -> None:
            self.handle = handle

    return memory_by_buffer(ggml, Handle(), log.lines())  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
