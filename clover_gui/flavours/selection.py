"""Which engine is taken at the next start: the chosen one, and when that fails the last one that worked.

Implements ``engine.libraries.Libraries``. A flavour that failed is not tried again before it is chosen anew,
so that there is never a loop; the choice itself stays as it is, and so does the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clover_gui.download.json_file import read_json, write_json
from clover_gui.engine.libraries import BINDING_MISSING
from clover_gui.engine.start_fault import FaultKind, StartFault, fault_of
from clover_gui.errors import EngineError
from clover_gui.flavours.flavour import BUILT_IN
from clover_gui.flavours.store import FlavourStore

_WORKING = ".working.json"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FlavourFailure:
    """``key`` could not be used; ``taken`` is used in its place. ``reason`` is the engine's own word."""

    key: str
    taken: str
    fault: StartFault
    reason: str = ""


class FlavourSelection:
    """``chosen`` gives the person's choice (a key, "" for the program's own engine)."""

    def __init__(self, store: FlavourStore, chosen: Callable[[], str]) -> None:
        self.fell_back: list[Callable[[FlavourFailure], None]] = []
        self.taken: list[Callable[[], None]] = []
        """Called when a child is ready with other libraries than the one before."""
        self._store = store
        self._chosen = chosen
        self._failures: dict[str, FlavourFailure] = {}
        value = (read_json(store.folder / _WORKING) or {}).get("key")
        self._working = value if isinstance(value, str) else BUILT_IN
        self._running: str | None = None

    @property
    def chosen(self) -> str:
        """The person's choice, whether or not it works."""
        return self._chosen()

    @property
    def current(self) -> str:
        """The key that a start would take now."""
        usable = self._usable()
        return usable[0] if usable else self._chosen()

    @property
    def in_use(self) -> str:
        """The key that the child took that is running, or was last; before the first start the next one."""
        return self.current if self._running is None else self._running

    @property
    def failure(self) -> FlavourFailure | None:
        """Why the choice is not used; None where it is."""
        return self._failures.get(self._chosen())

    def sweep(self) -> None:
        """Remove what killed installations left. Never raises; may take a moment."""
        self._store.sweep()

    def choose_again(self) -> None:
        """The person has chosen: what failed before may be tried once more."""
        self._failures.clear()

    # ------------------------------------------------------------ Libraries

    def folder(self) -> str:
        self._notice_missing()
        return self._folder_of(self.current)

    def search_path(self, folder: str) -> tuple[str, ...]:
        key = self._key_of(folder) if folder else None
        flavour = self._store.get(key) if key else None
        return flavour.search if flavour is not None else ()

    def started(self, folder: str) -> None:
        key = self._key_of(folder)
        before, self._running = self._running, key
        if before != key:
            for tell in list(self.taken):
                tell()
        if key is None or key == self._working:
            return
        self._working = key
        try:
            if self._store.folder.is_dir():
                write_json(self._store.folder / _WORKING, {"key": key})
        except OSError as error:
            _log.info("the engine that works is not noted: %s", error)

    def failed(self, folder: str, error: EngineError) -> bool:
        key = self._key_of(folder)
        if key is None:  # the folder came from outside, by the variable
            return False
        if BINDING_MISSING in error.reason:  # no libraries can be loaded then, and none is to blame
            return False
        if key not in self._failures:
            self._fail(key, fault_of(error, Path(folder) if folder else None), error.reason)
        return bool(self._usable())

    # ------------------------------------------------------------

    def _usable(self) -> list[str]:
        """The candidates in order, without those that failed or are not there (any more)."""
        order = dict.fromkeys((self._chosen(), self._working, BUILT_IN))
        return [key for key in order if key not in self._failures and self._is_there(key)]

    def _is_there(self, key: str) -> bool:
        return key == BUILT_IN or not self._missing(key)

    def _missing(self, key: str) -> tuple[str, ...]:
        flavour = self._store.get(key)
        if flavour is None:
            return (key,)
        return flavour.missing_files(self._store.library_folder(key))

    def _notice_missing(self) -> None:
        """A chosen flavour that somebody deleted, whole or in part, is a failure like any other."""
        key = self._chosen()
        if key != BUILT_IN and key not in self._failures and (missing := self._missing(key)):
            self._fail(key, StartFault(FaultKind.MISSING_LIBRARY, missing[0]), "")

    def _fail(self, key: str, fault: StartFault, reason: str) -> None:
        # Noted first: what is taken in its place is looked for among the others.
        self._failures[key] = FlavourFailure(key, key, fault, reason)
        usable = self._usable()
        if not usable:
            return
        failure = self._failures[key] = FlavourFailure(key, usable[0], fault, reason)
        _log.warning("engine %r: %s %s; %r is used", key, fault.kind.value, fault.what, usable[0])
        for tell in list(self.fell_back):
            tell(failure)

    def _folder_of(self, key: str) -> str:
        return "" if key == BUILT_IN else str(self._store.library_folder(key))

    def _key_of(self, folder: str) -> str | None:
        if not folder:
            return BUILT_IN
        path = Path(folder)
        return path.name if path.parent == self._store.folder else None


class SideChild:
    """The same libraries for a child beside the main one (a dry run), whose start says nothing of that."""

    def __init__(self, selection: FlavourSelection) -> None:
        self._selection = selection

    def folder(self) -> str:
        return self._selection.folder()

    def search_path(self, folder: str) -> tuple[str, ...]:
        return self._selection.search_path(folder)

    def started(self, folder: str) -> None:
        """The main child's libraries stay those in use."""

    def failed(self, folder: str, error: EngineError) -> bool:
        return self._selection.failed(folder, error)
