"""The list of chats at the left: open one, begin one, rename, delete (with a way back)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from clover_gui.chat.message import Chat
from clover_gui.i18n import _, capped

ID_ROLE = Qt.ItemDataRole.UserRole


class ConversationList(QWidget):
    """Shows chats newest first. All changes go out as signals; the list is filled again from outside."""

    new_requested = Signal()
    chosen = Signal(int)
    rename_requested = Signal(int, str)
    delete_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.new_button = QPushButton()
        self.new_button.setObjectName("newChatButton")
        self.title = QLabel()
        self.title.setObjectName("sidebarTitle")
        self.list = QListWidget()
        self.list.setObjectName("chatList")
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        layout = QVBoxLayout(self)
        layout.addWidget(self.new_button)
        layout.addWidget(self.title)
        layout.addWidget(self.list, 1)
        self.new_button.clicked.connect(self.new_requested)
        self.list.currentItemChanged.connect(self._current_changed)
        self.list.itemChanged.connect(self._edited)
        self.list.customContextMenuRequested.connect(self._menu)
        delete = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.list)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self._delete_current)
        self.retranslate()

    def show_chats(self, chats: Sequence[Chat], current_id: int | None) -> None:
        """Fill the list; ``current_id`` is marked without a signal."""
        self.list.blockSignals(True)
        self.list.clear()
        for chat in chats:
            item = QListWidgetItem(capped(chat.title, 60) or _("New chat"))
            item.setData(ID_ROLE, chat.id)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            self.list.addItem(item)
            if chat.id == current_id:
                self.list.setCurrentItem(item)
        if current_id is None:
            self.list.setCurrentRow(-1)
        self.list.blockSignals(False)

    def retranslate(self) -> None:
        """Write all texts again in the language in force."""
        self.new_button.setText(_("New chat"))
        self.new_button.setToolTip(_("Begin a new chat (Ctrl+N)"))
        self.title.setText(_("Chats"))
        self.list.setAccessibleName(_("Chats"))

    def _current_changed(self, item: QListWidgetItem | None, _previous: QListWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(int(item.data(ID_ROLE)))

    def _edited(self, item: QListWidgetItem) -> None:
        self.rename_requested.emit(int(item.data(ID_ROLE)), item.text())

    def _menu(self, position: QPoint) -> None:
        item = self.list.itemAt(position)
        if item is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(_("Rename"), lambda: self.list.editItem(item))
        menu.addAction(_("Delete"), lambda: self.delete_requested.emit(int(item.data(ID_ROLE))))
        menu.popup(self.list.viewport().mapToGlobal(position))

    def _delete_current(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            self.delete_requested.emit(int(item.data(ID_ROLE)))
