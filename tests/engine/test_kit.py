"""The test models are what they are taken for."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest

from tests.kit.gguf_maker import q4_k_m
from tests.kit.gguf_parts import HYBRID, REAL, tensors
from tests.kit.scripts import Script

MIB = 1024 * 1024


def test_twin_has_the_sizes_of_a_quantised_file(twin_gguf: Path) -> None:
    """Figures of a quantiser's dry run over the same shapes, in MiB."""
    sizes: dict[str, float] = {}
    for name, dims, matrix in tensors(REAL, 248320, HYBRID):
        block, size = gguf.GGML_QUANT_SIZES[q4_k_m(name, matrix, REAL.layers)]
        count = 1
        for dim in dims:
            count *= dim
        part = "experts" if "_exps" in name else "output" if name == "output.weight" else "rest"
        sizes[part] = sizes.get(part, 0) + count / block * size / MIB
    assert sizes["experts"] == pytest.approx(18600, abs=0.5)
    assert sizes["output"] == pytest.approx(397.85, abs=0.01)
    assert sum(sizes.values()) == pytest.approx(20175.71, abs=0.01)
    assert twin_gguf.stat().st_size > 20175 * MIB


def test_a_token_has_one_successor() -> None:
    with pytest.raises(ValueError, match="two successors"):
        Script((("\n", ("a", "b", "a", "c")),)).successors()


def test_damaged_files_differ_from_the_whole(damaged_ggufs: dict[str, Path]) -> None:
    contents = {name: path.read_bytes() for name, path in damaged_ggufs.items()}
    assert len(set(contents.values())) == len(contents)
