"""The list of chats at the left: open one, begin one, search, pin, rename, export, delete (with a way back).

Must not know: the store; changes go out as signals, and the list is filled again from outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from clover_gui.chat.export import ExportFormat
from clover_gui.chat.message import Chat
from clover_gui.chat.search import HitPlace, SearchHit
from clover_gui.i18n import _, capped, ngettext, number
from clover_gui.ui.chat.chat_groups import date_text, group_name
from clover_gui.ui.chat.chat_row import ChatRowDelegate, RowRole, snippet_text
from clover_gui.ui.theme import Theme

SEARCH_DELAY_MS = 150


class ChatListWidget(QListWidget):
    """Keys: Enter opens, F2 renames, Delete deletes, the menu key shows the menu of the row."""

    opened = Signal(object)
    delete_pressed = Signal(object)
    menu_requested = Signal(object, QPoint)

    def __init__(self, delegate: ChatRowDelegate, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._delegate = delegate
        self.setItemDelegate(delegate)
        self.itemClicked.connect(self.opened.emit)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item: QListWidgetItem | None = self.currentItem()
        editing = self.state() == QAbstractItemView.State.EditingState
        if item is None or editing:
            super().keyPressEvent(event)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(item)
        elif event.matches(QKeySequence.StandardKey.Delete):
            self.delete_pressed.emit(item)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self._on_heading(event.position().toPoint()):
            super().mousePressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        item: QListWidgetItem | None = self.itemAt(event.pos()) if by_mouse else self.currentItem()
        if item is not None and not (by_mouse and self._on_heading(event.pos())):
            place = event.pos() if by_mouse else self.visualItemRect(item).bottomLeft()
            self.menu_requested.emit(item, self.viewport().mapToGlobal(place))

    def _on_heading(self, position: QPoint) -> bool:
        index = self.indexAt(position)
        top = self.visualRect(index).top()
        return index.isValid() and position.y() < top + self._delegate.heading_height(index)


class ConversationList(QWidget):
    """Chats in groups by date, the pinned ones first. ``chosen`` carries the chat and the message that was
    found (0: none)."""

    new_requested = Signal()
    chosen = Signal(int, int)
    rename_requested = Signal(int, str)
    delete_requested = Signal(int)
    pin_requested = Signal(int, bool)
    export_requested = Signal(int, object)
    search_changed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self._theme = theme
        self.new_button = QPushButton()
        self.new_button.setObjectName("newChatButton")
        self.search = QLineEdit()
        self.search.setObjectName("chatSearch")
        self.search.setClearButtonEnabled(True)
        self.search.setMaxLength(200)
        self.search.installEventFilter(self)
        self.list = ChatListWidget(ChatRowDelegate(theme, self))
        self.list.setObjectName("chatList")
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.nothing = QLabel()
        self.nothing.setObjectName("note")
        self.nothing.setWordWrap(True)
        self.nothing.hide()
        layout = QVBoxLayout(self)
        for widget in (self.new_button, self.search, self.nothing):
            layout.addWidget(widget)
        layout.addWidget(self.list, 1)
        self._search_timer = QTimer(self)
        self._search_timer.setSingleShot(True)
        self._search_timer.setInterval(SEARCH_DELAY_MS)
        self._search_timer.timeout.connect(lambda: self.search_changed.emit(self.query))
        self._connect()
        theme.changed.connect(self._recolour)
        self._recolour()
        self.retranslate()

    def _connect(self) -> None:
        self.new_button.clicked.connect(self.new_requested)
        self.search.textChanged.connect(lambda _text: self._search_timer.start())
        self.list.opened.connect(self._open)
        self.list.itemChanged.connect(
            lambda item: self.rename_requested.emit(item.data(RowRole.ID), item.text())
        )
        self.list.delete_pressed.connect(lambda item: self.delete_requested.emit(item.data(RowRole.ID)))
        self.list.menu_requested.connect(self._show_menu)

    @property
    def query(self) -> str:
        """What is searched for; "" shows all chats."""
        return self.search.text().strip()

    def show_chats(
        self, chats: Sequence[Chat], current_id: int | None, hits: Mapping[int, SearchHit] | None = None
    ) -> None:
        """Fill the list; ``current_id`` is marked without a signal. ``hits``: only these chats, as found."""
        now = time.time()
        at = self.list.verticalScrollBar().value()
        focused: QListWidgetItem | None = self.list.currentItem()
        keep = focused.data(RowRole.ID) if focused is not None and self.list.hasFocus() else current_id
        with QSignalBlocker(self.list):
            self.list.clear()
            heading = ""
            for chat in chats:
                if hits is not None and chat.id not in hits:
                    continue
                group = group_name(chat, now)
                item = _item(chat, group, hits.get(chat.id) if hits is not None else None)
                if group != heading:
                    item.setData(RowRole.HEADING, group)
                    heading = group
                self.list.addItem(item)
                if chat.id == keep:
                    self.list.setCurrentItem(item)
            if keep is None:
                self.list.setCurrentRow(-1)
        self.list.verticalScrollBar().setValue(at)
        self.nothing.setVisible(hits is not None and not self.list.count())

    def retranslate(self) -> None:
        """Write all texts again in the language in force."""
        self.new_button.setText(_("New chat"))
        self.new_button.setToolTip(_("Begin a new chat (Ctrl+N)"))
        self.search.setPlaceholderText(_("Search all chats"))
        self.search.setAccessibleName(_("Search all chats"))
        self.search.setToolTip(_("Search titles, messages, thoughts and files of all chats (Ctrl+Shift+F)"))
        self.list.setAccessibleName(_("Chats"))
        self.nothing.setText(
            _("Nothing was found. All words must be in one message, in one file or in the title.")
        )

    def focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    def focus_list(self) -> None:
        if self.list.currentRow() < 0:
            self.list.setCurrentRow(0)
        self.list.setFocus()

    def rows(self) -> list[tuple[int, int]]:
        """The chats as they are listed, each with the message that was found in it (0: none)."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return [(int(item.data(RowRole.ID)), int(item.data(RowRole.MESSAGE) or 0)) for item in items]

    def menu_for(self, item: QListWidgetItem) -> QMenu:
        """Everything that can be done with the chat of this row."""
        chat_id, pinned = int(item.data(RowRole.ID)), bool(item.data(RowRole.PINNED))
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(_("Open"), lambda: self._open(item))
        menu.addAction(_("Rename"), QKeySequence("F2"), lambda: self.list.editItem(item))
        menu.addAction(
            _("Unpin") if pinned else _("Pin"), lambda: self.pin_requested.emit(chat_id, not pinned)
        )
        export = menu.addMenu(_("Export as"))
        add_export_actions(export, lambda form: self.export_requested.emit(chat_id, form))
        menu.addSeparator()
        delete = menu.addAction(_("Delete"), lambda: self.delete_requested.emit(chat_id))
        delete.setShortcut(QKeySequence.StandardKey.Delete)
        return menu

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Down and Enter go from the search field into the results, Escape ends the search."""
        if watched is not self.search or not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        if event.type() == QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape:
            # While something is searched for, Escape means the search and not the answer.
            event.setAccepted(bool(self.search.text()))
            return bool(self.search.text())
        if event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.list.count():
                if self.list.currentRow() < 0:
                    self.list.setCurrentRow(0)
                self.list.setFocus()
                return True
            if event.key() == Qt.Key.Key_Escape and self.search.text():
                self.search.clear()
                return True
        return super().eventFilter(watched, event)

    def _open(self, item: QListWidgetItem) -> None:
        self.chosen.emit(int(item.data(RowRole.ID)), int(item.data(RowRole.MESSAGE) or 0))

    def _show_menu(self, item: QListWidgetItem, place: QPoint) -> None:
        self.menu_for(item).popup(place)

    def _recolour(self) -> None:
        icon = self._theme.icon("search", self._theme.colors.muted)
        for action in self.search.actions():
            if action.objectName() == "searchIcon":
                action.setIcon(icon)
                return
        action = self.search.addAction(icon, QLineEdit.ActionPosition.LeadingPosition)
        action.setObjectName("searchIcon")
        action.setEnabled(False)


def add_export_actions(menu: QMenu, export: Callable[[ExportFormat], object]) -> None:
    """One entry for each form of export; ``export`` is called with it."""
    for form, text in (
        (ExportFormat.MARKDOWN, _("Markdown…")),
        (ExportFormat.HTML, _("Web page (HTML)…")),
        (ExportFormat.JSON, _("JSON, to be imported again…")),
    ):
        menu.addAction(text, partial(export, form))


def _place_text(hit: SearchHit) -> str:
    """Where something was found; "" for the words of a message and for a title."""
    if hit.place is HitPlace.THINKING:
        return _("In the thoughts")
    if hit.place is HitPlace.FILE:
        return _("In the file {name}").format(name=capped(hit.file_name, 40))
    return ""


def _item(chat: Chat, group: str, hit: SearchHit | None) -> QListWidgetItem:
    title = capped(chat.title, 60) or _("New chat")
    item = QListWidgetItem(title)
    item.setData(RowRole.ID, chat.id)
    item.setData(RowRole.PINNED, chat.pinned)
    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
    spoken, tip = f"{title}, {group}", [title, date_text(chat.updated)]
    if hit is not None:
        place = _place_text(hit)
        item.setData(RowRole.SNIPPET, hit.snippet)
        item.setData(RowRole.PLACE, place)
        item.setData(RowRole.MESSAGE, hit.message_id or 0)
        spoken = ": ".join(filter(None, (spoken, place, snippet_text(hit.snippet))))
        if hit.count:
            tip.append(
                ngettext("{count} message", "{count} messages", hit.count).format(count=number(hit.count))
            )
    item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
    item.setToolTip("\n".join(tip))
    return item
