"""What stands behind the page "Engine": looks, installs, chooses, removes. Lives as long as the window, so
that a download goes on while the settings are closed. Knows no widgets.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from clover_gui.engine.libraries import ENGINE_VERSION
from clover_gui.engine.protocol import EngineInfo
from clover_gui.errors import CloverError, DestinationNotWritable
from clover_gui.explain.flavour_words import (
    backend_title,
    failure_text,
    flavour_devices,
    flavour_facts,
    flavour_title,
    install_failure_text,
    obstacle_text,
    progress_text,
)
from clover_gui.flavours.flavour import BUILT_IN, Flavour
from clover_gui.flavours.install import Found, Installer, Progress, Step
from clover_gui.flavours.platform_tags import this_platform
from clover_gui.flavours.published import index_address
from clover_gui.flavours.selection import FlavourFailure, FlavourSelection
from clover_gui.flavours.store import FlavourStore
from clover_gui.flavours.suitable import Why, obstacles, suggestions
from clover_gui.hardware.backends import Backends, probe_backends
from clover_gui.hardware.machine import Machine
from clover_gui.hardware.probe import probe_machine
from clover_gui.i18n import _, capped, file_size
from clover_gui.settings import Settings
from clover_gui.ui.settings.engine_view import EngineRow, EngineView, SuggestionRow
from clover_gui.ui.settings.engine_words import installed_text, nothing, own_facts, reason_text, stopped_text
from clover_gui.ui.tasks import TaskSet


class EnginePresenter(QObject):
    """``changed`` carries an EngineView; ``progressed`` a text and a fraction (None: no end known);
    ``page_requested`` asks for the page; ``fell_back`` carries a sentence for the person."""

    changed = Signal(object)
    progressed = Signal(str, object)
    page_requested = Signal()
    fell_back = Signal(str)

    def __init__(
        self,
        store: FlavourStore,
        selection: FlavourSelection,
        tasks: TaskSet,
        settings: Callable[[], Settings],
        change_settings: Callable[[Settings], None],
        *,
        describe: Callable[[], Awaitable[EngineInfo]],
        restart: Callable[[bool], None],
        is_loaded: Callable[[], bool],
    ) -> None:
        """``restart`` starts the engine anew with the chosen libraries; with True it loads the model again.
        ``describe`` asks the engine in use."""
        super().__init__()
        self._store = store
        self._selection = selection
        self._tasks = tasks
        self._settings = settings
        self._change_settings = change_settings
        self._describe = describe
        self._restart = restart
        self._is_loaded = is_loaded
        self._machine: tuple[Machine, Backends] | None = None
        self._info: EngineInfo | None = None
        self._found: Found | None = None
        self._message: Callable[[], str] = nothing
        self._failed = False
        self._work: asyncio.Task[None] | None = None
        self._view = EngineView()
        selection.fell_back.append(self._tell_fall_back)
        selection.taken.append(self._taken)

    @property
    def view(self) -> EngineView:
        """What is to be shown now."""
        return self._view

    # ------------------------------------------------------------ what the person can do

    def look(self) -> None:
        """Look at the machine, the installed engines and the one in use."""
        self._show()
        self._tasks.start(self._look(), "engines")

    def ask(self, set_name: str) -> None:
        """Ask how large a published engine is; ``download`` then brings it."""
        self._begin(lambda: self._ask(set_name))

    def download(self) -> None:
        """Install what was asked for."""
        if (found := self._found) is not None:
            self._begin(lambda: self._install(self._installer().from_index(found.wheel, self._proxy)))

    def install_file(self, path: Path) -> None:
        """Install from a wheel on this machine."""
        self._begin(lambda: self._install(self._installer().from_file(path)))

    def cancel(self) -> None:
        """Stop what is going on, or take a question back."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
        self._found = None
        self._show()

    def use(self, key: str) -> None:
        """Choose an installed engine; it is taken at once unless a model is loaded."""
        self._say(nothing)
        self._choose(key)
        self._tasks.start(self._look(), "engines")

    def remove(self, key: str) -> None:
        """Remove one that is not in use."""
        self._begin(lambda: self._remove(key))

    def reload(self) -> None:
        """Load the model again, with the chosen engine."""
        self._restart(True)
        self._say(nothing)

    def message_seen(self) -> None:
        """The page was left: what it told of the last step has been read."""
        if self._message is not nothing:
            self._say(nothing)

    async def end(self) -> None:
        """Stop what is going on and wait for it."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    # ------------------------------------------------------------ the work

    @property
    def _proxy(self) -> str:
        return self._settings().proxy

    def _installer(self) -> Installer:
        features = self._machine[0].processor.features if self._machine else frozenset[str]()
        return Installer(self._store, this_platform(), features, self._tell)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._work is not None and not self._work.done():
            return
        self._message, self._failed = nothing, False

        async def run() -> None:
            try:
                if self._machine is None:
                    await self._probe()
                await work()
            except CloverError as error:
                self._say(partial(install_failure_text, error), failed=True)

        self._work = self._tasks.start(run(), "engine installation")
        # Not in the coroutine: one that is stopped before its first step runs nothing at all.
        self._work.add_done_callback(self._ended)
        self._show()

    def _ended(self, work: asyncio.Task[None]) -> None:
        self._work = None
        if work.cancelled():
            self._message = stopped_text
        self._show()

    async def _probe(self) -> None:
        machine = await asyncio.to_thread(probe_machine, self._store.folder.parent)
        self._machine = (machine, await asyncio.to_thread(probe_backends))

    async def _look(self) -> None:
        await self._probe()
        self._show()
        try:
            self._info = await self._describe()
        except CloverError:
            self._info = None  # the failure is told where the engine was asked for
        self._show()

    async def _ask(self, set_name: str) -> None:
        self._found = None
        self._found = await self._installer().look_up(set_name, index_address(), self._proxy)

    async def _install(self, installation: Awaitable[Flavour]) -> None:
        self._found = None
        flavour = await installation
        self._choose(flavour.key)
        self._say(partial(installed_text, flavour, later=self._is_loaded()))

    async def _remove(self, key: str) -> None:
        if self._selection.chosen == key:
            self._choose(BUILT_IN)
        try:
            await asyncio.to_thread(self._store.remove, key)
        except OSError as error:
            raise DestinationNotWritable(self._store.folder, error.strerror or str(error)) from error

    def _choose(self, key: str) -> None:
        self._change_settings(dataclasses.replace(self._settings(), engine_flavour=key))
        self._selection.choose_again()
        if not self._is_loaded():
            self._restart(False)

    # ------------------------------------------------------------ what is shown

    def _tell(self, progress: Progress) -> None:
        fraction = progress.done_bytes / progress.total_bytes if progress.total_bytes else None
        self.progressed.emit(progress_text(progress), None if progress.step is Step.LOOKING else fraction)

    def _tell_fall_back(self, failure: FlavourFailure) -> None:
        self.fell_back.emit(failure_text(failure, self._title(failure.key), self._title(failure.taken)))
        self._show()

    def _taken(self) -> None:
        """Another engine runs now: what was known of the one before says nothing of it."""
        self._info = None
        if self._machine is not None:
            self._tasks.start(self._look(), "engines")

    def _title(self, key: str) -> str:
        return flavour_title(self._store.get(key), key)

    def _say(self, text: Callable[[], str], *, failed: bool = False) -> None:
        """``text`` words it when it is shown, in the language of that moment."""
        self._message, self._failed = text, failed
        self._show()

    def _show(self) -> None:
        in_use = self._selection.in_use
        chosen = self._selection.chosen
        self._view = EngineView(
            rows=tuple(self._row(flavour, in_use, chosen) for flavour in (None, *self._store.all())),
            suggestions=self._suggestions(),
            obstacles=tuple(map(obstacle_text, obstacles(*self._machine))) if self._machine else (),
            question=self._question(),
            message=self._message(),
            failed=self._failed,
            busy=self._work is not None,
            can_reload=self._is_loaded() and in_use != chosen and self._selection.failure is None,
        )
        self.changed.emit(self._view)

    def _row(self, flavour: Flavour | None, in_use: str, chosen: str) -> EngineRow:
        key = flavour.key if flavour else BUILT_IN
        state, warning = "", ""
        failure = self._selection.failure
        if key == in_use:
            state = _("In use")
        if key == chosen and failure is not None:
            state = _("Chosen, but not usable")
            warning = failure_text(dataclasses.replace(failure, taken=failure.key), "", "")
        elif key == chosen and key != in_use:
            state = _("Chosen, from the next load on")
        return EngineRow(
            key,
            flavour_title(flavour),
            self._lines(flavour, key == in_use),
            state,
            warning,
            can_use=key != chosen or failure is not None,
            can_remove=flavour is not None and key != in_use,
        )

    def _lines(self, flavour: Flavour | None, in_use: bool) -> tuple[str, ...]:
        """Version and origin; devices as the engine sees them now, else as its trial saw them."""
        if in_use and self._info is not None:
            backend = "gpu" if self._info.gpu_offload else "cpu"
            names = (d.description or d.name for d in self._info.devices if d.type in ("gpu", "igpu"))
            devices = flavour_devices(backend, tuple(names))
        else:
            devices = flavour_devices(flavour.backend, flavour.devices) if flavour else ""
        facts = own_facts() if flavour is None else flavour_facts(flavour)
        return tuple(filter(None, (facts, devices)))

    def _suggestions(self) -> tuple[SuggestionRow, ...]:
        if self._machine is None:
            return ()
        here = {flavour.key for flavour in self._store.all()}
        on_processor = self._info is not None and not self._info.gpu_offload
        return tuple(
            SuggestionRow(
                one.set_name,
                f"{backend_title(one.backend)}, {one.set_name}" if one.cuda else backend_title(one.backend),
                reason_text(one, on_processor=on_processor),
                f"{one.set_name}-{ENGINE_VERSION}" in here,
                is_fallback=one.why is Why.PROCESSOR,
            )
            for one in suggestions(*self._machine)
        )

    def _question(self) -> str:
        if self._found is None or self._work is not None:
            return ""
        name, host = capped(self._found.wheel.file_name), capped(self._found.wheel.host)
        if not self._found.size_bytes:
            return _("Download {name} from {host} and install it?").format(name=name, host=host)
        return _("Download {name} ({size}) from {host} and install it?").format(
            name=name, size=file_size(self._found.size_bytes), host=host
        )
