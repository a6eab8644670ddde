"""The first page: this machine, the model, how it fits, and one button that starts the chat.

A view only: it is filled by ``setup_presenter.py`` and tells it by signals what the person wants.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from clover_gui.i18n import _
from clover_gui.ui.setup.card import Card, text_label
from clover_gui.ui.setup.model_card import ModelCard
from clover_gui.ui.setup.plan_card import PlanCard
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.notice_bar import NoticeBar

WIDTH_EM = 48


class SetupPage(QWidget):
    """Three cards in a column, and a foot with the progress and the primary button."""

    start_requested = Signal()
    cancel_requested = Signal()
    pause_requested = Signal()
    look_again_requested = Signal()
    back_requested = Signal()
    settings_requested = Signal()
    engine_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("setupPage")
        self._answering = False
        self.heading = QLabel()
        self.heading.setObjectName("heading")
        self.heading.setWordWrap(True)
        self.subheading = text_label(name="note")
        self.notice = NoticeBar()
        self.machine_card = Card("")
        self.model_card = ModelCard()
        self.plan_card = PlanCard(theme)
        self.look_again_button = QPushButton()
        self.look_again_button.clicked.connect(self.look_again_requested)
        self.engine_button = QPushButton()
        self.engine_button.setProperty("kind", "link")
        self.engine_button.clicked.connect(self.engine_requested)
        self.engine_button.hide()
        again = QHBoxLayout()
        again.addWidget(self.look_again_button)
        again.addWidget(self.engine_button)
        again.addStretch(1)
        self.machine_card.body.addLayout(again)
        root = QVBoxLayout(self)
        root.setContentsMargins(0, 0, 0, 0)
        root.setSpacing(0)
        root.addWidget(self._column(), 1)
        root.addWidget(self._foot())
        self.retranslate()

    def _column(self) -> QWidget:
        column = QWidget()
        column.setObjectName("setupColumn")
        column.setMaximumWidth(self.fontMetrics().averageCharWidth() * 2 * WIDTH_EM)
        layout = QVBoxLayout(column)
        gap = self.fontMetrics().height()
        layout.setContentsMargins(gap, gap, gap, gap)
        layout.setSpacing(gap)
        for widget in (
            self.heading,
            self.subheading,
            self.notice,
            self.machine_card,
            self.model_card,
            self.plan_card,
        ):
            layout.addWidget(widget)
        layout.addStretch(1)
        holder = QWidget()
        holder.setObjectName("setupHolder")
        centred = QHBoxLayout(holder)
        centred.setContentsMargins(0, 0, 0, 0)
        centred.addStretch(1)
        centred.addWidget(column, 100)
        centred.addStretch(1)
        area = QScrollArea()
        area.setObjectName("setupArea")
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(holder)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return area

    def _foot(self) -> QWidget:
        self.progress_label = text_label(name="progressText")
        self.progress_bar = QProgressBar()
        self.progress_bar.setTextVisible(False)
        self.progress_bar.setFixedHeight(max(4, self.fontMetrics().height() // 2))
        self.cancel_button = QPushButton()
        self.cancel_button.clicked.connect(self.cancel_requested)
        self.pause_button = QPushButton()
        self.pause_button.clicked.connect(self.pause_requested)
        self.pause_button.hide()
        self.settings_button = QPushButton()
        self.settings_button.clicked.connect(self.settings_requested)
        self.back_button = QPushButton()
        self.back_button.clicked.connect(self.back_requested)
        self.start_button = QPushButton()
        self.start_button.setProperty("kind", "primary")
        self.start_button.setDefault(True)
        self.start_button.clicked.connect(self.start_requested)
        foot = QFrame()
        foot.setObjectName("setupFoot")
        layout = QHBoxLayout(foot)
        gap = self.fontMetrics().height()
        layout.setContentsMargins(gap, gap // 2, gap, gap // 2)
        layout.setSpacing(gap)
        layout.addWidget(self.back_button)
        layout.addWidget(self.settings_button)
        self.answer_label = text_label(name="note")
        self.answer_label.hide()
        words = QVBoxLayout()
        words.addWidget(self.answer_label)
        words.addWidget(self.progress_label)
        words.addWidget(self.progress_bar)
        layout.addLayout(words, 1)
        layout.addWidget(self.pause_button)
        layout.addWidget(self.cancel_button)
        layout.addWidget(self.start_button)
        self.show_progress("", hidden=True)
        self.back_button.hide()
        return foot

    def show_progress(self, text: str, fraction: float | None = None, *, hidden: bool = False) -> None:
        """What is going on now; ``fraction`` 0..1, None for a bar without an end."""
        self.progress_label.setText(text)
        self.progress_bar.setVisible(not hidden)
        if fraction is None:
            self.progress_bar.setRange(0, 0)
        else:
            self.progress_bar.setRange(0, 1000)
            self.progress_bar.setValue(round(1000 * fraction))
        self.progress_bar.setAccessibleName(text)

    def set_answering(self, answering: bool) -> None:
        """Whether an answer is being written in the chat, which a start would end."""
        self._answering = answering
        self._show_answer_note()

    def _show_answer_note(self) -> None:
        starts = self._answering and not self.start_button.isHidden() and self.start_button.isEnabled()
        self.answer_label.setVisible(starts)
        self.start_button.setAccessibleDescription(self.answer_label.text() if starts else "")

    def show_pause(self, shown: bool, *, paused: bool) -> None:
        """The button that pauses a download, or goes on with it."""
        self.pause_button.setVisible(shown)
        self.pause_button.setText(_("Continue") if paused else _("Pause"))

    def set_busy(self, busy: bool, *, can_start: bool, start_text: str = "") -> None:
        """While busy the button cancels; otherwise it starts (if there is something to start).

        ``start_text`` says what starting means, where it is more than loading.
        """
        self.cancel_button.setVisible(busy)
        self.start_button.setVisible(not busy)
        self.start_button.setEnabled(can_start)
        self.start_button.setText(start_text or _("Start chatting"))
        self._show_answer_note()
        idle = self.focusWidget() in (None, self.look_again_button, self.cancel_button)
        if can_start and idle and self.isVisible():  # the chat's text field keeps the focus
            self.start_button.setFocus()  # the one obvious next step
        self.model_card.setEnabled(not busy)
        self.plan_card.controls.setEnabled(not busy)
        self.look_again_button.setEnabled(not busy)

    def retranslate(self) -> None:
        """Write the page's own texts again in the language in force."""
        self.heading.setText(_("Chat with a model on this machine"))
        self.subheading.setText(_("Everything stays here: no account, nothing is sent anywhere."))
        self.machine_card.title_label.setText(_("This machine"))
        self.look_again_button.setText(_("Check again"))
        self.look_again_button.setToolTip(_("Check the machine again, for example after installing a driver"))
        self.engine_button.setText(_("Choose another engine…"))
        self.cancel_button.setText(_("Cancel"))
        self.back_button.setText(_("Back to the chat"))
        self.settings_button.setText(_("Settings"))
        self.start_button.setText(_("Start chatting"))
        self.answer_label.setText(
            _("The answer that is being written is stopped first; what is written stays.")
        )
        self.model_card.retranslate()
        self.plan_card.retranslate()
