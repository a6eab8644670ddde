"""The chat page: chats at the left, the conversation in the middle, the composer and the gauges below.

It places widgets, names them and binds the keys; what they do is in the presenters.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QPushButton, QSplitter, QVBoxLayout, QWidget

from clover_gui.i18n import _, capped
from clover_gui.ui.chat.composer import Composer
from clover_gui.ui.chat.conversation_list import ConversationList, add_export_actions
from clover_gui.ui.chat.find_bar import FindBar
from clover_gui.ui.chat.message_list import TEXT_WIDTH_EM, MessageList
from clover_gui.ui.chat.overflow_bar import OverflowBar
from clover_gui.ui.gauges.strip import GaugeStrip
from clover_gui.ui.shortcuts import Keys
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.notice_bar import NoticeBar


class ChatPage(QWidget):
    """All parts of the chat as attributes; the signals are those of the header, its menu and the keys."""

    model_requested = Signal()
    settings_requested = Signal()
    stop_requested = Signal()
    regenerate_requested = Signal()
    copy_requested = Signal()
    details_requested = Signal()
    export_requested = Signal(object)
    import_requested = Signal()
    help_requested = Signal()
    diagnostics_requested = Signal()
    step_requested = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatPage")
        self._theme = theme
        self.conversations = ConversationList(theme)
        self.messages = MessageList(theme)
        self.composer = Composer(theme)
        self.overflow = OverflowBar(theme)
        self.find_bar = FindBar(theme)
        self.gauges = GaugeStrip(theme)
        self.notice = NoticeBar()
        self.model_button = QPushButton()
        self.model_button.setObjectName("modelButton")
        self.model_button.setProperty("kind", "quiet")
        self.model_button.clicked.connect(self.model_requested)
        self.menu_button = QPushButton()
        self.menu_button.setProperty("kind", "icon")
        self.menu_button.clicked.connect(self._show_menu)
        self.settings_button = QPushButton()
        self.settings_button.setProperty("kind", "icon")
        self.settings_button.clicked.connect(self.settings_requested)
        self.welcome = QLabel()
        self.welcome.setObjectName("welcome")
        self.welcome.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.welcome.setWordWrap(True)
        self._place()
        self._shortcuts()
        self._connect_find()
        theme.changed.connect(self._recolour)
        self._recolour()
        self.retranslate()

    def _place(self) -> None:
        gap = self._theme.space(0.6)
        header = QFrame()
        header.setObjectName("chatHeader")
        row = QHBoxLayout(header)
        row.setContentsMargins(gap, gap // 2, gap, gap // 2)
        row.addWidget(self.model_button)
        row.addStretch(1)
        row.addWidget(self.menu_button)
        row.addWidget(self.settings_button)
        foot = QWidget()
        foot.setObjectName("chatFoot")
        foot.setMaximumWidth(self._theme.space(TEXT_WIDTH_EM) + 2 * gap)
        column = QVBoxLayout(foot)
        column.setContentsMargins(gap, gap // 2, gap, gap // 2)
        column.setSpacing(gap // 2)
        column.addWidget(self.overflow)
        column.addWidget(self.composer)
        centred = QHBoxLayout()
        centred.addStretch(1)
        centred.addWidget(foot, 100)
        centred.addStretch(1)
        self.gauges.setContentsMargins(gap, 0, gap, gap // 2)
        main = QWidget()
        main.setObjectName("chatMain")
        layout = QVBoxLayout(main)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(header)
        layout.addWidget(self.notice)
        layout.addWidget(self.find_bar)
        layout.addWidget(self.welcome, 1)
        layout.addWidget(self.messages, 1)
        layout.addLayout(centred)
        layout.addWidget(self.gauges)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(1)
        splitter.addWidget(self.conversations)
        splitter.addWidget(main)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([self._theme.space(13), self._theme.space(50)])
        root = QHBoxLayout(self)
        root.setContentsMargins(0, 0, 0, 0)
        root.addWidget(splitter)
        self.show_welcome(True)

    def _shortcuts(self) -> None:
        composer, conversations = self.composer, self.conversations
        for keys, action in (
            (Keys.NEW_CHAT, conversations.new_requested.emit),
            (Keys.SEARCH_CHATS, conversations.focus_search),
            (Keys.CHAT_LIST, conversations.focus_list),
            (Keys.PREVIOUS_CHAT, lambda: self.step_requested.emit(-1)),
            (Keys.NEXT_CHAT, lambda: self.step_requested.emit(1)),
            (Keys.STOP, self._escape),
            (Keys.FIND, self.find_bar.open),
            (Keys.COMPOSER, composer.edit.setFocus),
            (Keys.THINKING, composer.thinking_button.click),
            (Keys.ATTACH, composer.attach_button.click),
            (Keys.OPTIONS, composer.options_button.click),
            (Keys.REGENERATE, self.regenerate_requested.emit),
            (Keys.COPY_ANSWER, self.copy_requested.emit),
            (Keys.DETAILS, self.details_requested.emit),
        ):
            QShortcut(QKeySequence(keys), self, action)

    def menu(self) -> QMenu:
        """What can be done with this chat, and help."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        has_messages = len(self.messages) > 0
        options = self.composer.options_requested.emit
        menu.addAction(_("Instructions and settings of this chat…"), QKeySequence(Keys.OPTIONS), options)
        menu.addAction(_("Find in this chat"), QKeySequence(Keys.FIND), self.find_bar.open).setEnabled(
            has_messages
        )
        show_details = self.details_requested.emit
        details = menu.addAction(_("Details of the last answer…"), QKeySequence(Keys.DETAILS), show_details)
        details.setEnabled(has_messages)
        export = menu.addMenu(_("Export this chat as"))
        export.setEnabled(has_messages)
        add_export_actions(export, self.export_requested.emit)
        menu.addAction(_("Import a chat…"), self.import_requested.emit)
        menu.addSeparator()
        menu.addAction(_("Keyboard"), QKeySequence(Keys.HELP), self.help_requested.emit)
        menu.addAction(_("Report for a problem…"), self.diagnostics_requested.emit)
        return menu

    def _show_menu(self) -> None:
        button = self.menu_button
        menu = self.menu()
        place = button.mapToGlobal(button.rect().bottomRight())
        place.setX(place.x() - menu.sizeHint().width())
        menu.popup(place)

    def _connect_find(self) -> None:
        def find(text: str, forward: bool) -> None:
            self.find_bar.show_place(*self.messages.find_text(text, forward))

        def close() -> None:
            self.messages.clear_find()
            self.composer.setFocus()

        self.find_bar.find_requested.connect(find)
        self.find_bar.closed.connect(close)

    def _escape(self) -> None:
        """Close what was opened last; else it means the answer."""
        if not self.find_bar.isHidden():
            self.find_bar.dismiss()
        else:
            self.stop_requested.emit()

    def show_welcome(self, empty: bool) -> None:
        """An empty chat shows one friendly line instead of an empty list."""
        self.welcome.setVisible(empty)
        self.messages.setVisible(not empty)

    def show_model(self, title: str, details: str) -> None:
        """The name of the loaded model on the header's button; "" when none is loaded."""
        self.model_button.setText(capped(title, 60).replace("&", "&&") or _("No model loaded"))
        self.model_button.setToolTip("\n".join(filter(None, (details, _("Choose another model (Ctrl+M)")))))
        self.model_button.setAccessibleName(_("Model: {name}").format(name=capped(title, 60) or _("none")))

    def retranslate(self) -> None:
        """Write all texts again in the language in force."""
        self.welcome.setText(_("What would you like to know?"))
        self.settings_button.setToolTip(_("Settings (Ctrl+,)"))
        self.settings_button.setAccessibleName(_("Settings"))
        self.menu_button.setToolTip(_("More"))
        self.menu_button.setAccessibleName(_("More"))
        self.conversations.retranslate()
        self.composer.retranslate()
        self.find_bar.retranslate()
        self.messages.retranslate()
        self.gauges.refresh()

    def _recolour(self) -> None:
        self.settings_button.setIcon(self._theme.icon("settings"))
        self.menu_button.setIcon(self._theme.icon("more"))
