"""Killed at any moment, the next start ends with a file that is wholly original or wholly repaired."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clover_gui.errors import RepairDamaged
from clover_gui.patching import journal
from clover_gui.patching.journal import State
from clover_gui.patching.recovery import Recovered, is_clean, recover, recover_folder, state_of
from clover_gui.patching.repair import repair, undo
from tests.kit.diffuspace import DIFFUSPACE, make_form
from tests.patching.forms import KNOWS_QWEN, sha256

SCENARIOS = ("in-place", "undo-in-place", "insert", "undo-insert", "copy", "undo-copy")


def drive(scenario: str, kind: str, trials: int, folder: Path, seed: int = 1) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.patching.kill_driver",
            scenario,
            kind,
            str(trials),
            str(seed),
            str(folder),
        ],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    print(f"{scenario} {kind}: {counts}")
    if "skipped" in counts:
        pytest.skip(counts["skipped"])
    # Some trials are over before the kill; how many is a matter of the machine's speed.
    assert counts["killed"] > 0
    assert counts.get("original", 0) + counts.get("repaired", 0) == trials


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("kind", ["event", "power", "random"])
def test_killed(tmp_path: Path, fast_folder: Path, scenario: str, kind: str) -> None:
    # Insertion needs a real file system; the others end sooner where flushing is free.
    drive(scenario, kind, 8, tmp_path if "insert" in scenario else fast_folder)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("kind", ["event", "power", "random"])
def test_killed_two_hundred_times(tmp_path: Path, scenario: str, kind: str) -> None:
    """On the real file system, with real flushes."""
    drive(scenario, kind, 200, tmp_path, seed=2)


def test_the_start_goes_through_the_whole_folder(tmp_path: Path) -> None:
    done = make_form(tmp_path / "done.gguf", DIFFUSPACE)
    repair(done, KNOWS_QWEN)
    half = make_form(tmp_path / "half.gguf", DIFFUSPACE)
    before = sha256(half)
    repair(half, KNOWS_QWEN)
    record = journal.read(half)
    assert record is not None
    journal.append(record, State.UNDOING)
    with half.open("r+b") as file:
        file.write(bytes(300))
    assert not is_clean(half)
    assert recover_folder(tmp_path) == {done: Recovered.NOTHING, half: Recovered.ROLLED_BACK}
    assert sha256(half) == before
    assert is_clean(half)


def test_a_record_that_does_not_fit_is_never_written_over_a_file(tmp_path: Path) -> None:
    """The record says "interrupted", but the file is another one."""
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    repair(file, KNOWS_QWEN)
    record = journal.read(file)
    assert record is not None
    journal.append(record, State.APPLYING)
    make_form(file, DIFFUSPACE, seed=9)
    before = sha256(file)
    with pytest.raises(RepairDamaged):
        recover(file)
    assert sha256(file) == before
    file.unlink()
    with pytest.raises(RepairDamaged):
        recover(file)


def test_a_damaged_record(tmp_path: Path) -> None:
    """A whole file stays usable without its record; a half one says that it is lost."""
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    repair(file, KNOWS_QWEN)
    path = journal.journal_path(file)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert is_clean(file)
    assert recover(file) is Recovered.NOTHING
    assert state_of(file) is None
    with file.open("r+b") as model:
        model.write(bytes(4))
    assert not is_clean(file)
    with pytest.raises(RepairDamaged):
        recover(file)


def test_a_torn_state_word_counts_as_not_written(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    before = sha256(file)
    repair(file, KNOWS_QWEN)
    path = journal.journal_path(file)
    whole = path.read_bytes()
    for cut in range(1, 16):
        path.write_bytes(whole[:-cut])
        record = journal.read(file)
        assert record is not None
        assert record.state is State.APPLYING
        assert recover(file) is Recovered.FINISHED
        assert path.read_bytes() == whole
    undo(file)
    assert sha256(file) == before


def test_a_missing_file_is_not_clean(tmp_path: Path) -> None:
    assert not is_clean(tmp_path / "nothing.gguf")
    assert recover(tmp_path / "nothing.gguf") is Recovered.NOTHING
    assert recover_folder(tmp_path / "nowhere") == {}
