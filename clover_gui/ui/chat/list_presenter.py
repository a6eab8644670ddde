"""What the list of chats does: fill, search, pin, rename, delete with a way back, export and import.

Knows the store and the list; which chat is open is the chat presenter's matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.export import ExportFormat, export_text, suggested_name, write_export
from clover_gui.chat.message import Chat
from clover_gui.chat.record import ChatRecord, read_record
from clover_gui.chat.search import SearchHit
from clover_gui.errors import CloverError
from clover_gui.explain import explain
from clover_gui.i18n import _, capped
from clover_gui.ui.chat.conversation_list import ConversationList
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.widgets.notice_bar import NoticeBar, NoticeKind

UNDO_DELETE = "undo-delete"


class ChatListPresenter(QObject):
    """``open_requested`` carries a chat and the message to go to (0: none); ``leaving`` is awaited before a
    chat is deleted that may be open."""

    open_requested = Signal(int, int)
    renamed = Signal(object)
    title_changed = Signal(str)
    """The title of the chat that is open, "" for a new one; also when it is the same as before."""

    def __init__(
        self,
        conversations: ConversationList,
        notice: NoticeBar,
        store: AsyncChatStore,
        tasks: TaskSet,
        leaving: Callable[[int], Awaitable[None]],
    ) -> None:
        super().__init__(conversations)
        self._list = conversations
        self._notice = notice
        self._store = store
        self._tasks = tasks
        self._leaving = leaving
        self.current_id: int | None = None
        """The chat that is open."""
        self._deleted_id: int | None = None
        self._deleted_was_open = False
        conversations.chosen.connect(self.open_requested)
        conversations.rename_requested.connect(lambda c, title: self._start(self._rename(c, title), "rename"))
        conversations.delete_requested.connect(lambda c: self._start(self._delete(c), "delete chat"))
        conversations.pin_requested.connect(lambda c, pinned: self._start(self._pin(c, pinned), "pin chat"))
        conversations.export_requested.connect(self.export)
        conversations.search_changed.connect(lambda _query: self._start(self.refresh(), "search"))
        notice.action_triggered.connect(self._notice_action)

    async def refresh(self) -> None:
        """Fill the list again, with what is searched for."""
        query = self._list.query
        chats = await self._store.list_chats()
        self.title_changed.emit(next((chat.title for chat in chats if chat.id == self.current_id), ""))
        hits: dict[int, SearchHit] | None = None
        if query:
            hits = {hit.chat_id: hit for hit in await self._store.search(query)}
            if query != self._list.query:  # more was typed meanwhile; that search is on its way
                return
        self._list.show_chats(chats, self.current_id, hits)

    async def show(self, current_id: int | None) -> None:
        """As ``refresh``; this chat is open now."""
        self.current_id = current_id
        await self.refresh()

    def step(self, by: int) -> None:
        """Open the chat that stands so many rows below the one that is open."""
        ids = [chat_id for chat_id, _message in self._list.rows()]
        place = ids.index(self.current_id) + by if self.current_id in ids else 0
        if 0 <= place < len(ids):
            self.open_requested.emit(*self._list.rows()[place])

    # ------------------------------------------------------------ changes

    async def _rename(self, chat_id: int, title: str) -> None:
        if title.strip():
            self.renamed.emit(await self._store.rename_chat(chat_id, capped(title, 200)))
        await self.refresh()

    async def _pin(self, chat_id: int, pinned: bool) -> None:
        await self._store.set_pinned(chat_id, pinned)
        await self.refresh()

    async def _delete(self, chat_id: int) -> None:
        self._deleted_was_open = self.current_id == chat_id
        await self._leaving(chat_id)
        await self._store.delete_chat(chat_id)
        self._deleted_id = chat_id
        await self.refresh()
        self._notice.show_notice(
            _("The chat was deleted."), action=(UNDO_DELETE, _("Undo")), about=UNDO_DELETE
        )

    async def _undo_delete(self) -> None:
        if self._deleted_id is not None:
            chat_id, self._deleted_id = self._deleted_id, None
            await self._store.undo_delete(chat_id)
            if self._deleted_was_open and self.current_id is None:
                self.open_requested.emit(chat_id, 0)
            else:  # the person is elsewhere, and stays there
                await self.refresh()

    def _notice_action(self, key: str) -> None:
        if key == UNDO_DELETE:
            self._start(self._undo_delete(), "undo delete")

    # ------------------------------------------------------------ files

    def export(self, chat_id: int, form: ExportFormat) -> None:
        """Ask where to, and write the chat there."""
        self._start(self._ask_where(chat_id, form), "export chat")

    async def _ask_where(self, chat_id: int, form: ExportFormat) -> None:
        record = await self._store.record(chat_id)
        # The dialog asks before an existing file is replaced; nothing else may replace one.
        dialog = _file_dialog(self._list, _("Export the chat"), _filter_of(form))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(form.value)
        dialog.selectFile(suggested_name(record.chat.title, form, record.chat.created))
        dialog.fileSelected.connect(
            lambda name: self._start(self.write(record, form, Path(name), replace=True), "write export")
        )
        dialog.open()

    async def write(self, record: ChatRecord, form: ExportFormat, path: Path, *, replace: bool) -> None:
        """Write the file and say so. ``replace``: the person has agreed to lose a former one."""
        try:
            await asyncio.to_thread(lambda: write_export(path, export_text(record, form), replace=replace))
        except CloverError as error:
            self._show_error(error)
        else:
            self._notice.show_notice(_("The chat was written to {file}.").format(file=capped(str(path), 160)))

    def import_file(self) -> None:
        """Ask for a file and add its chat."""
        dialog = _file_dialog(self._list, _("Import a chat"), _filter_of(ExportFormat.JSON))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: self._start(self.read(Path(name)), "import chat"))
        dialog.open()

    async def read(self, path: Path) -> Chat | None:
        """Add the chat of this file and open it."""
        try:
            record = await asyncio.to_thread(read_record, path)
            chat = await self._store.import_record(record)
        except CloverError as error:
            self._show_error(error)
            return None
        self.open_requested.emit(chat.id, 0)
        return chat

    def _show_error(self, error: CloverError) -> None:
        self._notice.show_notice(explain(error).text, NoticeKind.ERROR)

    def _start(self, work: Awaitable[object], name: str) -> None:
        async def run() -> None:
            try:
                await work
            except CloverError as error:
                self._show_error(error)

        self._tasks.start(run(), name)


def _filter_of(form: ExportFormat) -> str:
    return {
        ExportFormat.MARKDOWN: _("Markdown (*.md)"),
        ExportFormat.HTML: _("Web page (*.html)"),
        ExportFormat.JSON: _("Chat of this program (*.json)"),
    }[form]


def _file_dialog(parent: QWidget, title: str, name_filter: str) -> QFileDialog:
    dialog = QFileDialog(parent.window(), title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setNameFilters([name_filter, _("All files (*)")])
    dialog.setDirectory(str(Path.home()))
    return dialog
