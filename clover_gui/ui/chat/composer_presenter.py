"""What stands in the text field and its tray: the draft of the chat, files, another version of a message.

Knows the composer and the store's drafts; sending is the answer presenter's matter.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.message import Attachment, Message
from clover_gui.engine.engine import Engine
from clover_gui.errors import AttachmentRefused, ChatStoreError
from clover_gui.i18n import _
from clover_gui.ui.chat.attachment_tray import AttachmentTray
from clover_gui.ui.chat.composer import Composer
from clover_gui.ui.chat.open_chat import NEW_CHAT_ID, OpenChat
from clover_gui.ui.chat.question import Question
from clover_gui.ui.tasks import TaskSet

log = logging.getLogger(__name__)

DRAFT_DELAY_MS = 400


@dataclass(frozen=True, slots=True)
class Draft:
    """What a person wrote in a chat and has not sent."""

    chat_id: int
    text: str
    files: tuple[Attachment, ...]


class ComposerPresenter(QObject):
    """``refused`` carries why files cannot go with the message, ``repeated`` which were there already."""

    refused = Signal(object)
    repeated = Signal(object)
    editing_changed = Signal()

    def __init__(
        self, composer: Composer, engine: Engine, store: AsyncChatStore, tasks: TaskSet, open_chat: OpenChat
    ) -> None:
        super().__init__(composer)
        self._composer = composer
        self._store = store
        self._tasks = tasks
        self._open = open_chat
        self._tray = AttachmentTray(composer.chips, engine, tasks)
        self._owner: int | None = None
        """The chat whose draft stands in the field, None before the first one is shown."""
        self._unsaved = False
        self._holding = False
        """Whether another chat is on its way, so that nothing is sent from here."""
        self._editing: int | None = None
        """The message that is said differently."""
        self._set_aside = ""
        """What stood in the field before."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DRAFT_DELAY_MS)
        self._timer.timeout.connect(lambda: tasks.start(self.save_draft(), "save draft"))
        composer.text_changed.connect(self._changed)
        composer.files_given.connect(self._tray.add_paths)
        composer.long_text_given.connect(self._tray.add_pasted)
        composer.attach_requested.connect(self._choose_files)
        composer.edit_cancelled.connect(self.cancel_edit)
        self._tray.changed.connect(self._files_changed)
        self._tray.reading_changed.connect(composer.set_reading)
        self._tray.refused.connect(self._refuse)
        self._tray.repeated.connect(self.repeated)

    @property
    def is_editing(self) -> bool:
        """Whether an earlier message is being changed."""
        return self._editing is not None

    @property
    def edited_id(self) -> int | None:
        """The message that is being changed."""
        return self._editing

    def model_changed(self) -> None:
        """Count the files with the model that is loaded now."""
        self._tray.count_again()

    # ------------------------------------------------------------ drafts

    async def draft(self, chat_id: int) -> Draft:
        """What the store keeps for the field of this chat."""
        return Draft(chat_id, await self._store.draft(chat_id), await self._store.draft_attachments(chat_id))

    def show_draft(self, draft: Draft) -> None:
        """The chat of this draft is on the page now. At once, so that no word gets under another chat."""
        self._holding = False
        if self._owner == draft.chat_id:
            return
        self.cancel_edit()
        text, files = draft.text, draft.files
        if self._owner is None:  # what was written before any chat was there
            text, files = text + self._composer.text(), (*files, *self._tray.files)
        elif self._unsaved:  # written while the chat was left
            self._tasks.start(self.save_draft(), "save draft")
        self._owner = draft.chat_id
        self._composer.set_text(text)
        self._tray.show_files(files)
        self._timer.stop()
        self._unsaved = False

    def follow(self) -> None:
        """The new chat has got its place in the store: the field is that one's."""
        if self._owner == NEW_CHAT_ID:
            self._owner = self._open.id
            if self._composer.text() or self._tray.files:  # written since the message was sent
                self._changed()

    def save_draft(self) -> Coroutine[Any, Any, None]:
        """Save what is in the field now and was not sent, whatever is shown when it is saved."""
        if self._owner is None:
            return _nothing()
        self._unsaved = False
        text = self._set_aside if self.is_editing else self._composer.text()
        return self._keep(self._owner, Question(text, self._tray.files))

    async def leave(self) -> None:
        """The chat is about to be left: keep its draft."""
        self._holding = True
        self.cancel_edit()
        self._timer.stop()
        await self._tray.settle()
        await self.save_draft()

    def stay(self) -> None:
        """The chat was not left after all."""
        self._holding = False

    @property
    def is_leaving(self) -> bool:
        """Whether another chat is on its way; what is sent now would get into the wrong one."""
        return self._holding

    def _changed(self) -> None:
        self._unsaved = True
        self._timer.start()

    # ------------------------------------------------------------ sending

    def take(self, text: str) -> Question:
        """What the person sends, with the files; ``text`` has left the field already."""
        if self._editing is not None:
            question = Question(text, replacing=self._editing)
            self._end_edit()
            return question
        question = Question(text, self._tray.take())
        # Until the message is in the store its words stay there as the draft.
        self._timer.stop()
        self._tasks.start(self._keep(self._open.id, question), "save draft")
        self._unsaved = False
        return question

    def give_back(self, question: Question) -> None:
        """Nothing was sent: words and files are in the field again."""
        if question.text is None:
            return
        if question.replacing is not None:
            self._begin_edit(question.replacing, question.text)
            return
        # What was written meanwhile stays too.
        self._composer.set_text("\n\n".join(filter(None, (question.text, self._composer.text()))))
        self._tray.show_files((*question.files, *self._tray.files))

    async def _keep(self, chat_id: int, question: Question) -> None:
        try:
            await self._store.save_draft(chat_id, question.text or "", question.files)
        except ChatStoreError as error:
            log.warning("draft not saved: %s", error)

    # ------------------------------------------------------------ editing

    def edit(self, message: Message) -> None:
        """Let the person say this message of theirs differently."""
        self._begin_edit(message.id, message.text)

    def cancel_edit(self) -> None:
        """Leave the message as it is; or do not send the one that waits for its files."""
        self._composer.stop_waiting()
        if self.is_editing:
            self._end_edit()

    def quote(self, text: str) -> None:
        """Put words of a message into the field as a quotation."""
        # Only what is a line end in Markdown parts lines; the spaces that indent code belong to it.
        lines = text.replace("\r\n", "\n").strip("\n").split("\n")
        quoted = "\n".join(f"> {line}".rstrip() for line in lines)
        before = self._composer.text().rstrip()
        self._composer.set_text(f"{before}\n\n{quoted}\n\n".lstrip())
        self._composer.setFocus()

    def _begin_edit(self, message_id: int, text: str) -> None:
        if not self.is_editing:
            self._set_aside = self._composer.text()
        self._editing = message_id
        self._composer.set_editing(True)
        self.editing_changed.emit()
        self._composer.set_text(text)
        self._composer.setFocus()

    def _end_edit(self) -> None:
        self._editing = None
        self._composer.set_editing(False)
        self.editing_changed.emit()
        self._composer.set_text(self._set_aside)
        self._set_aside = ""

    # ------------------------------------------------------------ files

    def _refuse(self, errors: Sequence[AttachmentRefused]) -> None:
        # The message would go without a file that the person gave it.
        self._composer.stop_waiting()
        self.refused.emit(errors)

    def _files_changed(self) -> None:
        self._composer.set_may_be_empty(bool(self._tray.files) or self._tray.is_reading)
        self._changed()

    def _choose_files(self) -> None:
        dialog = QFileDialog(self._composer.window(), _("Attach files"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setDirectory(str(Path.home()))
        dialog.filesSelected.connect(lambda names: self._tray.add_paths([Path(name) for name in names]))
        dialog.open()


async def _nothing() -> None:
    """There is no draft to save."""
