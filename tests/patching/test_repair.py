"""The repaired file is the reference: same logits, same words; and the way back is exact."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from clover_gui.errors import (
    ModelFileTruncated,
    RepairCancelled,
    RepairContradictory,
    RepairDamaged,
    RepairImpossible,
    RepairNoSpace,
    RepairUndoMissing,
    RepairWriteFailed,
)
from clover_gui.patching import filesystem, journal, plan
from clover_gui.patching.diagnosis import diagnose
from clover_gui.patching.findings import Verdict
from clover_gui.patching.plan import Way
from clover_gui.patching.recovery import is_clean, state_of
from clover_gui.patching.repair import repair, repaired_copy, undo
from tests.kit.diffuspace import CLOVER, DIFFUSPACE, REFERENCE, Form, make_form
from tests.kit.gguf_parts import HYBRID
from tests.patching.forms import (
    CRAMPED,
    KNOWS_BOTH,
    KNOWS_NEITHER,
    KNOWS_QWEN,
    SURPLUS_INSIDE,
    every_combination,
    room_combinations,
    sha256,
)


def run_in_engine(files: Sequence[Path], folder: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Logits of 64 positions and greedy tokens of every file, from the real engine."""
    result = folder / "probe.npz"
    subprocess.run(
        [sys.executable, "-m", "tests.patching.engine_probe", str(result), *map(str, files)],
        check=True,
        timeout=110,
    )
    with np.load(result) as found:
        errors = {name: str(found[name]) for name in found.files if name.endswith("error")}
        assert not errors
        return [(found[f"{i}/logits"], found[f"{i}/tokens"]) for i in range(len(files))]


def assert_all_equal(files: Sequence[Path], reference: Path, folder: Path) -> float:
    """Every file behaves exactly as the reference; returns the largest difference of a logit (0)."""
    (logits, tokens), *others = run_in_engine([reference, *files], folder)
    assert logits.shape[0] == 64
    assert np.abs(logits).max() > 1  # a silent network would be equal to anything
    worst = max(float(np.abs(other - logits).max()) for other, _ in others)
    print(f"largest difference of a logit over {len(files)} files: {worst}")
    assert worst == 0
    assert all((written == tokens).all() for _, written in others)
    return worst


def test_the_raw_form_really_fails_without_repair(tmp_path: Path) -> None:
    """The kit's form has the fault that is to be cured: renamed only, it speaks otherwise."""
    reference = make_form(tmp_path / "reference.gguf", REFERENCE)
    renamed = make_form(tmp_path / "renamed.gguf", Form(raw_decay=True, raw_norms=True))
    (right, _), (wrong, _) = run_in_engine([reference, renamed], tmp_path)
    difference = np.abs(np.nan_to_num(wrong, nan=1e9) - right).max()
    assert difference > 1


@pytest.mark.usefixtures("nobody_else")
@pytest.mark.timeout(300)
def test_every_combination_of_findings(fast_folder: Path) -> None:
    """Repaired: equal to the reference in the engine, unchanged by a second run. Undone: sha256 equal."""
    reference = make_form(fast_folder / "reference.gguf", REFERENCE)
    repaired = []
    ways = dict.fromkeys(Way, 0)
    for number, form in enumerate(every_combination()):
        file = make_form(fast_folder / f"{number}.gguf", form)
        before = sha256(file)
        contradictory = form.raw_decay is not form.raw_norms
        if contradictory:
            with pytest.raises(RepairContradictory):
                repair(file, KNOWS_QWEN)
            assert sha256(file) == before
        result = repair(file, KNOWS_QWEN, force=contradictory)
        if result.way is not None:
            ways[result.way] += 1
        assert diagnose(file, KNOWS_QWEN).verdict is Verdict.RUNS, form
        after = sha256(file)
        assert not repair(file, KNOWS_QWEN).changed
        assert sha256(file) == after
        if number % 5 == 0 or result.way is Way.INSERT:
            repaired.append(file)
        kept = file.with_suffix(".kept") if file in repaired else None
        if kept:
            shutil.copyfile(file, kept)
        if result.changed:
            undo(file)
        assert sha256(file) == before, form
        assert not journal.journal_path(file).exists()
        file.unlink()
    print("ways:", {way.value: count for way, count in ways.items()})
    assert ways[Way.IN_PLACE] > 200
    assert ways[Way.COPY] > 100
    assert_all_equal([file.with_suffix(".kept") for file in repaired], reference, fast_folder)


@pytest.mark.usefixtures("nobody_else")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_combination_in_the_engine(fast_folder: Path) -> None:
    """As above with every single repaired file in the engine, also after two more moves."""
    reference = make_form(fast_folder / "reference.gguf", REFERENCE)
    files = []
    for number, form in enumerate(every_combination()):
        file = make_form(fast_folder / f"{number}.gguf", form)
        repair(file, KNOWS_QWEN, force=True)
        if number % 3 == 0:
            repair(file, KNOWS_BOTH, force=True, target=CLOVER)
            repair(file, KNOWS_BOTH, force=True, target=HYBRID)
        files.append(file)
    for start in range(0, len(files), 150):
        assert_all_equal(files[start : start + 150], reference, fast_folder)


@pytest.mark.usefixtures("nobody_else")
def test_every_kind_of_room(tmp_path: Path) -> None:
    """With and without slack, droppable keys and a vocabulary that should stay where it is."""
    repaired = []
    for number, form in enumerate(room_combinations()):
        file = make_form(tmp_path / f"{number}.gguf", form)
        before = sha256(file)
        result = repair(file, KNOWS_QWEN)
        assert result.way is not Way.COPY or not filesystem.block_bytes(file)
        if form.sections == "right":
            assert result.way is Way.IN_PLACE
            assert not result.given_up  # the shorter names leave enough room
        shutil.copyfile(file, file.with_suffix(".kept"))
        repaired.append((form.vocabulary, file.with_suffix(".kept")))
        for target in (CLOVER, HYBRID, CLOVER):
            repair(file, KNOWS_BOTH, target=target)
            assert diagnose(file, KNOWS_BOTH).architecture == target
            assert diagnose(file, KNOWS_BOTH).verdict is Verdict.RUNS
        undo(file)
        assert sha256(file) == before
    for vocabulary in (None, 6000):
        reference = make_form(tmp_path / "reference.gguf", Form(vocabulary=vocabulary))
        files = [file for size, file in repaired if size == vocabulary]
        assert_all_equal(files if vocabulary is None else files[::4], reference, tmp_path)


def test_both_ways_between_the_targets(tmp_path: Path) -> None:
    """qwen35moe -> clover_moe -> qwen35moe, from either published form, ends in the reference."""
    reference = make_form(tmp_path / "reference.gguf", REFERENCE)
    files = []
    for number, form in enumerate((REFERENCE, DIFFUSPACE, Form(CLOVER), CRAMPED)):
        file = make_form(tmp_path / f"{number}.gguf", form)
        before = sha256(file)
        repair(file, KNOWS_BOTH, target=CLOVER)
        assert diagnose(file, KNOWS_BOTH).architecture == CLOVER
        as_clover = shutil.copyfile(file, tmp_path / f"{number}-clover.gguf")
        repair(as_clover, KNOWS_QWEN)  # without the record, as if it had been published so
        repair(file, KNOWS_QWEN, target=HYBRID)
        files += [file, as_clover]
        kept = shutil.copyfile(file, tmp_path / f"{number}-kept.gguf")
        files.append(kept)
        if state_of(file):
            undo(file)
        assert sha256(file) == before
        shutil.copyfile(kept, file)
        journal.journal_path(file).unlink(missing_ok=True)
    assert_all_equal(files, reference, tmp_path)


def test_a_running_file_is_not_moved_when_the_engine_learns_the_other_name(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    repair(file, KNOWS_QWEN)
    assert not repair(file, KNOWS_BOTH).changed
    assert repair(make_form(tmp_path / "b.gguf", DIFFUSPACE), KNOWS_BOTH).target == CLOVER


def test_the_way_in_place_writes_little(tmp_path: Path) -> None:
    """The vocabulary keeps its place: only the front of the header and the small tensors are written."""
    file = make_form(tmp_path / "a.gguf", Form(*_official(), vocabulary=20000))
    result = repair(file, KNOWS_QWEN)
    record = journal.read(file)
    assert record is not None
    header = [length for offset, length in record.head.ranges if offset < 1 << 19]
    assert result.way is Way.IN_PLACE
    assert sum(header) <= 4096
    assert result.written_bytes < 64 << 10


def test_a_block_at_the_front(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", CRAMPED)
    if not filesystem.block_bytes(file):
        pytest.skip("this file system cannot insert")
    before, size = sha256(file), file.stat().st_size
    result = repair(file, KNOWS_QWEN)
    assert result.way is Way.INSERT
    assert file.stat().st_size == size + 4096
    undo(file)
    assert sha256(file) == before


def test_the_copy_where_nothing_can_be_inserted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "block_bytes", lambda path: 0)
    file = make_form(tmp_path / "a.gguf", CRAMPED)
    before = sha256(file)
    with pytest.raises(RepairImpossible) as caught:
        repair(file, KNOWS_QWEN, allow_copy=False)
    assert caught.value.kind == "no-room"
    seen: list[tuple[int, int]] = []
    result = repair(file, KNOWS_QWEN, progress=lambda done, total: seen.append((done, total)))
    assert result.way is Way.COPY
    assert seen[-1][0] <= seen[-1][1]
    reference = make_form(tmp_path / "reference.gguf", REFERENCE)
    assert_all_equal([file], reference, tmp_path)
    undo(file)
    assert sha256(file) == before
    assert [path.name for path in tmp_path.glob("a.gguf*")] == ["a.gguf"]


def test_surplus_tensors_inside_need_a_copy_and_come_back(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", SURPLUS_INSIDE)
    before = sha256(file)
    assert repair(file, KNOWS_QWEN).way is Way.COPY
    undo(file)
    assert sha256(file) == before


def test_cancelling_a_copy(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", SURPLUS_INSIDE)
    before = sha256(file)
    with pytest.raises(RepairCancelled):
        repair(file, KNOWS_QWEN, cancelled=lambda: True)
    repair(file, KNOWS_QWEN)
    with pytest.raises(RepairCancelled):
        undo(file, cancelled=lambda: True)
    assert is_clean(file)
    assert diagnose(file, KNOWS_QWEN).verdict is Verdict.RUNS
    undo(file)
    assert sha256(file) == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.gguf"]


def test_too_little_space_for_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = make_form(tmp_path / "a.gguf", SURPLUS_INSIDE)
    before = sha256(file)
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(RepairNoSpace) as caught:
        repair(file, KNOWS_QWEN)
    assert caught.value.needed_bytes > file.stat().st_size
    assert sha256(file) == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.gguf"]


@pytest.mark.parametrize("failing", range(8))
def test_a_disk_that_refuses_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    """Whichever write fails, the file is the original again at once."""
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    before = sha256(file)
    count = 0
    real = filesystem.PatchFile.write_at

    def write_at(self: filesystem.PatchFile, offset: int, data: bytes) -> None:
        nonlocal count
        count += 1
        if count == failing + 1:
            raise OSError(28, "No space left on device")
        real(self, offset, data)

    monkeypatch.setattr(filesystem.PatchFile, "write_at", write_at)
    with pytest.raises(RepairWriteFailed) as caught:
        repair(file, KNOWS_QWEN)
    assert caught.value.restored
    assert sha256(file) == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.gguf"]


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(13, "Permission denied")

    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    before = sha256(file)
    monkeypatch.setattr(journal, "write_new", refuse)
    with pytest.raises(RepairWriteFailed):
        repair(file, KNOWS_QWEN)
    assert sha256(file) == before


def test_nothing_fits(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    before = sha256(file)
    with pytest.raises(RepairImpossible) as caught:
        repair(file, KNOWS_NEITHER)
    assert caught.value.kind == "engine-too-old"
    assert sha256(file) == before


def test_undo_without_a_repair(tmp_path: Path) -> None:
    with pytest.raises(RepairUndoMissing):
        undo(make_form(tmp_path / "a.gguf", REFERENCE))


def test_a_file_that_was_brought_again_is_repaired_again(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    original = file.read_bytes()
    repair(file, KNOWS_QWEN)
    after = sha256(file)
    file.write_bytes(original)
    assert repair(file, KNOWS_QWEN).changed
    assert sha256(file) == after


def test_another_file_under_the_same_name(tmp_path: Path) -> None:
    """Its record is of no use, and must not be written over it."""
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    repair(file, KNOWS_QWEN)
    make_form(file, DIFFUSPACE, seed=2)
    before = sha256(file)
    with pytest.raises(RepairDamaged):
        undo(file)
    assert sha256(file) == before
    assert repair(file, KNOWS_QWEN).changed
    undo(file)
    assert sha256(file) == before


def test_a_repaired_copy_of_somebody_elses_file(tmp_path: Path) -> None:
    folder = tmp_path / "models--a--b" / "blobs"
    folder.mkdir(parents=True)
    source = make_form(folder / "abc", DIFFUSPACE)
    link = tmp_path / "Clover.gguf"
    link.symlink_to(source)
    before = sha256(source)
    target = tmp_path / "own" / "Clover.gguf"
    target.parent.mkdir()
    assert repaired_copy(link, target, KNOWS_QWEN).changed
    assert sha256(source) == before
    assert_all_equal([target], make_form(tmp_path / "reference.gguf", REFERENCE), tmp_path)
    undo(target)
    assert sha256(target) == before
    with pytest.raises(RepairWriteFailed):
        repaired_copy(link, target, KNOWS_QWEN)  # never over a file that is there


def test_a_failed_copy_leaves_nothing(tmp_path: Path) -> None:
    source = make_form(tmp_path / "a.gguf", Form(CLOVER, raw_decay=True))
    with pytest.raises(RepairContradictory):
        repaired_copy(source, tmp_path / "b.gguf", KNOWS_QWEN)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gguf"]


def test_a_cut_file_is_named_as_such(tmp_path: Path) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1000])
    with pytest.raises(ModelFileTruncated):
        repair(file, KNOWS_QWEN)
    assert file.read_bytes() == whole[:-1000]


def _official() -> tuple[str, bool, bool, bool]:
    return CLOVER, False, True, True
