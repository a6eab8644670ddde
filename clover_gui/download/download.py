"""One download for a window under asyncio: start, pause, go on, stop. Free of Qt."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from clover_gui.download.control import Control
from clover_gui.download.hub_file import HubFile
from clover_gui.download.manager import Downloaded, DownloadManager
from clover_gui.download.progress import Phase, Status


class Download:
    """Runs the manager in a thread; ``on_status`` is called in the event loop.

    ``await run()`` once. Cancelling the task that awaits it stops the download as ``stop`` does: the part
    is kept and the next download of the same file goes on from there.
    """

    def __init__(
        self,
        manager: DownloadManager,
        source: HubFile,
        on_status: Callable[[Status], None] = lambda status: None,
    ) -> None:
        self._manager = manager
        self._source = source
        self._on_status = on_status
        self._control = Control()
        self._status = Status(Phase.WAITING, 0, source.size_bytes)

    @property
    def source(self) -> HubFile:
        return self._source

    @property
    def status(self) -> Status:
        """The last one that was told."""
        return self._status

    def pause(self) -> None:
        """Close the connection and wait; heeded at once, also while the server is silent."""
        self._control.pause()

    def resume(self) -> None:
        """Go on after ``pause``, or try now in place of waiting for the next try."""
        self._control.resume()

    def stop(self) -> None:
        """End ``run`` with DownloadStopped; the part is kept."""
        self._control.stop()

    async def run(self) -> Downloaded:
        """Bring the file.

        Raises:
            DownloadError: why it could not be, DownloadStopped when ``stop`` was called.
        """
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Downloaded] = loop.create_future()

        def in_loop(action: Callable[[], None]) -> None:
            try:
                loop.call_soon_threadsafe(action)
            except RuntimeError:
                pass  # the loop has ended: nobody listens any more

        def work() -> None:
            try:
                downloaded = self._manager.fetch(
                    self._source, self._control, lambda status: in_loop(lambda: self._tell(status))
                )
            except BaseException as error:  # handed to whoever awaits
                failure = error
                in_loop(lambda: None if result.done() else result.set_exception(failure))
            else:
                in_loop(lambda: None if result.done() else result.set_result(downloaded))

        # A daemon, and not from the loop's pool: the end of the program never waits for a server.
        thread = threading.Thread(target=work, name="download", daemon=True)
        thread.start()
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            self._control.stop()
            # Looked at in any case, so that nothing warns of it: it is DownloadStopped.
            result.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            with contextlib.suppress(asyncio.CancelledError):  # a second wish to stop changes nothing
                await asyncio.wait([result])
            raise
        finally:
            if result.done():
                thread.join()  # it has given its result: nothing is left for it to do

    def _tell(self, status: Status) -> None:
        self._status = status
        self._on_status(status)
