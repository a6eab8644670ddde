"""Installs an engine: find, download, unpack beside, try in a child, rename into place.

For an asyncio loop; what blocks runs in a thread of its own. Cancelling the task stops it at once, and leaves
what was there before (and the downloaded part, to go on from).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from clover_gui.download.control import Control, Wish
from clover_gui.download.manager import free_bytes
from clover_gui.download.policy import TransferPolicy
from clover_gui.download.progress import Status
from clover_gui.download.receipt import now_utc, sha256_of
from clover_gui.engine.libraries import ENGINE_VERSION
from clover_gui.engine.library_file import library_kind
from clover_gui.errors import DestinationNotWritable, FlavourRefused, FlavourStopped, NotEnoughSpace
from clover_gui.flavours.flavour import Flavour, backend_of, write_manifest
from clover_gui.flavours.platform_tags import Platform, misfit
from clover_gui.flavours.published import PublishedWheel, find_wheel, index_settings, size_of
from clover_gui.flavours.runtime import runtime_places
from clover_gui.flavours.store import FlavourStore
from clover_gui.flavours.trial import try_out
from clover_gui.flavours.wheel_download import WheelDownload
from clover_gui.flavours.wheel_file import EngineWheel
from clover_gui.i18n import capped

_SPACE_MARGIN_BYTES = 64 << 20
_DISK_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_T = TypeVar("_T")


class Step(StrEnum):
    """Where an installation is."""

    LOOKING = "looking"
    DOWNLOADING = "downloading"
    UNPACKING = "unpacking"
    TRYING = "trying"


@dataclass(frozen=True, slots=True)
class Progress:
    """``done_bytes`` of ``total_bytes`` of the step, 0 where they are not known; ``status`` of a download."""

    step: Step
    done_bytes: int = 0
    total_bytes: int = 0
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A wheel that could be installed; ``size_bytes`` 0 where the server does not tell it."""

    wheel: PublishedWheel
    size_bytes: int


class Installer:
    """Installs into ``store`` for ``here``; ``features`` are the processor's, empty where not known."""

    def __init__(
        self,
        store: FlavourStore,
        here: Platform,
        features: frozenset[str],
        on_progress: Callable[[Progress], None],
        *,
        policy: TransferPolicy | None = None,
        free: Callable[[Path], int] = free_bytes,
        places: Callable[[], Sequence[Path]] = runtime_places,
    ) -> None:
        self._store = store
        self._here = here
        # Only Linux tells all of them; elsewhere the trial itself has to show it.
        self._features = features if here.system == "linux" else frozenset[str]()
        self._on_progress = on_progress
        self._policy = policy
        self._free = free
        self._runtime_places = places

    async def look_up(self, set_name: str, address: str, proxy: str = "") -> Found:
        """The published wheel of a set for this machine, with its size. Nothing is downloaded.

        Raises:
            FlavourNotPublished, DownloadError: why there is none.
        """

        def ask(_control: Control) -> Found:
            wheel = find_wheel(set_name, ENGINE_VERSION, self._here, address=address, proxy=proxy)
            return Found(wheel, size_of(wheel, proxy=proxy))

        self._on_progress(Progress(Step.LOOKING))
        return await _in_thread(ask)

    async def from_index(self, wheel: PublishedWheel, proxy: str = "") -> Flavour:
        """Install a published wheel.

        Raises:
            FlavourError, DownloadError: why not; nothing was changed.
        """
        loop = asyncio.get_running_loop()
        key = f"{wheel.set_name}-{ENGINE_VERSION}"
        downloads: list[WheelDownload] = []

        def tell(status: Status) -> None:
            progress = Progress(Step.DOWNLOADING, status.done_bytes, status.total_bytes, status)
            _post(loop, lambda: self._on_progress(progress))

        def bring(control: Control) -> Path:
            settings = index_settings(wheel.url, proxy)
            download = WheelDownload(
                wheel, self._store.folder, settings, control, tell, self._policy, self._free
            )
            downloads.append(download)
            return download.run()

        with self._changing():
            path = await _in_thread(bring)
            try:
                flavour = await self._install(path, wheel.set_name, wheel.host, key)
            except FlavourRefused:
                downloads[0].forget()  # the same bytes would be refused again
                raise
            downloads[0].forget()
            return flavour

    async def from_file(self, path: Path) -> Flavour:
        """Install from a wheel on this machine.

        Raises:
            FlavourError, NotEnoughSpace, DestinationNotWritable: why not; nothing was changed.
        """
        with self._changing():
            return await self._install(path, "", capped(path.name, 120), "")

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            with self._store.changing():
                yield
        except OSError as error:
            folder = self._store.folder
            if error.errno in _DISK_FULL:
                free = self._free(folder)
                raise NotEnoughSpace(folder, free + _SPACE_MARGIN_BYTES, free) from error
            raise DestinationNotWritable(folder, error.strerror or str(error)) from error

    async def _install(self, wheel: Path, name: str, origin: str, key: str) -> Flavour:
        loop = asyncio.get_running_loop()
        with self._store.making() as place:
            self._on_progress(Progress(Step.UNPACKING))

            def unpack(control: Control) -> tuple[tuple[tuple[str, int], ...], str]:
                def progress(done: int, total: int) -> None:
                    if control.wish is Wish.STOP:
                        raise FlavourStopped("stopped")
                    _post(loop, lambda: self._on_progress(Progress(Step.UNPACKING, done, total)))

                return self._unpack(wheel, place, progress), sha256_of(wheel)

            files, sha256 = await _in_thread(unpack)
            backend = backend_of([file for file, _size in files])
            self._on_progress(Progress(Step.TRYING))
            places = await asyncio.to_thread(self._runtime_places)
            trial = await try_out(place, backend, self._features, places)
            flavour = Flavour(
                key or f"{backend}-{sha256[:8]}-{ENGINE_VERSION}",
                name or backend,
                backend,
                ENGINE_VERSION,
                origin,
                sha256,
                now_utc(),
                trial.devices,
                files,
                trial.search,
            )
            await _in_thread(lambda _control: self._put(place, flavour))
            return flavour

    def _unpack(
        self, path: Path, place: Path, progress: Callable[[int, int], None]
    ) -> tuple[tuple[str, int], ...]:
        """Check what the wheel says of itself, then take its libraries out and look at each."""
        try:
            wheel = EngineWheel(path)
        except OSError as error:
            raise FlavourRefused("not-a-wheel", capped(path.name), detail=error.strerror or "") from error
        with wheel:
            facts = wheel.facts
            if facts.version.partition("+")[0] != ENGINE_VERSION:
                raise FlavourRefused("other-version", capped(facts.version, 20), ENGINE_VERSION)
            if (fault := misfit(list(facts.platforms), self._here)) is not None:
                raise FlavourRefused(fault.kind, capped(fault.what, 40), fault.needed)
            needed = facts.unpacked_bytes + _SPACE_MARGIN_BYTES
            if (free := self._free(place)) < needed:
                raise NotEnoughSpace(self._store.folder, needed, free)
            files = wheel.unpack(place, progress)
        self._check_libraries(place, [name for name, _size in files])
        return files

    def _check_libraries(self, place: Path, names: list[str]) -> None:
        """Every library must be one, for this system and processor: the wheel's tags may lie."""
        for name in names:
            if not (name.lower().endswith((".dll", ".dylib")) or ".so" in name):
                continue
            kind = library_kind(place / name)
            if kind is None:
                raise FlavourRefused("damaged", name)
            if kind.system != self._here.system:
                raise FlavourRefused("other-system", name)
            if self._here.machine not in kind.machines:
                raise FlavourRefused("other-processor", ", ".join(sorted(kind.machines)), self._here.machine)

    def _put(self, place: Path, flavour: Flavour) -> None:
        write_manifest(place, flavour)
        if os.name == "posix":
            handle = os.open(place, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        self._store.put(place, flavour.key)


async def _in_thread(work: Callable[[Control], _T]) -> _T:
    """Run it; a cancel stops it by its control and waits for its end. Not in the loop's pool, so that the
    program's end never waits for a server."""
    loop = asyncio.get_running_loop()
    control = Control()
    result: asyncio.Future[_T] = loop.create_future()

    def run() -> None:
        try:
            value = work(control)
        except BaseException as error:  # handed to whoever awaits
            failure = error
            _post(loop, lambda: None if result.done() else result.set_exception(failure))
        else:
            _post(loop, lambda: None if result.done() else result.set_result(value))

    thread = threading.Thread(target=run, name="engine-install", daemon=True)
    thread.start()
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        control.stop()
        result.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([result])
        raise
    finally:
        if result.done():
            thread.join()


def _post(loop: asyncio.AbstractEventLoop, action: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(action)
    except RuntimeError:
        pass  # the loop has ended: nobody listens any more
