"""Going on after a kill, a crash, a damaged disk, a second process, and with what lies there already."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from clover_gui import errors
from clover_gui.download.part_file import PartFile
from clover_gui.download.progress import Note, Phase
from clover_gui.download.receipt import Standing, is_verified, standing
from clover_gui.download.unfinished import list_unfinished, remove_unfinished
from tests.download.conftest import CHUNK, NAME, SIZE, Fetcher, model_bytes
from tests.kit.fake_hub import FakeHub

BIG = 48 << 20


def stopped_at(fetcher: Fetcher, position: int) -> Path:
    """Leave a part of this size behind, as a stop does."""
    fetcher.hub.order("close", after=position)
    fetcher.on_status = lambda status: fetcher.control.stop() if status.phase is Phase.RETRYING else None
    with pytest.raises(errors.DownloadStopped) as caught:
        fetcher.fetch()
    assert caught.value.kept_bytes == position
    fetcher.on_status = lambda status: None
    fetcher.control = type(fetcher.control)()
    fetcher.statuses.clear()
    fetcher.hub.log.clear()
    return next(fetcher.folder.glob("*.part"))


@pytest.mark.slow
def test_killed_five_times(tmp_path: Path) -> None:
    """A real process, really killed, at random places: it goes on at the byte."""
    served = tmp_path / "served"
    served.mkdir()
    content = model_bytes(BIG)
    (served / NAME).write_bytes(content)
    folder = tmp_path / "models"
    chance = Random(7)
    with FakeHub(served) as hub:
        hub.rate = 24 << 20
        for kill in range(5):
            child = _child(hub, folder)
            assert child.stdout is not None
            wanted = BIG * (kill + chance.random()) / 6
            for line in child.stdout:
                phase, _space, done = line.strip().partition(" ")
                if phase == "downloading" and int(done) >= wanted:
                    break
            child.kill()
            child.wait()
            child.stdout.close()
            assert standing(folder / NAME) is Standing.MISSING
            assert [found.name for found in list_unfinished(folder)] == [NAME]
        hub.rate = 0
        child = _child(hub, folder)
        output, _nothing = child.communicate(timeout=60)
        assert child.returncode == 0
        path = Path(output.splitlines()[-1])
        assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(content).digest()
        assert is_verified(path)
        starts = [asked.first for asked in hub.file_requests()]
        assert len(starts) == 6
        assert starts == sorted(starts)
        assert all(starts[1:])
        twice = hub.sent_bytes() - BIG
        print(f"fetched twice after five kills: {twice / BIG:.2%} of {BIG >> 20} MB")
        assert 0 <= twice < 0.05 * BIG


def _child(hub: FakeHub, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.download.fetch_child", hub.endpoint, str(folder), NAME],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_new_start_goes_on_at_the_byte(fetcher: Fetcher) -> None:
    stopped_at(fetcher, 5 * CHUNK + 77)
    downloaded = fetcher.fetch()
    assert downloaded.path.read_bytes() == model_bytes()
    assert [asked.first for asked in fetcher.hub.file_requests()] == [5 * CHUNK + 77]
    assert fetcher.notes == {Note.RESUMED}
    assert Phase.READING_BACK in fetcher.phases


def test_a_part_is_no_model(fetcher: Fetcher) -> None:
    part = stopped_at(fetcher, 5 * CHUNK)
    assert part.suffix != ".gguf"
    assert len(part.name) < 20
    assert not is_verified(part)
    [unfinished] = list_unfinished(fetcher.folder)
    assert unfinished.name == NAME
    assert unfinished.present_bytes == 5 * CHUNK
    assert unfinished.source == fetcher.find()
    offer = fetcher.manager.offer(fetcher.find())
    assert offer.present_bytes == 5 * CHUNK
    remove_unfinished(unfinished)
    assert not list(fetcher.folder.iterdir())


def test_a_part_that_was_damaged_is_cut_off_there(fetcher: Fetcher) -> None:
    """As a power cut leaves it: zeros in place of what was not yet on the disk."""
    part = stopped_at(fetcher, 9 * CHUNK + 5)
    with part.open("r+b") as file:
        file.seek(6 * CHUNK + 100)
        file.write(b"\0" * 1000)
    assert fetcher.fetch().path.read_bytes() == model_bytes()
    assert Note.PART_DAMAGED in fetcher.notes
    assert [asked.first for asked in fetcher.hub.file_requests()] == [6 * CHUNK]


def test_damage_behind_the_last_checksum_is_found_at_the_end(fetcher: Fetcher) -> None:
    part = stopped_at(fetcher, 9 * CHUNK + 500)
    with part.open("r+b") as file:
        file.seek(9 * CHUNK + 100)
        file.write(b"\0" * 100)
    assert fetcher.fetch().path.read_bytes() == model_bytes()
    assert [asked.first for asked in fetcher.hub.file_requests()] == [9 * CHUNK + 500, 9 * CHUNK]


@pytest.mark.parametrize("state", ["gone", "empty", "garbage", "other"])
def test_a_part_without_its_note_is_not_trusted(fetcher: Fetcher, state: str) -> None:
    part = stopped_at(fetcher, 5 * CHUNK)
    note = part.with_name(part.name + ".json")
    assert note.exists()
    if state == "gone":
        note.unlink()
    elif state == "other":
        value = json.loads(note.read_text())
        value["source"]["sha256"] = "0" * 64
        note.write_text(json.dumps(value))
    else:
        note.write_text("" if state == "empty" else "[1, {")
    assert fetcher.fetch().path.read_bytes() == model_bytes()
    assert [asked.first for asked in fetcher.hub.file_requests()] == [0]


def test_a_part_that_is_too_long(fetcher: Fetcher) -> None:
    part = stopped_at(fetcher, 20 * CHUNK)
    with part.open("ab") as file:
        file.write(b"x" * (2 * CHUNK))
    assert fetcher.fetch().path.read_bytes() == model_bytes()


def test_another_file_at_the_hub_replaces_the_part(fetcher: Fetcher) -> None:
    old = stopped_at(fetcher, 5 * CHUNK)
    (fetcher.hub.folder / NAME).write_bytes(model_bytes(seed=2))
    assert fetcher.fetch().path.read_bytes() == model_bytes(seed=2)
    assert Note.CHANGED_ON_HUB in fetcher.notes
    assert not old.exists()


def test_two_at_once_are_refused(fetcher: Fetcher) -> None:
    source = fetcher.find()
    fetcher.folder.mkdir()
    part = PartFile(fetcher.folder, source, CHUNK, CHUNK)
    part.open()
    try:
        with pytest.raises(errors.DownloadInUse):
            fetcher.fetch(source)
    finally:
        part.close()
    fetcher.fetch(source)


def test_half_a_file_with_the_right_name_is_gone_on_with(fetcher: Fetcher) -> None:
    """Left there by another program: no model, but the beginning of one."""
    fetcher.folder.mkdir()
    half = fetcher.folder / NAME
    half.write_bytes(model_bytes()[: 8 * CHUNK])
    assert not is_verified(half)
    assert standing(half) is Standing.NO_RECEIPT
    downloaded = fetcher.fetch()
    assert downloaded.path == half
    assert half.read_bytes() == model_bytes()
    assert fetcher.hub.file_requests()[-1].first == 8 * CHUNK


def test_another_file_of_the_same_name_stays(fetcher: Fetcher) -> None:
    fetcher.folder.mkdir()
    other = fetcher.folder / NAME
    for content in (model_bytes(8 * CHUNK, seed=9), model_bytes(SIZE, seed=9), model_bytes(SIZE + 1, seed=9)):
        other.write_bytes(content)
        downloaded = fetcher.fetch()
        assert other.read_bytes() == content
        assert downloaded.path.name == f"tiny-Q4_K_M-{fetcher.find().sha256[:8]}.gguf"
        assert downloaded.path.read_bytes() == model_bytes()


def test_a_whole_copy_is_checked_and_kept(fetcher: Fetcher) -> None:
    fetcher.folder.mkdir()
    (fetcher.folder / NAME).write_bytes(model_bytes())
    downloaded = fetcher.fetch()
    assert is_verified(downloaded.path)
    assert not fetcher.hub.file_requests()
    assert fetcher.notes == {Note.ALREADY_THERE}


def test_a_verified_file_that_was_changed_is_checked_again(fetcher: Fetcher) -> None:
    path = fetcher.fetch().path
    with path.open("r+b") as file:
        file.truncate(SIZE - 1000)
    assert standing(path) is Standing.CHANGED
    assert fetcher.fetch().path.read_bytes() == model_bytes()


def test_a_repaired_file_is_still_the_file(fetcher: Fetcher) -> None:
    """Whoever repairs writes the receipt anew: the file's own facts, and what was changed."""
    from clover_gui.download.receipt import write_receipt

    downloaded = fetcher.fetch()
    with downloaded.path.open("r+b") as file:
        file.seek(100)
        file.write(b"repaired")
    receipt = replace(downloaded.receipt, repair={"target": "qwen35moe"}).with_stamp(downloaded.path)
    write_receipt(downloaded.path, receipt)
    again = fetcher.fetch()
    assert again.receipt.repair == {"target": "qwen35moe"}
    assert len(fetcher.hub.file_requests()) == 1
