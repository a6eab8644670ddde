"""Runs files in the real engine, in a process of its own: logits of 64 positions and a greedy text.

    python -m tests.patching.engine_probe RESULT FILE...

RESULT becomes a numpy archive: per file "<index>/logits" (64 rows) and "<index>/tokens", or
"<index>/error". With --dry in place of RESULT the files are only loaded without their weights.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from clover_gui.engine.llama import Context, LlamaError, Model, import_binding

POSITIONS = 64
WRITTEN = 24


def run(binding: object, path: Path) -> tuple[np.ndarray, np.ndarray]:
    model = Model(binding, path)
    try:
        context = Context(model, tokens=256, batch=64, threads=1)
        try:
            rng = np.random.default_rng(3)
            prompt = [int(token) for token in rng.integers(0, 128, POSITIONS)]
            rows = []
            for token in prompt:
                if context.decode_one(token):
                    raise LlamaError("decode")
                rows.append(np.array(context.logits(), np.float32))
            written = [int(rows[-1].argmax())]
            while len(written) < WRITTEN:
                context.decode_one(written[-1])
                written.append(int(np.array(context.logits()).argmax()))
            return np.stack(rows), np.array(written)
        finally:
            context.close()
    finally:
        model.close()


def main() -> None:
    result, *files = sys.argv[1:]
    binding = import_binding()
    lines: list[str] = []
    log = binding.llama_log_callback(
        lambda level, text, _: lines.append(text.decode("utf-8", "replace")) if level in (3, 4) else None
    )
    binding.llama_log_set(log, None)
    binding.llama_backend_init()
    found: dict[str, np.ndarray] = {}
    for index, name in enumerate(files):
        lines.clear()
        try:
            if result == "--dry":
                model = Model(binding, Path(name), dry=True)
                print(model.description)
                model.close()
                continue
            found[f"{index}/logits"], found[f"{index}/tokens"] = run(binding, Path(name))
        except LlamaError as error:
            found[f"{index}/error"] = np.array(str(error) + " ".join(lines[-3:]))
            if result == "--dry":
                sys.exit("".join(lines[-3:]))
    if result != "--dry":
        np.savez(result, allow_pickle=False, **found)


if __name__ == "__main__":
    main()
