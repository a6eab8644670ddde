"""How the next token is chosen: a chain of llama.cpp's samplers for one answer.

top_k stands first: over a vocabulary of 250,000 the later steps are then 25 times cheaper. Penalties look
only at what this answer wrote, not at the prompt. JSON is enforced by a second chain that begins with the
grammar and is asked only where the first one's choice is not allowed: a grammar over the whole vocabulary
costs many times what everything else does.
"""

from __future__ import annotations

import secrets

from clover_gui.engine.json_grammar import JSON_GRAMMAR
from clover_gui.engine.llama import Context, Model, Native
from clover_gui.engine.protocol import Sampling

# Tokens of this answer that penalties look back on.
PENALTY_WINDOW = 8192
# Penalties are counted for so many of the best tokens: a penalty moves none of the others among the top_k.
_PENALISED_CANDIDATES = 128


class Sampler:
    """Samplers of one answer. ``close`` frees them. ``seed`` is the one in use (0 when greedy)."""

    def __init__(self, model: Model, wishes: Sampling) -> None:
        """Raises:
        ValueError: the engine refused the grammar.
        """
        self._c = model.c
        self.seed = 0
        if wishes.temperature > 0:
            self.seed = secrets.randbits(31) if wishes.seed is None else wishes.seed & 0x7FFFFFFF
        self._chain = self._chain_of(self._choosing(model, wishes, penalties=not wishes.json_only))
        self._strict: Native = None
        self._grammar: Native = None
        self._malformed: frozenset[int] = frozenset()
        if wishes.json_only:
            self._grammar = self._c.llama_sampler_init_grammar(
                model.vocabulary, JSON_GRAMMAR.encode(), b"root"
            )
            if not self._grammar:
                self.close()
                raise ValueError("the grammar of JSON was refused")
            # The engine ends the process over malformed tokens that it let through before.
            self._malformed = model.malformed_tokens()
            self._strict = self._chain_of(
                [
                    self._grammar,
                    self._without_malformed(model),
                    *self._choosing(model, wishes, penalties=False),
                ]
            )

    def next(self, context: Context, *, free: bool = True) -> int:
        """The next token after the last decoded one; it is also remembered for the penalties.

        ``free`` False keeps to the grammar, if there is one.
        """
        token = int(self._c.llama_sampler_sample(self._chain, context.handle, -1))
        if free or self._strict is None:
            return token
        if self._allowed(token):
            self._c.llama_sampler_accept(self._strict, token)
            return token
        return int(self._c.llama_sampler_sample(self._strict, context.handle, -1))

    def accept(self, token: int) -> None:
        """A token that was not chosen here is written."""
        self._c.llama_sampler_accept(self._chain, token)

    def resume(self, token: int, *, free: bool) -> None:
        """A token that an earlier part of the answer has. One that the grammar does not allow ends its rule:
        what began otherwise cannot become JSON."""
        self.accept(token)
        if free or self._strict is None:
            return
        if self._allowed(token):
            self._c.llama_sampler_accept(self._strict, token)
        else:
            self._c.llama_sampler_free(self._strict)
            self._strict = self._grammar = None

    def close(self) -> None:
        for chain in (self._chain, self._strict):
            if chain:
                self._c.llama_sampler_free(chain)
        self._chain = self._strict = self._grammar = None

    def _choosing(self, model: Model, wishes: Sampling, *, penalties: bool) -> list[Native]:
        c = self._c
        samplers: list[Native] = []
        if penalties and (wishes.repeat_penalty != 1.0 or wishes.presence_penalty != 0.0):
            if wishes.temperature <= 0 or 0 < wishes.top_k <= _PENALISED_CANDIDATES:
                samplers.append(c.llama_sampler_init_top_k(_PENALISED_CANDIDATES))
            repeat = max(wishes.repeat_penalty, 0.01)
            samplers.append(
                c.llama_sampler_init_penalties(
                    model.vocabulary_size, PENALTY_WINDOW, repeat, 0.0, wishes.presence_penalty
                )
            )
        if wishes.temperature <= 0:
            return [*samplers, c.llama_sampler_init_greedy()]
        if wishes.top_k > 0:
            samplers.append(c.llama_sampler_init_top_k(wishes.top_k))
        if wishes.top_p < 1.0:
            samplers.append(c.llama_sampler_init_top_p(max(wishes.top_p, 0.0), 1))
        if wishes.min_p > 0.0:
            samplers.append(c.llama_sampler_init_min_p(wishes.min_p, 1))
        samplers.append(c.llama_sampler_init_temp(wishes.temperature))
        samplers.append(c.llama_sampler_init_dist(self.seed))
        return samplers

    def _chain_of(self, samplers: list[Native]) -> Native:
        chain = self._c.llama_sampler_chain_init(self._c.llama_sampler_chain_default_params())
        for sampler in samplers:
            self._c.llama_sampler_chain_add(chain, sampler)
        return chain

    def _without_malformed(self, model: Model) -> Native:
        c, count = self._c, len(self._malformed)
        biases = (c.llama_logit_bias * count)(
            *(c.llama_logit_bias(token, float("-inf")) for token in sorted(self._malformed))
        )
        return c.llama_sampler_init_logit_bias(model.vocabulary_size, count, biases)

    def _allowed(self, token: int) -> bool:
        if token in self._malformed:
            return False
        c = self._c
        one = (c.llama_token_data * 1)(c.llama_token_data(token, 1.0, 0.0))
        candidates = c.llama_token_data_array(one, 1, -1, False)
        c.llama_sampler_apply(self._grammar, candidates)
        return bool(one[0].logit != float("-inf"))
