"""Too little room, no rights: said in time, and gone on with when it is cured."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from clover_gui import errors
from clover_gui.download.part_file import PartFile
from clover_gui.download.progress import Phase, Status
from tests.download.conftest import CHUNK, SIZE, Fetcher, model_bytes


def test_it_never_starts_without_room(fetcher: Fetcher) -> None:
    source = fetcher.find()
    fetcher.free = lambda folder: SIZE - 1000
    assert fetcher.manager.offer(source).missing_bytes == 1000 + SIZE // 50
    with pytest.raises(errors.NotEnoughSpace) as caught:
        fetcher.fetch(source)
    assert caught.value.missing_bytes == 1000 + SIZE // 50
    assert not fetcher.hub.file_requests()


def test_what_is_here_already_needs_no_room(fetcher: Fetcher) -> None:
    fetcher.hub.order("close", after=15 * CHUNK)
    fetcher.on_status = lambda status: fetcher.control.stop() if status.phase is Phase.RETRYING else None
    with pytest.raises(errors.DownloadStopped):
        fetcher.fetch()
    fetcher.control = type(fetcher.control)()
    fetcher.free = lambda folder: SIZE - 15 * CHUNK + SIZE // 50
    assert fetcher.fetch().path.read_bytes() == model_bytes()


@pytest.mark.parametrize("number", [errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)])
def test_a_full_disk_pauses_until_there_is_room(
    fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The write fails in the middle of a piece; after room is made it goes on by itself."""
    room = [7 * CHUNK + 100]
    seen: list[Status] = []
    append = PartFile.append

    def limited(part: PartFile, data: bytes) -> None:
        fits = max(0, room[0] - part.position)
        append(part, data[:fits])
        if len(data) > fits:
            raise OSError(number, "No space left on device")

    def free(folder: Path) -> int:
        began = Phase.DOWNLOADING in fetcher.phases
        return room[0] - 7 * CHUNK if began and room[0] < SIZE else 10 * SIZE

    def make_room(status: Status) -> None:
        if status.phase is Phase.NO_SPACE:
            seen.append(status)
            if len(seen) == 3:
                room[0] = SIZE

    fetcher.free = free
    fetcher.on_status = make_room
    monkeypatch.setattr(PartFile, "append", limited)
    downloaded = fetcher.fetch()
    assert downloaded.path.read_bytes() == model_bytes()
    assert len(seen) == 3
    assert all(status.done_bytes == 7 * CHUNK + 100 for status in seen)
    assert all(status.missing_bytes == SIZE - 7 * CHUNK - 200 + SIZE // 50 for status in seen)
    assert fetcher.hub.file_requests()[-1].first == 7 * CHUNK + 100


def test_it_stops_before_the_disk_is_full(fetcher: Fetcher) -> None:
    """Another program takes the room meanwhile."""
    fetcher.patient(space_margin_bytes=4 * CHUNK)
    free = [10 * SIZE]

    def watch(status: Status) -> None:
        if status.phase is Phase.DOWNLOADING and 5 * CHUNK < status.done_bytes < 12 * CHUNK:
            free[0] = CHUNK // 2
        if status.phase is Phase.NO_SPACE:
            free[0] = 10 * SIZE

    fetcher.free = lambda folder: free[0]
    fetcher.on_status = watch
    assert fetcher.fetch().path.read_bytes() == model_bytes()
    assert Phase.NO_SPACE in fetcher.phases


def test_stopping_while_the_disk_is_full(fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(part: PartFile, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(PartFile, "append", full)
    fetcher.on_status = lambda status: fetcher.control.stop() if status.phase is Phase.NO_SPACE else None
    with pytest.raises(errors.DownloadStopped):
        fetcher.fetch()


def test_a_failing_disk_is_no_full_one(fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(part: PartFile, data: bytes) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(PartFile, "append", broken)
    with pytest.raises(errors.DestinationNotWritable) as caught:
        fetcher.fetch()
    assert caught.value.reason == "Input/output error"


def test_a_folder_that_cannot_be_made(fetcher: Fetcher, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    fetcher.folder = tmp_path / "file" / "models"
    with pytest.raises(errors.DestinationNotWritable):
        fetcher.fetch()
    assert not fetcher.hub.file_requests()
