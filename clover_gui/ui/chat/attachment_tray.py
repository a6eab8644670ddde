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
    """``changed`` comes whenever something is added, counted or removed; ``refused`` carries the error."""

    changed = Signal()
    refused = Signal(object)

    def __init__(self, chips: AttachmentChips, engine: Engine, tasks: TaskSet) -> None:
        super().__init__(chips)
        self._chips = chips
        self._engine = engine
        self._tasks = tasks
        self._files: list[Attachment] = []
        self._reading: set[asyncio.Task[None]] = set()
        chips.removed.connect(self.remove)

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
        for file in self._files:
            self._tasks.start(self._count(file, is_new=False), "count attachment")

    def add_paths(self, paths: Sequence[Path]) -> None:
        for path in paths:
            task = self._tasks.start(self._read(path), "read attachment")
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)

    async def settle(self) -> None:
        """Wait for the files that are being read, so that they stay with the chat they were given to; not
        for ever, since a drive may never answer."""
        if self._reading:
            await asyncio.wait(self._reading, timeout=SETTLE_TIMEOUT_S)

    def add_pasted(self, text: str) -> None:
        number = 1 + sum(1 for file in self._files if file.name.startswith(_("Pasted text")))
        name = _("Pasted text") if number == 1 else f"{_('Pasted text')} {number}"
        self._add(pasted(text, name))

    def remove(self, place: int) -> None:
        del self._files[place]
        self._show()

    def take(self) -> tuple[Attachment, ...]:
        """Everything, and leave the tray empty."""
        files = self.files
        self.show_files(())
        return files

    async def _read(self, path: Path) -> None:
        try:
            file = await asyncio.to_thread(read_attachment, path)
        except AttachmentRefused as error:
            self.refused.emit(error)
        else:
            self._add(file)

    def _add(self, file: Attachment) -> None:
        self._files.append(file)
        self._show()
        self._tasks.start(self._count(file, is_new=True), "count attachment")

    async def _count(self, file: Attachment, *, is_new: bool) -> None:
        """Put the number of tokens on the chip, and refuse a file that fits into no message.

        A new one is taken away then. One that fitted another model stays: the next may be larger again.
        """
        loaded = self._engine.loaded
        if loaded is None:
            return
        try:
            whole = await self._engine.count((PromptMessage(ROLE_USER, _PROBE + fenced(file)),))
            empty = await self._engine.count((PromptMessage(ROLE_USER, _PROBE),))
        except EngineError:  # counted again with the whole chat before it is sent
            return
        place = next((i for i, other in enumerate(self._files) if other is file), None)
        if place is None or self._engine.loaded != loaded:  # then it is counted once more
            return
        tokens = max(1, whole.prompt_tokens - empty.prompt_tokens)
        room = loaded.context - empty.prompt_tokens - min(Limits().answer_reserve, loaded.context // 4)
        self._files[place] = replace(file, tokens=tokens)
        if tokens > room:
            if is_new:
                del self._files[place]
            self.refused.emit(AttachmentRefused(file.name, "too-many-tokens", size=tokens, limit=room))
        self._show()

    def _show(self) -> None:
        self._chips.show_attachments(self._files)
        self.changed.emit()
