"""The sampling values that the makers of the model at hand give, and where they stand."""

from __future__ import annotations

from collections.abc import Callable

from clover_gui.catalog.index import Catalog
from clover_gui.engine.protocol import Sampling
from clover_gui.explain.sampling_words import source_text
from clover_gui.model_file.summary import ModelFile
from clover_gui.pipeline.sampling_defaults import PRECISE, default_sampling, preset_for, preset_modes


class MakersValues:
    """Only to be asked while a model is loaded; ``model`` tells which."""

    def __init__(self, catalog: Catalog, model: Callable[[], ModelFile]) -> None:
        self._catalog = catalog
        self._model = model

    def usual(self, thinking: bool | None) -> Sampling:
        """For an answer with or without thinking."""
        return default_sampling(self._catalog, self._model(), thinking=bool(thinking))

    def precise(self) -> Sampling | None:
        """For code and facts, if the makers give any."""
        model = self._model()
        if PRECISE not in preset_modes(self._catalog, model):
            return None
        return default_sampling(self._catalog, model, thinking=True, precise=True)

    def source(self, *, thinking: bool, precise: bool) -> str:
        """Where the values stand."""
        preset = preset_for(self._catalog, self._model(), thinking=thinking, precise=precise)
        return source_text(preset.source)
