"""How the next token is chosen: a chain of llama.cpp's samplers for one answer.

top_k stands first: over a vocabulary of 250,000 the later steps are then 25 times cheaper. Penalties look
only at what this answer wrote, not at the prompt.
"""

from __future__ import annotations

import secrets

from clover_gui.engine.llama import Context, Model, Native
from clover_gui.engine.protocol import Sampling

# Tokens of this answer that penalties look back on.
PENALTY_WINDOW = 8192


class Sampler:
    """Samplers of one answer. ``close`` frees them. ``seed`` is the one in use (0 when greedy)."""

    def __init__(self, model: Model, wishes: Sampling) -> None:
        c = model.c
        self._c = c
        self.seed = 0
        self._chain: Native = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
        if wishes.repeat_penalty != 1.0 or wishes.presence_penalty != 0.0:
            repeat = max(wishes.repeat_penalty, 0.01)
            self._add(
                c.llama_sampler_init_penalties(
                    model.vocabulary_size, PENALTY_WINDOW, repeat, 0.0, wishes.presence_penalty
                )
            )
        if wishes.temperature <= 0:
            self._add(c.llama_sampler_init_greedy())
            return
        if wishes.top_k > 0:
            self._add(c.llama_sampler_init_top_k(wishes.top_k))
        if wishes.top_p < 1.0:
            self._add(c.llama_sampler_init_top_p(max(wishes.top_p, 0.0), 1))
        if wishes.min_p > 0.0:
            self._add(c.llama_sampler_init_min_p(wishes.min_p, 1))
        self._add(c.llama_sampler_init_temp(wishes.temperature))
        self.seed = secrets.randbits(31) if wishes.seed is None else wishes.seed & 0x7FFFFFFF
        self._add(c.llama_sampler_init_dist(self.seed))

    def _add(self, sampler: Native) -> None:
        self._c.llama_sampler_chain_add(self._chain, sampler)

    def next(self, context: Context) -> int:
        """The next token after the last decoded one; it is also remembered for the penalties."""
        return int(self._c.llama_sampler_sample(self._chain, context.handle, -1))

    def close(self) -> None:
        if self._chain:
            self._c.llama_sampler_free(self._chain)
            self._chain = None
