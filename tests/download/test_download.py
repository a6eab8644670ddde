"""The face for a window: pause, go on, stop and cancel, at once also while a server is silent."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clover_gui import errors
from clover_gui.download.download import Download
from clover_gui.download.hub_settings import HubSettings
from clover_gui.download.manager import DownloadManager
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.progress import Phase, Status
from tests.download.conftest import CHUNK, NAME, QUICK, SIZE, Fetcher, model_bytes

# As in real life: nothing here may depend on a time-out.
PATIENT = TransferPolicy(chunk_bytes=CHUNK, space_margin_bytes=0, report_interval_s=0)


@dataclass
class Watched:
    """Statuses as they come, and waiting for one of them."""

    seen: list[Status] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, status: Status) -> None:
        self.seen.append(status)
        self._changed.set()

    async def until(self, good: Callable[[Status], bool]) -> None:
        while not any(good(status) for status in self.seen):
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 20)


def run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner() as runner:
        runner.run(work)


def started(fetcher: Fetcher, policy: TransferPolicy = PATIENT) -> tuple[Download, Watched]:
    watched = Watched()
    manager = DownloadManager(fetcher.folder, HubSettings(fetcher.hub.endpoint), policy)
    return Download(manager, fetcher.find(), watched), watched


def test_a_whole_file(fetcher: Fetcher) -> None:
    async def work() -> None:
        download, watched = started(fetcher)
        downloaded = await download.run()
        assert downloaded.path.read_bytes() == model_bytes()
        await watched.until(lambda status: status.phase is Phase.DONE)
        assert download.status.phase is Phase.DONE

    run(work())


def test_an_error_reaches_who_waits(fetcher: Fetcher) -> None:
    async def work() -> None:
        download, _watched = started(fetcher)
        fetcher.hub.order("page")
        with pytest.raises(errors.WebPageReceived):
            await download.run()

    run(work())


def test_pause_and_go_on_while_the_server_is_silent(fetcher: Fetcher) -> None:
    async def work() -> None:
        download, watched = started(fetcher)
        fetcher.hub.order("stall", after=6 * CHUNK)
        task = asyncio.create_task(download.run())
        await watched.until(lambda status: status.done_bytes == 6 * CHUNK)
        before = time.perf_counter()
        download.pause()
        await watched.until(lambda status: status.phase is Phase.PAUSED)
        print(f"paused after {(time.perf_counter() - before) * 1000:.1f} ms of a stall")
        assert not task.done()
        download.resume()
        downloaded = await task
        assert downloaded.path.read_bytes() == model_bytes()
        # In the same run nothing is read back: the running hash was kept.
        assert Phase.READING_BACK not in {status.phase for status in watched.seen}
        assert fetcher.hub.file_requests()[-1].first == 6 * CHUNK

    run(work())


@pytest.mark.parametrize("way", ["stop", "cancel"])
def test_ending_while_the_server_is_silent(fetcher: Fetcher, way: str) -> None:
    async def work() -> None:
        download, watched = started(fetcher)
        fetcher.hub.order("stall", after=6 * CHUNK)
        task = asyncio.create_task(download.run())
        await watched.until(lambda status: status.done_bytes == 6 * CHUNK)
        before = time.perf_counter()
        if way == "stop":
            download.stop()
            with pytest.raises(errors.DownloadStopped) as caught:
                await task
            assert caught.value.kept_bytes == 6 * CHUNK
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        print(f"idle {(time.perf_counter() - before) * 1000:.1f} ms after {way} during a stall")
        assert next(fetcher.folder.glob("*.part")).stat().st_size == 6 * CHUNK
        assert not [thread for thread in threading.enumerate() if thread.name == "download"]

    run(work())


def test_stopping_before_the_server_says_anything(fetcher: Fetcher, tmp_path: Path) -> None:
    """Connected, asked, and never answered."""
    source = fetcher.find()

    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
            moved = type(source)(endpoint, source.repository, source.revision, NAME, SIZE, source.sha256)
            download = Download(DownloadManager(tmp_path, HubSettings(endpoint), PATIENT), moved)
            task = asyncio.create_task(download.run())
            connection, _address = await asyncio.to_thread(silent.accept)
            await asyncio.to_thread(connection.recv, 10)
            before = time.perf_counter()
            download.stop()
            with pytest.raises(errors.DownloadStopped):
                await task
            print(f"idle {(time.perf_counter() - before) * 1000:.1f} ms after stop before an answer")
            connection.close()

    run(work())


def test_going_on_ends_the_wait_for_the_next_try(fetcher: Fetcher) -> None:
    async def work() -> None:
        download, watched = started(fetcher, TransferPolicy(backoff_start_s=60, space_margin_bytes=0))
        fetcher.hub.order("status", value=503)
        task = asyncio.create_task(download.run())
        await watched.until(lambda status: status.phase is Phase.RETRYING)
        download.resume()
        await task

    run(work())


def test_the_end_of_the_loop_is_not_held_up(fetcher: Fetcher) -> None:
    """The program ends while a server is silent: the runner's end cancels, and comes back."""
    download, watched = started(fetcher, QUICK)
    fetcher.hub.order("stall", after=6 * CHUNK)

    async def work() -> None:
        task = asyncio.create_task(download.run())
        await watched.until(lambda status: status.done_bytes == 6 * CHUNK)
        assert not task.done()

    run(work())
    assert download.status.done_bytes == 6 * CHUNK
