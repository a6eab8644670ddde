"""How long hostile texts hold the window up, wherever they may stand: a table of the longest gaps.

    python tests/benchmarks/hostile_texts.py [NAME...]

The goal is 200 ms. No screen is needed. Gaps are the event loop's; the second figure is what of it was own
work, which is what counts on a busy machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtWidgets import QApplication, QWidget

from clover_gui.chat.message import Attachment
from clover_gui.chat.store import ChatStore
from clover_gui.ui.chat.attachment_chips import AttachmentChips
from clover_gui.ui.chat.conversation_list import ConversationList
from clover_gui.ui.chat.message_list import HistoryMessage, MessageList
from clover_gui.ui.chat.text_dialog import TextDialog
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets.message_body import MessageBody
from clover_gui.ui.widgets.plain_body import PlainBody
from tests.benchmarks.event_loop import Heart, Window, wait_ms
from tests.ui.hostile_texts import LONG_TEXTS, fetching

PIECE = 20_000
"""Characters that come at once while an answer is written."""
PATIENCE_S = 60.0


def as_answer(text: str, theme: Theme) -> QWidget:
    messages = _messages(theme)
    answer = messages.add_answer()
    _write(text, answer.append_answer)
    answer.finish()
    body = answer.body
    assert isinstance(body, MessageBody)
    _wait_for(lambda: body.is_settled)
    assert body.text() == text
    return messages


def as_thinking(text: str, theme: Theme) -> QWidget:
    messages = _messages(theme)
    answer = messages.add_answer()
    answer.append_thinking(text[:1])
    assert answer.thinking is not None
    answer.thinking.set_open(True)
    _write(text[1:], answer.append_thinking)
    answer.finish()
    wait_ms(300)
    assert answer.thinking.text() == text
    return messages


def as_question(text: str, theme: Theme) -> QWidget:
    messages = _messages(theme)
    question = messages.add_user(text)
    assert isinstance(question.body, PlainBody)
    wait_ms(50)
    question.body.show_all()
    wait_ms(300)
    assert question.text() == text
    return messages


def as_stored(text: str, theme: Theme) -> QWidget:
    messages = _messages(theme)
    messages.set_history([HistoryMessage(True, text), HistoryMessage(False, text, text)])
    body = messages.view_at(1).body
    assert isinstance(body, MessageBody)
    _wait_for(lambda: body.is_settled)
    return messages


def as_names(text: str, theme: Theme) -> QWidget:
    """As the title of a chat, the name of a file, and in the dialog that shows it."""
    store = ChatStore()
    store.create_chat(title=text)
    chats = ConversationList(theme)
    chats.resize(300, 400)
    chats.show()
    chats.show_chats(store.list_chats(), 0)
    store.close()
    chips = AttachmentChips(theme, chats)
    chips.show_attachments([Attachment(text, text, 1)])
    dialog = TextDialog(text, text, theme, chats)
    dialog.open()
    _wait_for(lambda: dialog.reader.is_filled)
    dialog.reject()
    return chats


PLACES: dict[str, Callable[[str, Theme], QWidget]] = {
    "answer": as_answer,
    "thinking": as_thinking,
    "question": as_question,
    "stored": as_stored,
    "names": as_names,
}


def main(names: list[str]) -> None:
    window = Window()
    texts = {"fetching": fetching("127.0.0.1:9", "/nowhere"), **LONG_TEXTS}
    print("longest gap / of it own work, ms")
    print(f"{'':18}", *(f"{place:>13}" for place in PLACES))
    worst = 0.0
    for name, text in texts.items():
        if names and name not in names:
            continue
        cells = []
        for place in PLACES.values():
            heart = Heart()
            made = place(text, window.theme)
            wait_ms(50)
            heart.stop()
            cells.append(f"{max(heart.gaps):6.0f} /{max(heart.work):5.0f}")
            worst = max(worst, max(heart.work))
            made.close()
            made.deleteLater()
            wait_ms(20)
        print(f"{name:18}", *(f"{cell:>13}" for cell in cells), flush=True)
    print(f"longest own work of all: {worst:.0f} ms")
    window.end()


def _messages(theme: Theme) -> MessageList:
    messages = MessageList(theme)
    messages.resize(900, 700)
    messages.show()
    QApplication.processEvents()
    return messages


def _write(text: str, append: Callable[[str], None]) -> None:
    for start in range(0, len(text), PIECE):
        append(text[start : start + PIECE])
        wait_ms(30)


def _wait_for(condition: Callable[[], bool]) -> None:
    started = time.perf_counter()
    while not condition() and time.perf_counter() < started + PATIENCE_S:
        wait_ms(30)
    wait_ms(200)


if __name__ == "__main__":
    main(sys.argv[1:])
