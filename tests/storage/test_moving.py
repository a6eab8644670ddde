"""Moving the models: nothing is lost at any kill, nobody else's file is touched, and it says no in time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clover_gui import errors
from clover_gui.download.file_lock import FileLock
from clover_gui.download.receipt import Standing, standing, write_receipt
from clover_gui.download.unfinished import list_unfinished
from clover_gui.explain import explain
from clover_gui.patching.recovery import state_of
from clover_gui.patching.repair import repair, undo
from clover_gui.storage.belongings import MOVING_SUFFIX
from clover_gui.storage.carrying import MoveProgress, carry
from clover_gui.storage.move_state import FILE_NAME, MoveState, Step, pending_move
from clover_gui.storage.moved_files import MovedFiles
from clover_gui.storage.moving import begin, can_finish, finish, take_back
from clover_gui.storage.verified_copy import copy_verified, growing_path
from tests.kit.diffuspace import DIFFUSPACE, make_form
from tests.patching.forms import KNOWS_QWEN, sha256
from tests.storage.model_folder import (
    BY_HAND,
    OURS,
    add_below,
    add_foreign,
    contents,
    make_models,
    receipt_for,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def source(data: Path) -> Path:
    return data / "models"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "other disk" / "models"


def never() -> bool:
    return False


def quiet(_progress: MoveProgress) -> None:
    pass


def begun_as_copy(data: Path, source: Path, target: Path, *, every_model: bool = True) -> MoveState:
    """As onto another disk, whatever disks this machine has."""
    state = begin(data, source, target, every_model=every_model)
    return state.at(Step.COPYING, ()) if state.step is Step.RENAMING else state


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("way", ["copy", "rename"])
def test_a_kill_at_every_event_loses_nothing(way: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.storage.move_driver", way, str(tmp_path), str(tmp_path / "other")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    counts = json.loads(ended.stdout)
    assert counts["events"] > 50
    assert counts["killed again"] > 20
    assert counts["killed while it was taken back"] > 2
    assert counts["switching"]
    assert counts["removing"]


def test_onto_a_real_other_disk(data: Path, source: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == data.parent.stat().st_dev:
        pytest.skip("there is no second disk")
    models = make_models(source)
    target = memory / f"clover-move-{os.getpid()}"
    try:
        state = begin(data, source, target, every_model=True)
        assert state.step is Step.COPYING
        state = carry(state, quiet, never)
        assert finish(state) == ()
        assert contents(target) == models
        assert standing(target / OURS[0]) is Standing.VERIFIED
    finally:
        for path in target.glob("*"):
            path.unlink()
        target.rmdir()
    assert contents(source) == {}


def test_progress_grows_to_its_end(data: Path, source: Path, target: Path) -> None:
    models = make_models(source)
    seen: list[MoveProgress] = []
    carry(begun_as_copy(data, source, target), seen.append, never, 1 << 16)
    done = [progress.done_bytes for progress in seen]
    assert done == sorted(done)
    assert done[-1] == seen[-1].total_bytes == 2 * sum(len(content) for content in models.values())
    assert seen[-1].fraction == 1.0
    assert {progress.name for progress in seen} >= {*OURS, BY_HAND}


def test_in_a_folder_of_others_only_what_is_ours_moves(data: Path, source: Path, target: Path) -> None:
    models = make_models(source)
    foreign = add_foreign(source)
    state = carry(begun_as_copy(data, source, target, every_model=False), quiet, never)
    assert finish(state) == ()
    assert contents(source) == {**foreign, BY_HAND: models[BY_HAND]}
    assert (source / "link.gguf").is_symlink()
    assert BY_HAND not in contents(target)
    assert set(OURS) <= set(contents(target))


def test_every_model_moves_with_its_folder_and_nothing_else_does(
    data: Path, source: Path, target: Path
) -> None:
    make_models(source)
    models = add_below(source)
    (source / "mine" / "not.gguf").write_text("no model")
    state = carry(begun_as_copy(data, source, target), quiet, never)
    assert finish(state) == ()
    assert contents(target, below=True) == models
    assert contents(source, below=True) == {"mine/not.gguf": b"no model"}
    back = carry(begin(data, target, source, every_model=True), quiet, never)
    assert finish(back) == ()
    assert contents(source, below=True) == {**models, "mine/not.gguf": b"no model"}
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("step", [Step.COPYING, Step.RENAMING])
def test_into_a_folder_below_and_back_up(data: Path, source: Path, step: Step) -> None:
    """What arrived is not found once more as something that is still to be moved."""
    make_models(source)
    models = add_below(source)
    inside = source / "here"
    state = begin(data, source, inside, every_model=True)
    state = carry(state.at(step, () if step is Step.COPYING else state.carried), quiet, never)
    assert finish(state) == ()
    assert contents(inside, below=True) == models
    assert list(source.iterdir()) == [inside]
    assert finish(carry(begin(data, inside, source, every_model=True), quiet, never)) == ()
    assert contents(source, below=True) == models


@pytest.mark.parametrize("step", [Step.COPYING, Step.RENAMING])
def test_taken_back_the_folders_go_too(data: Path, source: Path, target: Path, step: Step) -> None:
    make_models(source)
    models = add_below(source)
    state = begin(data, source, target, every_model=True)
    state = state.at(step, () if step is Step.COPYING else state.carried)
    carried = carry(state, quiet, never)
    take_back(carried.at(step, carried.carried))
    assert contents(source, below=True) == models
    assert not target.exists()


def test_cancelled_it_leaves_the_old_place_and_no_copies(data: Path, source: Path, target: Path) -> None:
    models = make_models(source)
    target.mkdir(parents=True)
    (target / "mine.txt").write_text("stays")
    state = begun_as_copy(data, source, target)
    pieces = 0

    def count(_progress: MoveProgress) -> None:
        nonlocal pieces
        pieces += 1

    with pytest.raises(errors.MoveCancelled):
        carry(state, count, lambda: pieces > 12, 1 << 15)
    assert any(path.name.endswith(MOVING_SUFFIX) for path in target.iterdir())
    take_back(state)
    assert contents(source) == models
    assert contents(target) == {"mine.txt": b"stays"}
    assert pending_move(data) is None


def test_a_copy_that_was_there_before_is_used_and_never_removed(
    data: Path, source: Path, target: Path
) -> None:
    models = make_models(source)
    target.mkdir(parents=True)
    (target / BY_HAND).write_bytes(models[BY_HAND])
    # On one disk nothing of that name may be there; on another the same content will do.
    state = MoveState(data / FILE_NAME, source, target, Step.COPYING, True, kept=(BY_HAND,))
    state.save()
    state = carry(state, quiet, never)
    take_back(state.at(Step.COPYING))
    assert contents(target) == {BY_HAND: models[BY_HAND]}
    assert contents(source) == models


@pytest.mark.parametrize("step", [Step.COPYING, Step.RENAMING])
def test_another_file_of_that_name_is_not_touched(data: Path, source: Path, target: Path, step: Step) -> None:
    models = make_models(source)
    state = begun_as_copy(data, source, target).at(step, tuple(models))
    (target / BY_HAND).write_bytes(b"x" * len(models[BY_HAND]))
    with pytest.raises(errors.MoveNameTaken) as caught:
        carry(state, quiet, never)
    assert caught.value.path == target / BY_HAND
    take_back(state)
    assert contents(target) == {BY_HAND: b"x" * len(models[BY_HAND])}
    assert contents(source) == models


def test_it_says_no_before_anything_is_written(data: Path, source: Path, target: Path) -> None:
    models = make_models(source)
    with pytest.raises(errors.MoveTargetUnusable) as same:
        begin(data, source, source.parent / "." / "models", every_model=True)
    assert same.value.detail == "same"
    target.mkdir(parents=True)
    (target / BY_HAND).write_bytes(b"another one")
    with pytest.raises(errors.MoveNameTaken):
        begin(data, source, target, every_model=True)
    (target / BY_HAND).unlink()
    target.rmdir()
    blocked = target.parent / "a file"
    blocked.write_text("")
    with pytest.raises(errors.MoveTargetUnusable):
        begin(data, source, blocked / "models", every_model=True)
    assert contents(source) == models
    assert pending_move(data) is None


def test_too_little_room_is_said_with_both_sizes(data: Path, source: Path, monkeypatch) -> None:
    make_models(source)
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == data.parent.stat().st_dev:
        pytest.skip("there is no second disk")
    target = memory / f"clover-room-{os.getpid()}"
    with pytest.raises(errors.MoveNoSpace) as caught:
        begin(data, source, target, every_model=True, free=lambda _folder: 1 << 20)
    assert caught.value.free_bytes == 1 << 20
    assert caught.value.needed_bytes > 1 << 20
    assert not target.exists()
    assert "MB" in explain(caught.value).sentence


def test_a_running_download_is_not_disturbed(data: Path, source: Path, target: Path) -> None:
    make_models(source)
    lock = FileLock(next(source.glob("*.part")).with_suffix(".lock"))
    assert lock.take()
    with pytest.raises(errors.MoveSourceInUse):
        begin(data, source, target, every_model=True)
    assert not target.exists()
    lock.release()
    assert begin(data, source, target, every_model=True)


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_a_file_that_is_repaired_meanwhile_is_not_copied(tmp_path: Path) -> None:
    from clover_gui.patching.filesystem import PatchFile

    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" * 1000)
    with PatchFile(path), pytest.raises(errors.MoveSourceInUse):
        copy_verified(path, tmp_path / "copy.gguf", lambda _count: None, never)


def test_a_repair_can_be_undone_in_the_new_place(data: Path, source: Path, target: Path) -> None:
    source.mkdir(parents=True)
    path = make_form(source / "clover.gguf", DIFFUSPACE)
    published = sha256(path)
    write_receipt(path, receipt_for(path))
    repair(path, KNOWS_QWEN)
    assert sha256(path) != published
    state = carry(begun_as_copy(data, source, target, every_model=False), quiet, never)
    assert finish(state) == ()
    assert list(source.iterdir()) == []
    moved = target / path.name
    assert state_of(moved) is not None
    undo(moved)
    assert sha256(moved) == published


def test_an_unfinished_download_goes_on_in_the_new_place(data: Path, source: Path, target: Path) -> None:
    make_models(source)
    (before,) = list_unfinished(source)
    state = carry(begun_as_copy(data, source, target), quiet, never)
    finish(state)
    (after,) = list_unfinished(target)
    assert after.source == before.source
    assert after.source is not None
    assert after.present_bytes == before.present_bytes
    assert list_unfinished(source) == ()


def test_a_damaged_beginning_of_a_copy_is_written_again(tmp_path: Path) -> None:
    source, target = tmp_path / "a.gguf", tmp_path / "b.gguf"
    source.write_bytes(os.urandom(1 << 20))
    growing_path(target).write_bytes(source.read_bytes()[: 1 << 18] + b"\0" * (1 << 18))
    copy_verified(source, target, lambda _count: None, never, 1 << 16)
    assert target.read_bytes() == source.read_bytes()
    assert abs(target.stat().st_mtime_ns - source.stat().st_mtime_ns) < 1000
    assert not growing_path(target).exists()


def test_a_full_disk_leaves_the_models_where_they_are(
    data: Path, source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = make_models(source)
    state = begun_as_copy(data, source, target)

    def full(_file: object, _piece: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("clover_gui.storage.verified_copy._write", full)
    with pytest.raises(errors.MoveFailed) as caught:
        carry(state, quiet, never)
    assert "No space left" in str(caught.value)
    assert explain(caught.value).next_step
    take_back(state)
    assert contents(source) == models
    assert contents(target) == {}


def test_a_disk_that_is_away_ends_nothing(data: Path, source: Path, target: Path) -> None:
    models = make_models(source)
    state = carry(begun_as_copy(data, source, target), quiet, never)
    assert can_finish(state)
    away = target.rename(target.with_name("unplugged"))
    assert not can_finish(state)
    assert finish(state) == ()  # removes nothing: there is no copy of anything
    assert contents(source) == models
    assert contents(away) == models


def test_a_file_that_was_changed_after_it_was_copied_stays(data: Path, source: Path, target: Path) -> None:
    make_models(source)
    state = carry(begun_as_copy(data, source, target), quiet, never)
    (source / BY_HAND).write_bytes(b"changed")
    finish(state)
    assert contents(source) == {BY_HAND: b"changed"}


def test_a_loaded_model_can_be_moved(data: Path, source: Path, target: Path) -> None:
    """Who has the old file mapped keeps its bytes until it lets go."""
    import mmap

    if os.name != "posix":
        pytest.skip("elsewhere a mapped file cannot be removed")
    models = make_models(source)
    with (
        (source / BY_HAND).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
    ):
        state = carry(begun_as_copy(data, source, target), quiet, never)
        assert finish(state) == ()
        assert mapped[:] == models[BY_HAND]


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"[]",
        b'{"version": 1}',
        b'{"version": 1, "source": "relative", "target": "/x", "step": "copying"}',
        b'{"version": 1, "source": "/x", "target": "/y", "step": "flying"}',
        b'{"version": 9, "source": "/x", "target": "/y", "step": "copying"}',
    ],
)
def test_a_damaged_note_is_no_move(tmp_path: Path, note: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(note)
    assert pending_move(tmp_path) is None


def test_names_in_a_note_lead_nowhere_else(tmp_path: Path) -> None:
    note = {"version": 1, "source": "/x", "target": "/y", "step": "removing"}
    bad = ["../../etc/passwd", "/etc/passwd", "..", "", "a//b", "a/../../b", 3]
    note["carried"] = [*bad, "good.gguf", "mine/good.gguf"]  # type: ignore[assignment]
    (tmp_path / FILE_NAME).write_text(json.dumps(note))
    state = pending_move(tmp_path)
    assert state is not None
    assert state.carried == ("good.gguf", "mine/good.gguf")


def test_a_source_that_is_away_is_said_before_anything_is_written(
    data: Path, source: Path, target: Path
) -> None:
    """A disk that is not there, and the empty folder that is left where it was."""
    make_models(source)
    source.rename(source.with_name("unplugged"))
    for _round in range(2):
        with pytest.raises(errors.MoveFailed) as caught:
            begin(data, source, target, every_model=True)
        assert caught.value.path == source
        assert explain(caught.value).next_step
        assert pending_move(data) is None
        assert not target.exists()
        source.mkdir(exist_ok=True)


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "one model"])
@pytest.mark.parametrize("step", [Step.COPYING, Step.RENAMING])
def test_a_source_that_vanishes_is_never_done(
    data: Path, source: Path, target: Path, step: Step, left: str
) -> None:
    models = make_models(source)
    state = begin(data, source, target, every_model=True)
    state = state.at(step, () if step is Step.COPYING else state.carried)
    away = source.rename(source.with_name("unplugged"))
    if left != "nothing":
        source.mkdir()
    if left == "one model":
        (source / BY_HAND).write_bytes(models[BY_HAND])
    for _try in range(2):
        with pytest.raises(errors.MoveFailed):
            carry(state, quiet, never)
        noted = pending_move(data)
        assert noted is not None
        assert noted.step is step
    if left == "nothing":
        with pytest.raises(errors.MoveFailed):
            take_back(state)
        assert pending_move(data) is not None
    else:
        (source / BY_HAND).unlink(missing_ok=True)
        source.rmdir()
    away.rename(source)
    assert finish(carry(state, quiet, never)) == ()
    assert contents(target) == models


def test_a_source_that_vanishes_in_the_middle_keeps_the_copies_and_goes_on(
    data: Path, source: Path, target: Path
) -> None:
    models = make_models(source)
    state = begun_as_copy(data, source, target)
    away = source.with_name("unplugged")

    def unplug(progress: MoveProgress) -> None:
        if progress.name == OURS[1] and source.exists():
            source.rename(away)

    with pytest.raises(errors.MoveFailed):
        carry(state, unplug, never, 1 << 16)
    arrived = contents(target)
    assert OURS[0] in arrived
    for wish in (lambda: carry(state, quiet, never), lambda: take_back(state)):
        with pytest.raises(errors.MoveFailed):
            wish()
        assert contents(target) == arrived
    away.rename(source)
    assert finish(carry(state, quiet, never)) == ()
    assert contents(target) == models


def test_taken_back_after_a_failure_no_copy_is_left(data: Path, source: Path, target: Path) -> None:
    """Whoever holds the state from before knows less than the note."""
    models = make_models(source)
    state = begun_as_copy(data, source, target)
    seen: list[str] = []

    def cancelled() -> bool:
        return OURS[1] in seen

    with pytest.raises(errors.MoveCancelled):
        carry(state, lambda progress: seen.append(progress.name), cancelled, 1 << 16)
    assert OURS[0] in contents(target)
    take_back(state)
    assert contents(source) == models
    assert not target.exists()


def test_a_copy_that_the_person_makes_meanwhile_is_not_taken_back(
    data: Path, source: Path, target: Path
) -> None:
    models = make_models(source)
    state = begun_as_copy(data, source, target)
    shutil.copy2(source / BY_HAND, target / BY_HAND)
    take_back(state)
    assert contents(source) == models
    assert contents(target) == {BY_HAND: models[BY_HAND]}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is text")
@pytest.mark.parametrize("step", [Step.COPYING, Step.RENAMING])
def test_names_that_are_no_text(data: Path, source: Path, tmp_path: Path, step: Step) -> None:
    make_models(source)
    odd = os.fsdecode(b"caf\xe9")
    (source / BY_HAND).rename(source / f"{odd}.gguf")
    models = contents(source)
    target = tmp_path / odd
    state = begin(data, source, target, every_model=True)
    state = state.at(step, () if step is Step.COPYING else state.carried)
    assert pending_move(data) == state
    state = carry(state, quiet, never)
    assert finish(state) == ()
    assert contents(target) == models
    assert MovedFiles(data).knows(target / f"{odd}.gguf")
