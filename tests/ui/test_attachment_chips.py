"""Files on their way into a message: chips that can be looked into, and counts that belong to the model."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from clover_gui.chat.attachments import PASTE_LIMIT
from clover_gui.chat.message import Attachment
from clover_gui.engine.protocol import Counted, PromptMessage
from clover_gui.errors import AttachmentRefused
from clover_gui.ui.chat.attachment_tray import AttachmentTray
from clover_gui.ui.chat.composer import Composer
from clover_gui.ui.chat.text_dialog import TextDialog
from clover_gui.ui.tasks import TaskSet
from clover_gui.ui.theme import Theme
from tests.chat.fake_engine import FakeEngine
from tests.ui.accessible_tree import unnamed


@dataclass
class OtherWords(FakeEngine):
    """A model for which each word is so many tokens."""

    tokens_per_word: int = 1

    async def count(
        self, messages: tuple[PromptMessage, ...], *, thinking: bool | None = None, reserve: int = 1024
    ) -> Counted:
        words = sum(len(message.content.split()) for message in messages)
        return Counted(1, self.tokens_per_word * words, self.context, reserve, True)


def test_another_model_counts_anew_and_takes_no_file_away(theme: Theme, qtbot: QtBot) -> None:
    composer = Composer(theme)
    qtbot.addWidget(composer)
    refused: list[list[AttachmentRefused]] = []

    async def script() -> None:
        engine = OtherWords(context=4096)
        errors: list[BaseException] = []
        tasks = TaskSet(errors.append)
        tray = AttachmentTray(composer.chips, engine, tasks)
        tray.refused.connect(refused.append)

        async def settled() -> None:
            while pending := [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]:
                await asyncio.wait(pending)

        tray.add_pasted("word " * 1000)
        await settled()
        first = tray.files[0].tokens
        engine.tokens_per_word = 2
        tray.count_again()
        assert tray.files[0].tokens == first  # until the new number is there
        await settled()
        assert tray.files[0].tokens == 2 * first
        assert not refused

        # A model with less room: the number is said, and the person's text stays.
        engine.context = 1024
        tray.count_again()
        await settled()
        assert len(refused) == 1
        assert refused[0][0].kind == "too-many-for-model", "a larger context is none that this model has"
        assert len(tray.files) == 1

        # A new file that fits into no message is not taken.
        tray.add_pasted("word " * 1000)
        await settled()
        assert len(tray.files) == 1
        assert len(refused) == 2
        # Files of a draft may have been counted by another model at another time.
        engine.context = 4096
        tray.show_files([Attachment("a.txt", "one two three", tokens=999)])
        await settled()
        assert tray.files[0].tokens < 20
        assert errors == []

    asyncio.run(script())


def test_a_long_paste_is_a_chip_that_can_be_looked_into_by_keyboard(theme: Theme, qtbot: QtBot) -> None:
    composer = Composer(theme)
    qtbot.addWidget(composer)
    composer.show()
    composer.activateWindow()
    qtbot.waitUntil(composer.isActiveWindow)
    given: list[str] = []
    composer.long_text_given.connect(given.append)
    for length in (PASTE_LIMIT, PASTE_LIMIT + 1):
        pasted = QMimeData()
        pasted.setText("x" * length)
        composer.edit.insertFromMimeData(pasted)
    assert len(composer.text()) == PASTE_LIMIT
    assert [len(text) for text in given] == [PASTE_LIMIT + 1]

    text = "A & B\n" * 1000
    composer.chips.show_attachments([Attachment("R&D notes.txt", text, tokens=3)])
    (chip,) = composer.chips.chips
    assert chip.open_button.text() == "R&&D notes.txt · 3 tokens"
    assert unnamed(composer) == []
    chip.open_button.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(chip.open_button, Qt.Key.Key_Space)
    (dialog,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, TextDialog) and w.isVisible()]
    assert dialog.windowTitle() == "R&D notes.txt"
    qtbot.waitUntil(lambda: dialog.reader.is_filled)
    assert dialog.reader.text() == text
    QTest.keyClick(dialog.reader, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
