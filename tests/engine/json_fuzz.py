"""Run in a process of its own: JSON from random values, as the worst model would have them.

    python -m tests.engine.json_fuzz MODEL ROUNDS

Prints how many answers came to an end; each of those is JSON. A fault of the grammar ends the process.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from clover_gui.engine import llama
from clover_gui.engine.engine_log import EngineLog
from clover_gui.engine.protocol import Sampling
from clover_gui.engine.sampling import Sampler


def main() -> None:
    binding = llama.import_binding()
    log = EngineLog(binding, lambda _line: None)
    model = llama.Model(binding, Path(sys.argv[1]))
    context = llama.Context(model, tokens=256, batch=64, threads=1)
    assert context.decode([5]) == 0
    values = context.logits_in_place()
    ended = 0
    for seed in range(int(sys.argv[2])):
        rng = random.Random(seed)
        sampler = Sampler(model, Sampling(1.0, rng.choice([1, 20, 0]), 0.95, seed=seed, json_only=True))
        written = b""
        for _ in range(60):
            for token in range(model.vocabulary_size):
                values[token] = rng.gauss(0, 3)
            token = sampler.next(context, free=False)
            if model.ends_answer(token):
                json.loads(written.decode("utf-8", "replace"), strict=False)
                ended += 1
                break
            written += model.piece(token)
        sampler.close()
    print(ended, len(log.lines(4)))


if __name__ == "__main__":
    main()
