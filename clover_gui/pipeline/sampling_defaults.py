"""Which sampling values to begin with: the makers' for a known model and mode, else middle ones."""

from __future__ import annotations

from dataclasses import replace

from clover_gui.catalog.entry import SamplingPreset
from clover_gui.catalog.index import Catalog
from clover_gui.engine.protocol import Sampling
from clover_gui.model_file.summary import ModelFile

GREEDY_TEMPERATURE = 0.0
# Modes of a preset in the catalogue.
THINKING, PRECISE, DIRECT = "thinking", "precise", "direct"


def default_sampling(
    catalog: Catalog,
    model: ModelFile,
    *,
    thinking: bool,
    precise: bool = False,
    greedy: bool = False,
    seed: int | None = None,
) -> Sampling:
    """The preset of the catalogue for this file. ``precise`` is for code and facts; it works with thinking.
    ``greedy`` always takes the likeliest token."""
    preset = preset_for(catalog, model, thinking=thinking, precise=precise)
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


def preset_for(
    catalog: Catalog, model: ModelFile, *, thinking: bool, precise: bool = False
) -> SamplingPreset:
    """The catalogue's values for a mode, with their source. Without a precise preset the usual ones."""
    entry = catalog.entry_for(model.path, model.name, model.architecture)
    if thinking and precise and entry is not None and PRECISE in entry.presets:
        return entry.presets[PRECISE]
    return catalog.preset(entry, thinking)


def preset_modes(catalog: Catalog, model: ModelFile) -> tuple[str, ...]:
    """The modes that the catalogue knows for this file, in the order of a menu."""
    entry = catalog.entry_for(model.path, model.name, model.architecture)
    known = entry.presets if entry is not None else {}
    return tuple(mode for mode in (THINKING, PRECISE, DIRECT) if mode in known)
