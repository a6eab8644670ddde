"""The official form in its full size (733 tensors, 19.6 GB apparent): little time, little written."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clover_gui.patching.diagnosis import diagnose
from clover_gui.patching.findings import Verdict
from clover_gui.patching.header_map import read_map
from clover_gui.patching.plan import Way
from clover_gui.patching.repair import repair, undo
from tests.kit.diffuspace import make_raw_twin
from tests.patching.forms import KNOWS_QWEN


def digest_of_the_changing_parts(path: Path) -> str:
    """The header and every small tensor; the rest is a hole that nothing touches."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        header = read_map(file, path, path.stat().st_size)
        digest.update(header.header)
        for tensor in header.tensors:
            if tensor.size_bytes < 1 << 20:
                file.seek(header.data_offset + tensor.offset)
                digest.update(file.read(tensor.size_bytes))
    return digest.hexdigest()


def test_the_full_size_twin(tmp_path: Path) -> None:
    file = make_raw_twin(tmp_path / "twin.gguf")
    before, size = digest_of_the_changing_parts(file), file.stat().st_size
    held = file.stat().st_blocks
    assert size > 19_500_000_000
    start = time.perf_counter()
    with file.open("rb") as opened:
        header = read_map(opened, file, size)
    reading_s = time.perf_counter() - start
    assert len(header.tensors) == 733
    result = repair(file, KNOWS_QWEN)
    print(f"header {reading_s:.3f} s, repair {result.seconds:.3f} s, written {result.written_bytes} bytes")
    assert result.way is Way.IN_PLACE
    assert not result.given_up
    assert result.written_bytes < 16_000_000
    assert file.stat().st_size == size
    assert (file.stat().st_blocks - held) * 512 < 1 << 20
    assert diagnose(file, KNOWS_QWEN).verdict is Verdict.RUNS
    # The engine reads header and vocabulary and finds every tensor that it wants, and no other.
    subprocess.run([sys.executable, "-m", "tests.patching.engine_probe", "--dry", str(file)], check=True)
    undo(file)
    assert digest_of_the_changing_parts(file) == before


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_smaller_twin_generates(tmp_path: Path) -> None:
    """Four layers of the full size, with real memory behind them."""
    file = make_raw_twin(tmp_path / "twin.gguf", layers=4)
    repair(file, KNOWS_QWEN)
    subprocess.run(
        [sys.executable, "-m", "tests.patching.engine_probe", str(tmp_path / "r.npz"), str(file)], check=True
    )
