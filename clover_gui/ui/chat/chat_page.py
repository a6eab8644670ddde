"""The chat page: chats at the left, the conversation in the middle, the composer and the gauges below.

It places widgets and names them; what they do is in ``presenter.py``.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSplitter, QVBoxLayout, QWidget

from clover_gui.i18n import _, capped
from clover_gui.ui.chat.composer import Composer
from clover_gui.ui.chat.conversation_list import ConversationList
from clover_gui.ui.chat.message_list import TEXT_WIDTH_EM, MessageList
from clover_gui.ui.gauges.strip import GaugeStrip
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.notice_bar import NoticeBar


class ChatPage(QWidget):
    """All parts of the chat as attributes; the few signals are those of the header."""

    model_requested = Signal()
    settings_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatPage")
        self._theme = theme
        self.conversations = ConversationList()
        self.messages = MessageList(theme)
        self.composer = Composer()
        self.gauges = GaugeStrip(theme)
        self.notice = NoticeBar()
        self.model_button = QPushButton()
        self.model_button.setObjectName("modelButton")
        self.model_button.setProperty("kind", "quiet")
        self.model_button.clicked.connect(self.model_requested)
        self.settings_button = QPushButton()
        self.settings_button.setProperty("kind", "icon")
        self.settings_button.clicked.connect(self.settings_requested)
        self.welcome = QLabel()
        self.welcome.setObjectName("welcome")
        self.welcome.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.welcome.setWordWrap(True)
        self._place()
        self._shortcuts()
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
        row.addWidget(self.settings_button)
        foot = QWidget()
        foot.setObjectName("chatFoot")
        foot.setMaximumWidth(self._theme.space(TEXT_WIDTH_EM) + 2 * gap)
        column = QVBoxLayout(foot)
        column.setContentsMargins(gap, gap // 2, gap, gap // 2)
        column.setSpacing(gap // 2)
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
        QShortcut(QKeySequence(QKeySequence.StandardKey.New), self, self.conversations.new_requested.emit)
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self.composer.stop_requested.emit)
        QShortcut(QKeySequence("Ctrl+L"), self, self.composer.edit.setFocus)

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
        self.conversations.retranslate()
        self.composer.retranslate()
        self.gauges.refresh()

    def _recolour(self) -> None:
        self.settings_button.setIcon(self._theme.icon("settings"))
