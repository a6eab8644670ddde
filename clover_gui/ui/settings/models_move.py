"""Conducts a move of the models: lets go of the loaded one, carries the files, switches, removes the old.

Also goes on with a move that was interrupted by the end of the program.
Must not know: settings pages, how files are copied.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from clover_gui.errors import MoveCancelled, StorageError
from clover_gui.explain import explain
from clover_gui.i18n import _, capped
from clover_gui.paths import DataFolder
from clover_gui.settings import Settings
from clover_gui.storage.belongings import check_listable
from clover_gui.storage.carrying import MoveProgress, below, carry
from clover_gui.storage.move_state import MoveState, Step, pending_move
from clover_gui.storage.moving import begin, can_finish, finish, take_back
from clover_gui.ui.settings.move_dialog import MoveDialog
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme

_REPORT_S = 0.1
_FOLDER_LIMIT = 200
log = logging.getLogger(__name__)


class ModelUse(Protocol):
    """Who works with the models meanwhile."""

    def busy_reason(self) -> str:
        """Why the models cannot be moved now, as a sentence; "" when they can."""

    async def let_go(self) -> Path | None:
        """Stop what uses a model; returns the file that was loaded."""

    def take_up(self, path: Path) -> None:
        """Load this file again."""


@dataclass(frozen=True, slots=True)
class SettingsAccess:
    """The settings in force, and how they are changed (and saved)."""

    current: Callable[[], Settings]
    change: Callable[[Settings], None]


class ModelsMove(QObject):
    """``ended``: the models are somewhere, settled; sizes and places may be other ones."""

    ended = Signal()

    def __init__(
        self, data: DataFolder, settings: SettingsAccess, use: ModelUse, theme: Theme, tasks: TaskSet
    ) -> None:
        super().__init__()
        self._data = data
        self._settings = settings
        self._use = use
        self._theme = theme
        self._tasks = tasks
        self.dialog: MoveDialog | None = None

    # ------------------------------------------------------------ what is asked for

    def start(self, source: Path, target: Path, parent: QWidget) -> None:
        """Move every model from one folder to the other; says no where it cannot be."""
        if reason := self._use.busy_reason():
            say(_("The models are in use"), reason, parent)
            return

        def first() -> MoveState:
            _end_earlier(self._data.root)
            return begin(self._data.root, source, target, every_model=True)

        self._open(target, parent)
        self._tasks.start(self._run(first), "move the models")

    async def settle(self) -> None:
        """At the start, before a model is looked for: end a move of which only the end is missing."""
        state = await asyncio.to_thread(pending_move, self._data.root)
        if state is None or state.step is Step.COPYING:
            return
        try:
            if state.step is Step.RENAMING:
                state = await asyncio.to_thread(carry, state, lambda _progress: None, lambda: False)
            if await asyncio.to_thread(can_finish, state):
                self._switch(state)
                await asyncio.to_thread(finish, state)
        except StorageError as error:
            log.warning("the move of the models is not ended: %s", error)

    async def offer_to_go_on(self, parent: QWidget) -> None:
        """At the start, when the window is there: ask what to do with a move that was interrupted."""
        state = await asyncio.to_thread(pending_move, self._data.root)
        if state is None or state.step not in (Step.COPYING, Step.RENAMING):
            return
        box = QMessageBox(parent)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setObjectName("moveQuestion")
        box.setIcon(QMessageBox.Icon.Question)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setWindowTitle(_("Moving the models"))
        box.setText(_("The models were being moved when the program ended. Nothing was lost."))
        box.setInformativeText(
            _("From {old} to {new}").format(
                old=capped(str(state.source), _FOLDER_LIMIT), new=capped(str(state.target), _FOLDER_LIMIT)
            )
        )
        on = box.addButton(_("Go on"), QMessageBox.ButtonRole.AcceptRole)
        leave = box.addButton(_("Leave them where they are"), QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(_("Later"), QMessageBox.ButtonRole.RejectRole)
        on.clicked.connect(lambda: self._go_on(state, parent))
        leave.clicked.connect(lambda: self._leave(state, parent))
        box.open()

    # ------------------------------------------------------------ the work

    def _open(self, target: Path, parent: QWidget) -> None:
        self.dialog = MoveDialog(target, self._theme, parent)
        self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.dialog.finished.connect(self._closed)
        self.dialog.open()

    def _closed(self) -> None:
        self.dialog = None
        self.ended.emit()

    def _go_on(self, state: MoveState, parent: QWidget) -> None:
        if reason := self._use.busy_reason():
            say(_("The models are in use"), reason, parent)
            return
        self._open(state.target, parent)
        self._tasks.start(self._run(lambda: state), "move the models")

    def _leave(self, state: MoveState, parent: QWidget) -> None:
        self._open(state.target, parent)
        self._tasks.start(self._take_back(state), "leave the models")

    async def _run(self, first: Callable[[], MoveState]) -> None:
        dialog = self.dialog
        assert dialog is not None
        loaded: Path | None = None
        state: MoveState | None = None
        try:
            loaded = await self._use.let_go()
            state = await asyncio.to_thread(first)
            state = await self._carry(state, dialog)
            self._switch(state)
            busy = await asyncio.to_thread(finish, state)
        except MoveCancelled:
            assert state is not None
            await self._take_back(state)
        except Exception as error:  # whatever it is: nobody else would end the dialog, or load the model
            self._show_failure(dialog, state, error)
        else:
            if loaded is not None:
                loaded = _moved(loaded, state)
            dialog.show_done(_done_text(state, busy))
        if loaded is not None:
            self._use.take_up(loaded)

    async def _carry(self, state: MoveState, dialog: MoveDialog) -> MoveState:
        loop = asyncio.get_running_loop()
        stopped = threading.Event()
        last = 0.0

        def report(progress: MoveProgress) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _REPORT_S:
                last = now
                loop.call_soon_threadsafe(dialog.show_progress, progress)

        dialog.stop_requested.connect(stopped.set)
        try:
            return await asyncio.to_thread(carry, state, report, stopped.is_set)
        finally:
            # Also where the program ends: the thread stops, and the next start offers to go on.
            stopped.set()
            dialog.stop_requested.disconnect(stopped.set)

    def _switch(self, state: MoveState) -> None:
        settings = self._settings.current()
        folder = "" if state.target == self._data.models else str(state.target)
        path = settings.model_path
        moved = str(_moved(Path(path), state)) if path else ""
        self._settings.change(replace(settings, models_folder=folder, model_path=moved))

    async def _take_back(self, state: MoveState) -> None:
        dialog = self.dialog
        assert dialog is not None
        try:
            await asyncio.to_thread(take_back, state)
        except Exception as error:  # as above
            self._show_failure(dialog, state, error)
        else:
            dialog.show_done(_("The models are where they were. Nothing was changed."))

    def _show_failure(self, dialog: MoveDialog, state: MoveState | None, error: Exception) -> None:
        log.warning("the models were not moved: %r", error, exc_info=error)
        words = explain(error)
        open_end = state is not None and state.step in (Step.COPYING, Step.RENAMING)
        dialog.show_failure(words.title, words.text, can_go_on=open_end)
        if open_end:
            assert state is not None
            known = state
            dialog.retry_requested.connect(lambda: self._again(known), Qt.ConnectionType.SingleShotConnection)
            dialog.given_up.connect(lambda: self._give_up(known), Qt.ConnectionType.SingleShotConnection)

    def _again(self, state: MoveState) -> None:
        if self.dialog is not None:
            self.dialog.show_working()
            self._tasks.start(self._run(lambda: state), "move the models")

    def _give_up(self, state: MoveState) -> None:
        if self.dialog is not None:
            self._tasks.start(self._take_back(state), "leave the models")


def say(title: str, text: str, parent: QWidget) -> None:
    """A sentence in a box of its own."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.Information)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle(title)
    box.setText(text)
    box.open()


def _end_earlier(data_root: Path) -> None:
    """One move at a time: what was left of an earlier one is put in order first."""
    earlier = pending_move(data_root)
    if earlier is None:
        return
    if earlier.step is Step.COPYING and not _is_listable(earlier.source):
        earlier.forget()  # the copies stay: they may be all that is left
    elif earlier.step in (Step.COPYING, Step.RENAMING):
        take_back(earlier)
    elif can_finish(earlier):
        finish(earlier)


def _is_listable(folder: Path) -> bool:
    try:
        check_listable(folder)
    except OSError:
        return False
    return True


def _moved(path: Path, state: MoveState) -> Path:
    """Where this file is now."""
    if not path.is_relative_to(state.source):
        return path
    name = below(path, state.source)
    return state.target / name if name in state.carried else path


def _done_text(state: MoveState, busy: tuple[Path, ...]) -> str:
    folder = capped(str(state.target), _FOLDER_LIMIT)
    text = _("The models are in {folder} now.").format(folder=folder)
    if busy:
        text += " " + _(
            "Some of the old files are held by another program; they are removed at the next start."
        )
    return text
