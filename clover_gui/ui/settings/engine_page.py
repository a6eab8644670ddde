"""The page "Engine": which engines are installed, which one is in use, and what this machine could use.

A view only: the presenter says what is shown and does what is asked.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QFileDialog,
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
from clover_gui.ui.announce import announce
from clover_gui.ui.settings.engine_presenter import EnginePresenter
from clover_gui.ui.settings.engine_view import EngineRow, EngineView, SuggestionRow
from clover_gui.ui.settings.settings_page import SettingsPage, note_label


class EnginePage(SettingsPage):
    """Everything here acts at once; the dialog's "Save" has nothing to do with it."""

    def __init__(self, presenter: EnginePresenter, parent: QWidget | None = None) -> None:
        super().__init__(_("Engine"), parent)
        self._presenter = presenter
        self._shown = EngineView()
        self.add(
            note_label(_("The engine computes the answers. Which one is best depends on the graphics card."))
        )
        self.message = note_label()
        self.message.setAccessibleName(_("What happened last"))
        self.message.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.add(self.message)
        self.reload_button = QPushButton(_("Load again with this engine"))
        self.reload_button.clicked.connect(presenter.reload)
        self.add(_row(self.reload_button))
        self.question = self._make_question()
        self.add(self.question)
        self.progress = self._make_progress()
        self.add(self.progress)
        self.add_heading(_("Installed"))
        self._installed = self._make_list()
        self.add_gap()
        self.add_heading(_("What this machine could use"))
        self._suggested = self._make_list()
        self.file_button = QPushButton(_("Install from a file…"))
        self.file_button.clicked.connect(self._choose_file)
        self.look_button = QPushButton(_("Check again"))
        self.look_button.clicked.connect(presenter.look)
        self.add(_row(self.file_button, self.look_button))
        presenter.changed.connect(self._show)
        presenter.progressed.connect(self._show_progress)
        presenter.look()  # first: what was worded before may be in another language
        self._show(presenter.view)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if not event.spontaneous():
            self._presenter.message_seen()

    # ------------------------------------------------------------ parts

    def _make_question(self) -> QFrame:
        frame = _card()
        self.question_label = _text()
        self.download_button = QPushButton(_("Download and install"))
        self.download_button.setProperty("kind", "primary")
        self.download_button.clicked.connect(self._presenter.download)
        dismiss = QPushButton(_("Cancel"))
        dismiss.setAccessibleName(_("Do not download"))
        dismiss.clicked.connect(self._presenter.cancel)
        _column(frame).addWidget(self.question_label)
        _column(frame).addWidget(_row(self.download_button, dismiss))
        return frame

    def _make_progress(self) -> QFrame:
        frame = _card()
        self.progress_label = _text()
        self.progress_bar = QProgressBar()
        self.progress_bar.setTextVisible(False)
        self.progress_bar.setRange(0, 0)
        self.cancel_button = QPushButton(_("Cancel"))
        self.cancel_button.setAccessibleName(_("Stop the installation"))
        self.cancel_button.clicked.connect(self._presenter.cancel)
        for widget in (self.progress_label, self.progress_bar, _row(self.cancel_button)):
            _column(frame).addWidget(widget)
        return frame

    def _make_list(self) -> QVBoxLayout:
        holder = QWidget()
        layout = QVBoxLayout(holder)
        layout.setContentsMargins(0, 0, 0, 0)
        self.add(holder)
        return layout

    # ------------------------------------------------------------ what is shown

    def _show(self, view: EngineView) -> None:
        old, self._shown = self._shown, view
        if (view.rows, view.busy) != (old.rows, old.busy) or not self._installed.count():
            self._fill(self._installed, [self._installed_card(row, view.busy) for row in view.rows])
        offered = (view.suggestions, view.obstacles, view.busy)
        if offered != (old.suggestions, old.obstacles, old.busy) or not self._suggested.count():
            self._fill(self._suggested, self._suggestions(view) or [note_label(_("Looking at the machine…"))])
        self.message.setText(view.message)
        self.message.setObjectName("warningNote" if view.failed else "note")
        self.message.style().unpolish(self.message)
        self.message.style().polish(self.message)
        self.message.setVisible(bool(view.message))
        if view.message and view.message != old.message:
            announce(self, view.message)
            # The button that was pressed may be gone: else the page would scroll to whatever comes next.
            self.message.setFocus()
            QTimer.singleShot(0, self, self._show_top)
        self.reload_button.setVisible(view.can_reload)
        self.question.setVisible(bool(view.question))
        self.question_label.setText(view.question)
        if view.question and not old.question:
            self.download_button.setFocus()
        self._show_busy(view.busy, old.busy)

    def _show_top(self) -> None:
        """Once the page has its new height."""
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            area.verticalScrollBar().setValue(0)

    def _show_busy(self, busy: bool, before: bool) -> None:
        self.progress.setVisible(busy)
        self.file_button.setEnabled(not busy)
        if busy and not before:
            self._show_progress(_("One moment…"), None)
            self.cancel_button.setFocus()

    def _show_progress(self, text: str, fraction: float | None) -> None:
        self.progress_label.setText(text)
        self.progress_bar.setAccessibleName(text)
        if fraction is None:
            self.progress_bar.setRange(0, 0)
        else:
            self.progress_bar.setRange(0, 1000)
            self.progress_bar.setValue(round(1000 * fraction))

    def _fill(self, layout: QVBoxLayout, widgets: list[QWidget]) -> None:
        while (item := layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()  # it would stay in the picture until it is deleted
                widget.deleteLater()
        for widget in widgets:
            layout.addWidget(widget)

    def _installed_card(self, row: EngineRow, busy: bool) -> QFrame:
        buttons = []
        if row.can_use:
            use = QPushButton(_("Try again") if row.warning else _("Use"))
            use.setAccessibleName(_("Use {engine}").format(engine=row.title))
            use.clicked.connect(partial(self._presenter.use, row.key))
            buttons.append(use)
        if row.can_remove:
            remove = QPushButton(_("Remove"))
            remove.setAccessibleName(_("Remove {engine}").format(engine=row.title))
            remove.clicked.connect(partial(self._presenter.remove, row.key))
            buttons.append(remove)
        return _engine_card(row.title, row.lines, row.state, row.warning, buttons, busy)

    def _suggestions(self, view: EngineView) -> list[QWidget]:
        """What would be better first, then what stands in the way of that, then the fall-back."""
        better = [row for row in view.suggestions if not row.is_fallback]
        shown: list[QWidget] = [self._suggestion_card(row, view.busy) for row in better]
        shown += [note_label(text) for text in view.obstacles]
        if view.suggestions and not shown:
            shown.append(note_label(_("No graphics card was found that another engine would make use of.")))
        return shown + [self._fallback(row, view.busy) for row in view.suggestions if row.is_fallback]

    def _fallback(self, row: SuggestionRow, busy: bool) -> QWidget:
        button = self._install_button(row)
        button.setProperty("kind", "quiet")
        button.setEnabled(not busy)
        holder = QWidget()
        layout = QHBoxLayout(holder)
        layout.setContentsMargins(0, 0, 0, 0)
        text = _("{engine}, as a fall-back: {reason}").format(engine=row.title, reason=row.reason)
        layout.addWidget(note_label(text), 1)
        layout.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return holder

    def _install_button(self, row: SuggestionRow) -> QPushButton:
        button = QPushButton(_("Install again…") if row.installed else _("Install…"))
        button.setAccessibleName(_("Install {engine}").format(engine=row.title))
        button.clicked.connect(partial(self._presenter.ask, row.set_name))
        return button

    def _suggestion_card(self, row: SuggestionRow, busy: bool) -> QFrame:
        state = _("Installed") if row.installed else ""
        return _engine_card(row.title, (row.reason,), state, "", [self._install_button(row)], busy)

    def _choose_file(self) -> None:
        dialog = QFileDialog(self, _("Install an engine from a file"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([_("Wheels of the engine (*.whl)"), _("All files (*)")])
        dialog.fileSelected.connect(lambda name: self._presenter.install_file(Path(name)))
        dialog.open()


def _engine_card(
    title: str, lines: tuple[str, ...], state: str, warning: str, buttons: list[QPushButton], busy: bool
) -> QFrame:
    card = _card()
    head = QHBoxLayout()
    head.setContentsMargins(0, 0, 0, 0)
    name = _text(title)
    name.setProperty("kind", "strong")
    head.addWidget(name, 1)
    if state:
        word = QLabel(state)
        word.setTextFormat(Qt.TextFormat.PlainText)
        word.setProperty("kind", "badge-warning" if warning else "badge")
        head.addWidget(word, 0, Qt.AlignmentFlag.AlignTop)
    top = QWidget()
    top.setLayout(head)
    column = _column(card)
    column.addWidget(top)
    for line in lines:
        column.addWidget(note_label(line))
    if warning:
        label = note_label(warning)
        label.setObjectName("warningNote")
        column.addWidget(label)
    for button in buttons:
        button.setEnabled(not busy)
    if buttons:
        column.addWidget(_row(*buttons))
    return card


def _card() -> QFrame:
    frame = QFrame()
    frame.setProperty("kind", "card")
    QVBoxLayout(frame)
    return frame


def _column(frame: QFrame) -> QVBoxLayout:
    layout = frame.layout()
    assert isinstance(layout, QVBoxLayout)
    return layout


def _row(*widgets: QWidget) -> QWidget:
    row = QWidget()
    layout = QHBoxLayout(row)
    layout.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        layout.addWidget(widget)
    layout.addStretch(1)
    return row


def _text(text: str = "") -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    return label
