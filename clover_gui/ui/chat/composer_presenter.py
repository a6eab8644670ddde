"""What stands in the text field and its tray: the draft of the chat, files, another version of a message.

Knows the composer and the store's drafts; sending is the answer presenter's matter.
"""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.message import Message
from clover_gui.engine.engine import Engine
from clover_gui.errors import ChatStoreError
from clover_gui.i18n import _
from clover_gui.ui.chat.answer_presenter import Question
from clover_gui.ui.chat.attachment_tray import AttachmentTray
from clover_gui.ui.chat.composer import Composer
from clover_gui.ui.chat.open_chat import OpenChat
from clover_gui.ui.tasks import TaskSet

log = logging.getLogger(__name__)

DRAFT_DELAY_MS = 400


class ComposerPresenter(QObject):
    """``refused`` carries why a file cannot go with the message."""

    refused = Signal(object)

    def __init__(
        self, composer: Composer, engine: Engine, store: AsyncChatStore, tasks: TaskSet, open_chat: OpenChat
    ) -> None:
        super().__init__(composer)
        self._composer = composer
        self._store = store
        self._tasks = tasks
        self._open = open_chat
        self._tray = AttachmentTray(composer.chips, engine, tasks)
        self._begun = False
        """Whether a chat is on the page, so that the field is its draft."""
        self._editing: int | None = None
        """The message that is said differently."""
        self._set_aside = ""
        """What stood in the field before."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DRAFT_DELAY_MS)
        self._timer.timeout.connect(lambda: tasks.start(self.save_draft(), "save draft"))
        composer.text_changed.connect(self._timer.start)
        composer.files_given.connect(self._tray.add_paths)
        composer.long_text_given.connect(self._tray.add_pasted)
        composer.attach_requested.connect(self._choose_files)
        composer.edit_cancelled.connect(self.cancel_edit)
        self._tray.changed.connect(self._files_changed)
        self._tray.refused.connect(self.refused)

    @property
    def is_editing(self) -> bool:
        """Whether an earlier message is being changed."""
        return self._editing is not None

    def model_changed(self) -> None:
        """Count what was not counted yet."""
        self._tray.show_files(self._tray.files)

    # ------------------------------------------------------------ drafts

    async def show_draft(self) -> None:
        """Of the chat that was opened."""
        self._composer.set_text(await self._store.draft(self._open.id))
        self._tray.show_files(await self._store.draft_attachments(self._open.id))
        self._begun = True
        self._timer.stop()

    async def save_draft(self) -> None:
        """What is in the field and was not sent."""
        if self._begun and not self.is_editing:
            try:
                await self._store.save_draft(self._open.id, self._composer.text(), self._tray.files)
            except ChatStoreError as error:
                log.warning("draft not saved: %s", error)

    async def leave(self) -> None:
        """The chat is left: keep its draft."""
        self.cancel_edit()
        self._timer.stop()
        await self.save_draft()

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
        return question

    def give_back(self, question: Question) -> None:
        """Nothing was sent: words and files are in the field again."""
        if question.text is None:
            return
        if question.replacing is not None:
            self._begin_edit(question.replacing, question.text)
            return
        self._composer.set_text(question.text)
        self._tray.show_files(question.files)

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
        """Leave the message as it is."""
        if self.is_editing:
            self._end_edit()

    def quote(self, text: str) -> None:
        """Put words of a message into the field as a quotation."""
        quoted = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
        before = self._composer.text().rstrip()
        self._composer.set_text(f"{before}\n\n{quoted}\n\n".lstrip())
        self._composer.setFocus()

    def _begin_edit(self, message_id: int, text: str) -> None:
        if not self.is_editing:
            self._set_aside = self._composer.text()
        self._editing = message_id
        self._composer.set_editing(True)
        self._composer.set_text(text)
        self._composer.setFocus()

    def _end_edit(self) -> None:
        self._editing = None
        self._composer.set_editing(False)
        self._composer.set_text(self._set_aside)
        self._set_aside = ""

    # ------------------------------------------------------------ files

    def _files_changed(self) -> None:
        self._composer.set_may_be_empty(bool(self._tray.files))
        self._timer.start()

    def _choose_files(self) -> None:
        dialog = QFileDialog(self._composer.window(), _("Attach files"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setDirectory(str(Path.home()))
        dialog.filesSelected.connect(lambda names: self._tray.add_paths([Path(name) for name in names]))
        dialog.open()
