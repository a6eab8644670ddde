"""Which models the set-up page offers: those that are here, files of one's own, those that can be brought.

Must not know what is done with the chosen one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from clover_gui.catalog.index import Catalog, find_models
from clover_gui.errors import ModelFileError
from clover_gui.pipeline.own_file import refusal_of
from clover_gui.ui.setup.choices import model_choices
from clover_gui.ui.setup.model_card import ModelCard


class ModelList:
    """Fills the card; remembers the files that were named by hand."""

    def __init__(self, card: ModelCard, catalog: Catalog, models_folder: Callable[[], Path]) -> None:
        self._card = card
        self._catalog = catalog
        self._models_folder = models_folder
        self._own_files: list[Path] = []

    async def fill(
        self, preferred: Path | None, former: Path | None
    ) -> tuple[Path | None, ModelFileError | None]:
        """Look for models and list them; which is chosen: ``preferred``, or the first that is here.

        What is no model is not listed, and comes back with the reason; then ``former`` stays chosen.
        """
        found = await asyncio.to_thread(find_models, self._models_folder(), None, self._catalog)
        self._own_files = await asyncio.to_thread(_still_there, self._own_files)
        here = [model.path for model in found] + self._own_files
        refusal = None
        if preferred is not None and preferred not in here:
            if (refusal := await refusal_of(preferred)) is None:
                self._own_files.append(preferred)
                here.append(preferred)
            else:
                preferred = former if former in here else None
        chosen = preferred or (here[0] if here else None)
        choices = await asyncio.to_thread(model_choices, self._catalog, found, self._own_files)
        self._card.show_choices(choices, str(chosen or ""))
        return chosen, refusal


def _still_there(files: list[Path]) -> list[Path]:
    return [file for file in files if file.is_file()]
