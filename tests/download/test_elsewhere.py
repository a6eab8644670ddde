"""Copies that other programs have are found, not touched."""

from __future__ import annotations

from pathlib import Path

from clover_gui.catalog.places import ModelPlace
from clover_gui.download.elsewhere import Copy, find_copies
from tests.download.conftest import NAME, SIZE, Fetcher, model_bytes


def test_a_copy_of_the_right_name_and_size(fetcher: Fetcher, tmp_path: Path) -> None:
    folder = tmp_path / "lm" / "acme" / "tiny"
    folder.mkdir(parents=True)
    copy = folder / NAME
    copy.write_bytes(model_bytes())
    places = (ModelPlace(tmp_path / "lm", "lm-studio"), ModelPlace(tmp_path / "none", "jan"))
    assert find_copies(fetcher.find(), places) == (Copy(copy, "lm-studio"),)
    copy.write_bytes(model_bytes(SIZE - 1))
    assert find_copies(fetcher.find(), places) == ()
