"""The running window with what a scene of ``window_scenes.py`` does in it, and the pictures it takes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.ui.chat.message_view import MessageView
from clover_gui.ui.chat.presenter import ChatPresenter
from clover_gui.ui.main_window import MainWindow
from clover_gui.ui.workspace import Workspace
from tests.benchmarks.scene_texts import SceneTexts

PATIENCE_S = 60.0
STILL_S = 0.12
# A slowed engine runs for a tenth of the time.
PAUSE_S, RUN_S = 0.02, 0.002


@dataclass(frozen=True)
class Picture:
    """``texts``: everything that can be read in it."""

    name: str
    pixmap: QPixmap
    texts: tuple[str, ...]


class Stage:
    """The running window with what a scene does in it."""

    def __init__(
        self, window: MainWindow, workspace: Workspace, texts: SceneTexts, folder: Path, model: Path
    ) -> None:
        self.window = window
        self.workspace = workspace
        self.texts = texts
        self.folder = folder
        self.model = model
        self.pictures: list[Picture] = []
        self._lock = threading.Lock()

    async def until(self, condition: Callable[[], object], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise AssertionError(f"never happened: {what}") from None

    async def ready(self) -> None:
        window, engine = self.window, self.workspace.engine
        await self.until(
            lambda: engine.loaded is not None and window.pages.currentWidget() is window.chat_page,
            "the model is loaded",
        )
        await self.until(lambda: "/" in self._ram() or " " in self._ram(), "the gauges are filled")

    def _ram(self) -> str:
        return self.window.chat_page.gauges.ram.value_label.text()

    async def ask(self, text: str) -> None:
        composer = self.window.chat_page.composer
        composer.set_text(text)
        composer.send_button.click()
        await self.until(lambda: self.chat.answering, "the question is sent")

    @property
    def chat(self) -> ChatPresenter:
        assert self.workspace.chat is not None
        return self.workspace.chat

    @property
    def store(self) -> AsyncChatStore:
        assert self.workspace.store is not None
        return self.workspace.store

    @property
    def view(self) -> MessageView:
        messages = self.window.chat_page.messages
        return messages.view_at(len(messages) - 1)

    async def answered(self) -> None:
        await self.until(lambda: not self.chat.answering, "the answer is complete")

    async def asked_and_answered(self, text: str) -> None:
        await self.ask(text)
        await self.answered()

    async def open_chat(self, title: str) -> None:
        chats = await self.store.list_chats()
        chat = next(chat for chat in chats if chat.title.startswith(title[:20]))
        await self.chat.open_chat(chat.id)

    async def new_chat(self) -> None:
        self.window.chat_page.conversations.new_button.click()
        await self.until(lambda: self.chat.chat is None, "an empty chat")

    def dialog(self, name: str) -> QDialog:
        found = [w for w in QApplication.topLevelWidgets() if w.objectName() == name and w.isVisible()]
        assert len(found) == 1, f"{len(found)} dialogs {name}"
        assert isinstance(found[0], QDialog)
        return found[0]

    @asynccontextmanager
    async def slowed(self) -> AsyncIterator[None]:
        """Let the engine run for a moment at a time only."""
        process, over = self.process(), threading.Event()

        def pace() -> None:
            with contextlib.suppress(psutil.NoSuchProcess):
                while not over.wait(PAUSE_S):
                    with self._lock:
                        process.resume()
                        time.sleep(RUN_S)
                        process.suspend()

        pacing = threading.Thread(target=pace)
        pacing.start()
        try:
            yield
        finally:
            over.set()
            await asyncio.to_thread(pacing.join)
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    @asynccontextmanager
    async def frozen(self) -> AsyncIterator[None]:
        """Pause the engine in mid-answer."""
        process = self.process()
        with self._lock:
            process.suspend()
            try:
                yield
                assert self.chat.answering, "too late: the answer was complete"
            finally:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    def process(self) -> psutil.Process:
        pid = self.workspace.engine.pid
        assert pid is not None
        return psutil.Process(pid)

    async def take(self, name: str, dialog: QDialog | None = None) -> None:
        """A picture of the window, with a dialog before it, as soon as nothing moves any more."""
        before = _grab(self.window, dialog).toImage()
        until = time.monotonic() + 3.0
        while True:
            await asyncio.sleep(STILL_S)
            await self.until(lambda: self.window._theme.formulas.is_idle, "the formulas are drawn")
            pixmap = _grab(self.window, dialog)
            now = pixmap.toImage()
            if now == before or time.monotonic() > until:
                break
            before = now
        self.pictures.append(Picture(name, pixmap, tuple(texts_in(dialog or self.window))))


def _grab(window: QWidget, dialog: QDialog | None) -> QPixmap:
    picture = window.grab()
    if dialog is None:
        return picture
    front = dialog.grab()
    painter = QPainter(picture)
    whole = QRect(QPoint(), picture.deviceIndependentSize().toSize())
    painter.fillRect(whole, QColor(0, 0, 0, 70))
    area = QRect(QPoint(), front.deviceIndependentSize().toSize())
    area.moveCenter(whole.center())
    painter.drawPixmap(area.topLeft(), front)
    painter.setPen(QColor(128, 128, 128))
    painter.drawRect(area.adjusted(-1, -1, 0, 0))
    painter.end()
    return picture


def texts_in(root: QWidget) -> list[str]:
    """What can be read and is spoken, from labels, buttons, fields and messages that are shown."""
    said: list[str] = [root.windowTitle()]
    for widget in root.findChildren(QWidget):
        if not widget.isVisibleTo(root):
            continue
        if isinstance(widget, QLabel | QPushButton | QLineEdit):
            said.append(widget.text())
        if isinstance(widget, QLineEdit | QPlainTextEdit):
            said.append(widget.placeholderText())
        if isinstance(widget, QPlainTextEdit):
            said.append(widget.toPlainText())
        if isinstance(widget, MessageView):
            said.append(widget.text())
        said.append(widget.accessibleName())
    return [text for text in said if text]
