"""The chat page: chats at the left, the conversation in the middle, the composer and the gauges below.

It places widgets, names them and binds the keys; what they do is in the presenters.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QPushButton, QSplitter, QVBoxLayout, QWidget

from clover_gui.i18n import _, capped
from clover_gui.ui.chat.composer import Composer
from clover_gui.ui.chat.conversation_list import ConversationList, add_export_actions
from clover_gui.ui.chat.find_bar import FindBar
from clover_gui.ui.chat.message_list import TEXT_WIDTH_EM, MessageList
from clover_gui.ui.chat.overflow_bar import OverflowBar
from clover_gui.ui.gauges.strip import MINIMUM_EM as CHAT_EM
from clover_gui.ui.gauges.strip import GaugeStrip
from clover_gui.ui.memory.memory_panel import MAXIMUM_EM, WIDTH_EM, MemoryPanel
from clover_gui.ui.memory.memory_panel import MINIMUM_EM as PANEL_EM
from clover_gui.ui.shortcuts import Keys
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.elided_label import ElidedLabel
from clover_gui.ui.widgets.notice_bar import NoticeBar

# The list of chats: so wide where there is room, and at least the second, until the person moves its edge.
CHATS_EM, NARROW_CHATS_EM = 17, 13
CHATS_SHARE = 0.22
QWIDGETSIZE_MAX = (1 << 24) - 1


class ChatPage(QWidget):
    """All parts of the chat as attributes; the signals are those of the header, its menu and the keys."""

    model_requested = Signal()
    settings_requested = Signal()
    stop_requested = Signal()
    regenerate_requested = Signal()
    continue_requested = Signal()
    copy_requested = Signal()
    details_requested = Signal()
    export_requested = Signal(object)
    import_requested = Signal()
    help_requested = Signal()
    diagnostics_requested = Signal()
    step_requested = Signal(int)
    memory_panel_toggled = Signal(bool)
    title_changed = Signal(str)
    """The title of the chat on the page, "" for a new one."""

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
        self.memory_panel = MemoryPanel(theme)
        self.memory_panel.hide()
        self.notice = NoticeBar()
        self.model_button = QPushButton()
        self.model_button.setObjectName("modelButton")
        self.model_button.setProperty("kind", "quiet")
        self.model_button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow behind the name
        self.model_button.clicked.connect(self.model_requested)
        self.title = ElidedLabel()
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.title.setProperty("kind", "muted")
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
        self._connect_memory()
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
        row.addWidget(self.title, 1)
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
        # Below the texts, which have the scroll bar beside them.
        centred.setContentsMargins(0, 0, self._theme.space(0.8), 0)
        centred.addStretch(1)
        centred.addWidget(foot, 100)
        centred.addStretch(1)
        self.notice.focus_freed.connect(self.composer.setFocus)
        self.gauges.setContentsMargins(gap, 0, gap, gap // 2)
        self._main = main = QWidget()
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
        self._splitter = splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(1)
        splitter.addWidget(self.conversations)
        splitter.addWidget(main)
        splitter.addWidget(self.memory_panel)
        splitter.setStretchFactor(1, 1)
        splitter.splitterMoved.connect(self._edge_moved)
        self._edge_was_moved = False
        root = QHBoxLayout(self)
        root.setContentsMargins(0, 0, 0, 0)
        root.addWidget(splitter)
        self.show_welcome(True)

    def _shortcuts(self) -> None:
        composer, conversations = self.composer, self.conversations
        for keys, action in (
            (Keys.NEW_CHAT, conversations.new_requested.emit),
            (Keys.SEARCH_CHATS, lambda: self._go_to_list(conversations.focus_search)),
            (Keys.CHAT_LIST, lambda: self._go_to_list(conversations.focus_list)),
            (Keys.MEMORY, self.toggle_memory_panel),
            (Keys.PREVIOUS_CHAT, lambda: self.step_requested.emit(-1)),
            (Keys.NEXT_CHAT, lambda: self.step_requested.emit(1)),
            (Keys.STOP, self._escape),
            (Keys.FIND, self.find_bar.open),
            (Keys.COMPOSER, composer.edit.setFocus),
            (Keys.THINKING, composer.thinking_button.click),
            (Keys.ATTACH, composer.attach_button.click),
            (Keys.OPTIONS, composer.options_button.click),
            (Keys.REGENERATE, self.regenerate_requested.emit),
            (Keys.CONTINUE, self.continue_requested.emit),
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
        memory = menu.addAction(_("Memory"), QKeySequence(Keys.MEMORY), self.toggle_memory_panel)
        memory.setCheckable(True)
        memory.setChecked(self.memory_panel_is_open)
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

        def forget() -> None:
            # Of a chat that was searched for; the bar has marks of its own.
            if self.find_bar.isHidden():
                self.messages.clear_find()

        self.composer.text_changed.connect(forget)
        self.conversations.search_changed.connect(lambda query: None if query else forget())
        self.find_bar.find_requested.connect(find)
        self.find_bar.closed.connect(close)

    def _escape(self) -> None:
        """Close what was opened last, or the panel that one stands in; else it means the answer."""
        if not self.find_bar.isHidden():
            self.find_bar.dismiss()
        elif self.memory_panel_is_open and self.memory_panel.isAncestorOf(self.focusWidget()):
            self.close_memory_panel()
        elif self.composer.is_answering or not self.messages.clear_find():
            self.stop_requested.emit()

    # ------------------------------------------------------------ memory panel

    def _connect_memory(self) -> None:
        self.gauges.memory_requested.connect(self.toggle_memory_panel)
        self.memory_panel.close_requested.connect(self.close_memory_panel)
        self.memory_panel.model_requested.connect(self.model_requested)

    @property
    def memory_panel_is_open(self) -> bool:
        return not self.memory_panel.isHidden()

    def open_memory_panel(self, *, take_focus: bool = True) -> None:
        """Show the panel beside the chat."""
        if not self.memory_panel_is_open:
            self.memory_panel.show()
            self._arrange()
            panel, chats = self._theme.space(WIDTH_EM), self._chats_width()
            self._splitter.setSizes([chats, max(1, self.width() - chats - panel), panel])
            self.memory_panel_toggled.emit(True)
        if take_focus:
            self.memory_panel.take_focus()

    def close_memory_panel(self) -> None:
        """Back to the chat alone."""
        if self.memory_panel_is_open:
            self.memory_panel.hide()
            self._arrange()
            self.memory_panel_toggled.emit(False)
            self.composer.setFocus()

    def toggle_memory_panel(self) -> None:
        if self.memory_panel_is_open:
            self.close_memory_panel()
        else:
            self.open_memory_panel()

    def _arrange(self) -> None:
        """Beside the panel the list of chats gives way first, in the narrowest window the chat as well."""
        width = self.width() / self._theme.em
        is_open = self.memory_panel_is_open
        beside = not is_open or width >= CHAT_EM + PANEL_EM
        self.conversations.setVisible(not is_open or width >= NARROW_CHATS_EM + CHAT_EM + PANEL_EM)
        self._main.setVisible(beside)
        self.memory_panel.setMaximumWidth(self._theme.space(MAXIMUM_EM) if beside else QWIDGETSIZE_MAX)

    def _chats_width(self) -> int:
        narrow, wide = self._theme.space(NARROW_CHATS_EM), self._theme.space(CHATS_EM)
        return max(narrow, min(wide, round(CHATS_SHARE * self.width())))

    def _edge_moved(self) -> None:
        self._edge_was_moved = True

    def _go_to_list(self, go: Callable[[], None]) -> None:
        """The list may have given way to the panel."""
        if self.conversations.isHidden():
            self.close_memory_panel()
        go()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()
        if not self._edge_was_moved:
            panel = self.memory_panel.width() if self.memory_panel_is_open else 0
            chats = self._chats_width()
            self._splitter.setSizes([chats, max(1, self.width() - chats - panel), panel])

    def show_welcome(self, empty: bool) -> None:
        """An empty chat shows one friendly line instead of an empty list."""
        self.welcome.setVisible(empty)
        self.messages.setVisible(not empty)

    def show_title(self, title: str) -> None:
        """The chat that stands on the page; "" for a new one."""
        shown = capped(title, 120)
        self.title.setText(shown)
        self.title.setToolTip(shown)
        self.title.setAccessibleName(_("Chat: {title}").format(title=shown or _("New chat")))
        self.title_changed.emit(shown)

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
        self.memory_panel.retranslate()

    def _recolour(self) -> None:
        self.settings_button.setIcon(self._theme.icon("settings"))
        self.menu_button.setIcon(self._theme.icon("more"))
        side = self._theme.space(0.8)
        self.model_button.setIconSize(QSize(side, side))
        self.model_button.setIcon(self._theme.icon("chevron-down", self._theme.colors.muted))
