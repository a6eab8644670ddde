"""The makers' values by model and mode."""

from __future__ import annotations

from pathlib import Path

from clover_gui.catalog.index import load_catalog
from clover_gui.model_file.header import read_model_file
from clover_gui.pipeline.sampling_defaults import default_sampling, preset_for, preset_modes

CATALOG = load_catalog()


def test_precise_is_a_way_of_thinking(tiny_gguf: Path, tmp_path: Path) -> None:
    clover = tmp_path / "Clover-35B-A3B-Q4_K_M.gguf"
    clover.symlink_to(tiny_gguf)
    model = read_model_file(clover)
    assert preset_modes(CATALOG, model) == ("thinking", "precise", "direct")
    precise = default_sampling(CATALOG, model, thinking=True, precise=True)
    assert (precise.temperature, precise.top_k, precise.top_p, precise.presence_penalty) == (0.6, 20, 0.95, 0)
    direct = default_sampling(CATALOG, model, thinking=False, precise=True)
    assert direct == default_sampling(CATALOG, model, thinking=False)
    assert all(
        preset_for(CATALOG, model, thinking=thinking, precise=precise).source
        for thinking, precise in ((True, False), (True, True), (False, False))
    )


def test_a_model_without_such_a_preset_keeps_its_own(tiny_gguf: Path) -> None:
    model = read_model_file(tiny_gguf)
    assert preset_modes(CATALOG, model) == ()
    assert default_sampling(CATALOG, model, thinking=True, precise=True) == default_sampling(
        CATALOG, model, thinking=True
    )
