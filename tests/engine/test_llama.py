"""The door to llama.cpp: guard against other versions, memory figures, log. Each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clover_gui.engine import llama
from clover_gui.engine.engine_log import classify

PRELUDE = """
import json, sys
from pathlib import Path
from clover_gui.engine import llama, placement
from clover_gui.engine.engine_log import EngineLog
"""


def run(code: str, *arguments: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_struct_sizes_and_defaults_of_the_pinned_version() -> None:
    """Fails when an upgrade changes a layout: then compare the structs with llama.h before anything else."""
    code = """
import ctypes
c = llama.import_binding()
sizes = {name: ctypes.sizeof(getattr(c, name)) for name in llama.STRUCT_SIZES}
print(json.dumps({"sizes": sizes, "version": llama.binding_version(), "numpy": "numpy" in sys.modules}))
"""
    result = run(code)
    assert result["sizes"] == llama.STRUCT_SIZES
    assert result["version"] in llama.SUPPORTED_VERSIONS
    assert result["numpy"] is False


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("llama.binding_version = lambda: '0.3.99'", "0.3.99 is installed"),
        ("llama.STRUCT_SIZES['llama_batch'] = 64", "llama_batch has 56 bytes"),
        ("llama.DEFAULTS['llama_context_default_params']['n_batch'] = 7", "n_batch is 2048, not 7"),
    ],
)
def test_another_version_is_refused_with_its_reason(change: str, words: str) -> None:
    code = (
        change
        + """
try:
    llama.import_binding()
except llama.LibraryUnsupported as error:
    print(json.dumps({"reason": str(error)}))
"""
    )
    assert words in str(run(code)["reason"])


def test_memory_from_the_engine_and_from_its_log_agree(tiny_gguf: Path) -> None:
    code = """
c = llama.import_binding()
log = EngineLog(c, lambda line: None)
model = llama.Model(c, Path(sys.argv[1]))
context = llama.Context(model, tokens=2048, batch=512, threads=1)
ggml = placement.Ggml(c)
def sums(buffers):
    return [sum(getattr(b, part) for b in buffers) for part in ("model", "context", "compute")]
print(json.dumps({
    "exact": sums(placement.memory_by_buffer(ggml, context, ())),
    "log": sums(placement.from_log(log.lines())),
}))
"""
    result = run(code, str(tiny_gguf))
    assert result["exact"] == pytest.approx(result["log"], rel=0.03)
    assert all(value > 0 for value in result["log"])  # type: ignore[attr-defined]


def test_absent_symbols_crash_nothing() -> None:
    code = """
class Library:
    _name = "/nowhere/libllama.so"
    def __getitem__(self, name):
        raise AttributeError(name)
class Binding:
    _lib = Library()
ggml = placement.Ggml(Binding())
print(json.dumps({
    "devices": placement.devices(ggml),
    "experts": placement.experts_on_cpu(ggml, 3),
    "memory": placement.memory_by_buffer(ggml, None, ["x:  CUDA0 model buffer size =  2.00 MiB"])[0].model,
}))
"""
    assert run(code) == {"devices": [], "experts": None, "memory": 2 * 1024 * 1024}


def test_expert_placement_reaches_the_engine(tiny_gguf: Path) -> None:
    code = """
c = llama.import_binding()
lines = []
class Log(EngineLog):
    def _write(self, level, text, data):
        lines.append((text or b"").decode())
log = Log(c, print)
ggml = placement.Ggml(c)
llama.Model(c, Path(sys.argv[1]), overrides=placement.experts_on_cpu(ggml, 2)).close()
print(json.dumps({"moved": sorted(l.split()[1] for l in lines if "buffer type overridden" in l)}))
"""
    expected = [f"blk.{i}.ffn_{part}_exps.weight" for i in (0, 1) for part in ("down", "gate", "up")]
    assert run(code, str(tiny_gguf))["moved"] == expected


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("llama_model_load: error loading model: unknown model architecture: 'x'", "unknown-architecture"),
        ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 900 MiB on device 0: cudaMalloc failed: "
         "out of memory", "out-of-memory"),
        ("llama_init_from_model: failed to initialize the context: std::bad_alloc", "out-of-memory"),
        ("insufficient memory (attempted to allocate 11718.75 MB)", "out-of-memory"),
        ("error loading model hyperparameters: key not found in model: qwen35moe.block_count", "corrupt"),
        ("tensor 'a' data is not within the file bounds, model is corrupted or incomplete", "truncated"),
        ("something new", "other"),
    ],
)  # fmt: skip
def test_reasons_are_recognised(line: str, kind: str) -> None:
    found, reason = classify(["first line", line] if kind != "other" else [line])
    assert found == kind
    assert reason
    assert not reason.startswith("llama_model_load")


def test_no_lines_still_give_a_reason() -> None:
    assert classify([])[1]
