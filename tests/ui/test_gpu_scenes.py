"""What the window says on machines with other graphics devices: the key sentence of each scene."""

from __future__ import annotations

import pytest

from clover_gui import i18n
from tests.benchmarks.gpu_scenes import Stage, scenes, show

SENTENCES = {
    "one-card-16": ("experts of 13 of 40 layers", "left free", "Clover: 13.8 GB", "Other programs: 819 MB"),
    "two-cards": ("The cards hold all but", "RTX 3060 10.0 GB of 11.4 GB free", "RTX 3080 8.3 GB of 9.7 GB"),
    "weak-second-card": ("whole model goes on the graphics card", "runs better without it", "GT 1030."),
    "card-lost": ("The driver has lost the", "runs on the processor"),
    "memory-taken": ("6.0 GB are free instead of 15.0 GB", "experts of 34 of 40 layers"),
    "spill": ("5.9 tokens per second instead of 59", "Load the model again"),
    "unified": ("GB10: shares the RAM", "RAM, shared with the GPU", "part of the RAM"),
    "asleep": ("it sleeps to save power",),
    "no-gpu": ("No graphics card was found", "this may be why", "The driver of the card is not installed"),
    "cpu-only-engine": ("not used: this engine was built for the processor only", "--backend cuda"),
    "does-not-fit": ("It needs 17.1 GB of RAM", "Choose a smaller model", "missing"),
    "does-not-fit-by-hand": ("16.8 GB on the", "Keep the experts of more layers in RAM", "missing 2.6 GB"),
}
GREYED = ("card-lost", "no-gpu", "cpu-only-engine")


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
        row = stage.page.machine_card._row_labels[0][1]
        assert (row.objectName() == "note") == (name in GREYED)

    show(name, theme, check)
