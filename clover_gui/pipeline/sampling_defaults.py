"""Which sampling values to begin with: the makers' for a known model and mode, else middle ones."""

from __future__ import annotations

from dataclasses import replace

from clover_gui.catalog.index import Catalog
from clover_gui.engine.protocol import Sampling
from clover_gui.model_file.summary import ModelFile

GREEDY_TEMPERATURE = 0.0


def default_sampling(
    catalog: Catalog, model: ModelFile, *, thinking: bool, greedy: bool = False, seed: int | None = None
) -> Sampling:
    """The preset of the catalogue for this file. ``greedy`` always takes the likeliest token."""
    entry = catalog.entry_for(model.path, model.name, model.architecture)
    preset = catalog.preset(entry, thinking)
    sampling = Sampling(
        temperature=preset.temperature,
        top_k=preset.top_k,
        top_p=preset.top_p,
        min_p=preset.min_p,
        presence_penalty=preset.presence_penalty,
        repeat_penalty=preset.repeat_penalty,
        seed=seed,
    )
    if not greedy:
        return sampling
    # Penalties would still bend a greedy choice.
    return replace(sampling, temperature=GREEDY_TEMPERATURE, presence_penalty=0.0, repeat_penalty=1.0)
