"""What the window says on machines with other graphics devices: the key sentence of each scene."""

from __future__ import annotations

import pytest

from clover_gui import i18n
from tests.benchmarks.gpu_scenes import Stage, scenes, show

SENTENCES = {
    "not-here-yet": (
        "experts of 11 of 40 layers",
        "about 86 tokens per second (52 to 108)",
        "Graphics memory 14.7 GB",
        "Computed before the download",
    ),
    "one-card-16": ("experts of 13 of 40 layers", "left free", "Clover: 13.8 GB", "Other programs: 819 MB"),
    "two-cards": ("The cards hold all but", "RTX 3060 10.0 GB of 11.4 GB free", "RTX 3080 8.3 GB of 9.7 GB"),
    "one-of-two-cards": (
        "RTX 3060: 12.0 GB of graphics memory, 11.4 GB free (driver 580.65.06) – not used, by your choice",
        "experts of 26 of 40 layers",
    ),
    "weak-second-card": (
        "whole model goes on the graphics card",
        "not used: the model runs better without it",
        "GT 1030.",
    ),
    "card-lost": ("The driver has lost the", "runs on the processor"),
    "memory-taken": ("6.0 GB are free instead of 15.0 GB", "experts of 34 of 40 layers"),
    "spill": ("5.9 tokens per second instead of 59", "Load the model again"),
    "unified": ("GB10: shares the RAM", "RAM, shared with the graphics card", "part of the RAM"),
    "asleep": ("it sleeps to save power",),
    "no-gpu": ("No graphics card was found", "this may be why", "The driver of the card is not installed"),
    "cpu-only-engine": ("not used: this engine was built for the processor only", "many times slower"),
    "does-not-fit": ("It needs 17.1 GB of RAM", "Choose a smaller model", "missing"),
    "does-not-fit-by-hand": (
        "16.8 GB of graphics memory",
        "Keep the experts of more layers in RAM",
        "missing 2.6 GB",
    ),
}
# By scene the rows of devices that are greyed; the used ones come first.
GREYED = {
    "card-lost": [0],
    "no-gpu": [0],
    "cpu-only-engine": [0],
    "weak-second-card": [1],
    "one-of-two-cards": [1],
}


def test_every_scene_has_a_sentence() -> None:
    assert SENTENCES.keys() == scenes().keys()


@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_the_scene_says_it(name: str, theme) -> None:
    i18n.set_language("en")

    def check(stage: Stage) -> None:
        said = "\n".join(stage.texts())
        for sentence in SENTENCES[name]:
            assert sentence in said
        assert "{" not in said
        rows = [value for _caption, value in stage.page.machine_card._row_labels]
        greyed = [place for place, value in enumerate(rows) if value.objectName() == "note"]
        assert greyed == GREYED.get(name, [])

    show(name, theme, check)
