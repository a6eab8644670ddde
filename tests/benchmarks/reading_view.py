"""How fast long chats open, and how fast they are searched.

    python tests/benchmarks/reading_view.py

No screen is needed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtWidgets import QApplication

from clover_gui.ui.chat.message_list import HistoryMessage, MessageList
from clover_gui.ui.theme import Theme
from tests.benchmarks.event_loop import Heart, Window, wait_ms
from tests.benchmarks.streaming_view import SECTION


def milliseconds(since: float) -> str:
    return f"{(time.perf_counter() - since) * 1000:.0f} ms"


def new_list(theme: Theme) -> MessageList:
    messages = MessageList(theme)
    messages.resize(900, 700)
    messages.show()
    QApplication.processEvents()
    return messages


def open_chat(theme: Theme, count: int) -> None:
    """A chat of so many messages: until its end is painted, until all near it is ready, then scrolling."""
    stored = [
        HistoryMessage(i % 2 == 0, f"Question {i}?" if i % 2 == 0 else SECTION.format(n=i))
        for i in range(count)
    ]
    messages = new_list(theme)
    heart = Heart()
    started = time.perf_counter()
    messages.set_history(stored)
    messages.repaint()
    painted = milliseconds(started)
    QApplication.processEvents()
    interactive = milliseconds(started)
    wait_ms(1_500)
    heart.report(f"{count:,} messages opened: painted after {painted}, answers to events after {interactive}")
    heart = Heart()
    bar = messages.verticalScrollBar()
    for step in range(100):
        bar.setValue(round(bar.maximum() * ((step * 37) % 100) / 100))
        wait_ms(20)
    heart.report("  100 jumps in it")
    times = []
    for text in ("section", "function_9", "e", "not there"):
        started = time.perf_counter()
        _index, found = messages.find_text(text)
        times.append(f"{text!r} {found:,} times in {milliseconds(started)}")
    print("  found:", "; ".join(times), flush=True)
    close(messages)


def close(messages: MessageList) -> None:
    messages.close()
    messages.deleteLater()
    wait_ms(50)


def main() -> None:
    window = Window()
    for count in (1_000, 10_000):
        open_chat(window.theme, count)
    window.end()


if __name__ == "__main__":
    main()
