"""Files on their way into a message: read in a thread, counted by the engine, refused with the number.

Knows the engine only by its count; knows nothing of chats. The chips show what is in the tray.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from clover_gui.chat.attachments import fenced, pasted, read_attachment
from clover_gui.chat.message import Attachment
from clover_gui.engine.engine import Engine
from clover_gui.engine.protocol import ROLE_USER, Limits, PromptMessage
from clover_gui.errors import AttachmentRefused, EngineError
from clover_gui.i18n import _
from clover_gui.ui.chat.attachment_chips import AttachmentChips
from clover_gui.ui.tasks import TaskSet

_PROBE = "x"
SETTLE_TIMEOUT_S = 3.0


class AttachmentTray(QObject):
    """``changed`` comes whenever something is added, counted or removed; ``reading_changed`` when the first
    file begins to be read or the last one is read; ``refused`` carries the errors of one action;
    ``repeated`` the names of files that were there already."""

    changed = Signal()
    reading_changed = Signal(bool)
    refused = Signal(object)
    repeated = Signal(object)

    def __init__(self, chips: AttachmentChips, engine: Engine, tasks: TaskSet) -> None:
        super().__init__(chips)
        self._chips = chips
        self._engine = engine
        self._tasks = tasks
        self._files: list[Attachment] = []
        self._reading: dict[asyncio.Task[Attachment], str] = {}
        """What is being read, with the names."""
        self._adding: set[asyncio.Task[None]] = set()
        chips.removed.connect(self.remove)
        chips.reading_removed.connect(self.stop_reading)

    @property
    def files(self) -> tuple[Attachment, ...]:
        return tuple(self._files)

    def show_files(self, files: Sequence[Attachment]) -> None:
        """Put these in place of what is there, for example the files of a draft."""
        self._files = list(files)
        self._show()
        self.count_again()

    def count_again(self) -> None:
        """Count every file with the model that is loaded now: each has its own tokens."""
        self._start_counting(self.files, is_new=False)

    def add_paths(self, paths: Sequence[Path]) -> None:
        """Read these files, all that were given at once as one action."""
        begun = [(path, asyncio.ensure_future(asyncio.to_thread(read_attachment, path))) for path in paths]
        if not begun:
            return
        was_reading = self.is_reading
        self._reading.update({task: path.name for path, task in begun})
        adding = self._tasks.start(self._add_all([task for _path, task in begun]), "read attachments")
        self._adding.add(adding)
        adding.add_done_callback(self._adding.discard)
        self._show()
        if not was_reading:
            self.reading_changed.emit(True)

    @property
    def is_reading(self) -> bool:
        """Whether some of the files are not in the tray yet."""
        return bool(self._reading)

    def stop_reading(self, place: int) -> None:
        """Do without the file that stands at this place among those being read."""
        list(self._reading)[place].cancel()

    async def settle(self) -> None:
        """Wait for the files that are being read, so that they stay with the chat they were given to; not
        for ever, since a drive may never answer."""
        if self._adding:
            await asyncio.wait(self._adding, timeout=SETTLE_TIMEOUT_S)

    def add_pasted(self, text: str) -> None:
        number = 1 + sum(1 for file in self._files if file.name.startswith(_("Pasted text")))
        name = _("Pasted text") if number == 1 else f"{_('Pasted text')} {number}"
        file = pasted(text, name)
        self._files.append(file)
        self._show()
        self._start_counting((file,), is_new=True)

    def remove(self, place: int) -> None:
        del self._files[place]
        self._show()

    def take(self) -> tuple[Attachment, ...]:
        """Everything, and leave the tray empty."""
        files = self.files
        self.show_files(())
        return files

    async def _add_all(self, reading: Sequence[asyncio.Task[Attachment]]) -> None:
        """Put each file into the tray in its turn. What is said of them is said once, at the end."""
        refused: list[AttachmentRefused] = []
        repeated: list[str] = []
        added: list[Attachment] = []
        try:
            for task in reading:
                try:
                    file = await task
                except AttachmentRefused as error:
                    refused.append(error)
                except asyncio.CancelledError:
                    if not task.cancelled() or _is_ending():
                        raise
                else:
                    if self._has(file):
                        repeated.append(file.name)
                    else:
                        self._files.append(file)
                        added.append(file)
                self._end_reading(task)
            self._start_counting(added, is_new=True)
        finally:
            for task in reading:
                task.cancel()
                self._end_reading(task)
            # Before anybody hears that all is read: then a message may go.
            if refused:
                self.refused.emit(refused)
            if repeated:
                self.repeated.emit(repeated)
            if not self.is_reading:
                self.reading_changed.emit(False)

    def _has(self, file: Attachment) -> bool:
        return any((other.name, other.text) == (file.name, file.text) for other in self._files)

    def _end_reading(self, task: asyncio.Task[Attachment]) -> None:
        if self._reading.pop(task, None) is not None:
            self._show()

    def _start_counting(self, files: Sequence[Attachment], *, is_new: bool) -> None:
        if files:
            self._tasks.start(self._count_all(files, is_new=is_new), "count attachments")

    async def _count_all(self, files: Sequence[Attachment], *, is_new: bool) -> None:
        """Put the numbers of tokens on the chips, and refuse those files that fit into no message.

        A new one is taken away then. One that fitted another model stays: the next may be larger again.
        """
        refused = [e for file in files if (e := await self._count(file, is_new=is_new)) is not None]
        if refused:
            self.refused.emit(refused)

    async def _count(self, file: Attachment, *, is_new: bool) -> AttachmentRefused | None:
        """Count one, see above; why it is refused, if it is."""
        loaded = self._engine.loaded
        if loaded is None:
            return None
        try:
            whole = await self._engine.count((PromptMessage(ROLE_USER, _PROBE + fenced(file)),))
            empty = await self._engine.count((PromptMessage(ROLE_USER, _PROBE),))
        except EngineError:  # counted again with the whole chat before it is sent
            return None
        place = next((i for i, other in enumerate(self._files) if other is file), None)
        if place is None or self._engine.loaded != loaded:  # then it is counted once more
            return None
        tokens = max(1, whole.prompt_tokens - empty.prompt_tokens)
        room = loaded.context - empty.prompt_tokens - min(Limits().answer_reserve, loaded.context // 4)
        self._files[place] = replace(file, tokens=tokens)
        if tokens > room and is_new:
            del self._files[place]
        self._show()
        if tokens <= room:
            return None
        kind = "too-many-tokens" if loaded.trained_context > loaded.context else "too-many-for-model"
        return AttachmentRefused(file.name, kind, size=tokens, limit=room)

    def _show(self) -> None:
        self._chips.show_attachments(self._files, list(self._reading.values()))
        self.changed.emit()


def _is_ending() -> bool:
    """Whether it is the running task that is to end, and not only what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
