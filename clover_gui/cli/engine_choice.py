"""The engine as the terminal's commands start it: with the chosen libraries, and a word when they fail."""

from __future__ import annotations

from clover_gui import settings as settings_file
from clover_gui.cli.screen import Screen
from clover_gui.engine.client import EngineClient
from clover_gui.explain.flavour_words import failure_text, flavour_title
from clover_gui.flavours.selection import FlavourFailure, FlavourSelection
from clover_gui.flavours.store import FlavourStore
from clover_gui.paths import DataFolder


def engine_client(data: DataFolder, screen: Screen) -> EngineClient:
    """A client that takes the engine of the settings; a fall-back is told on the error stream."""
    store = FlavourStore(data.engines)
    chosen = settings_file.load(data.settings).settings.engine_flavour
    selection = FlavourSelection(store, lambda: chosen)

    def tell(failure: FlavourFailure) -> None:
        titles = [flavour_title(store.get(key), key) for key in (failure.key, failure.taken)]
        screen.note(failure_text(failure, *titles))

    selection.fell_back.append(tell)
    return EngineClient(libraries=selection)
