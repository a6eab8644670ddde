"""How the conversation keeps up with a fast model: gaps of the event loop and processor time.

    python tests/benchmarks/streaming_view.py [--tokens N] [--rate N] [--history N ...] [--formulas]
                                              [--naive S]

Scripted tokens of mixed Markdown come from a thread in real time; a heartbeat of 5 ms in the window's
thread measures how long the loop was away, up to a second after the end of the answer. ``--naive`` then sets
the whole message at every token for so many seconds, for comparison. No screen is needed.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QEventLoop, QObject, Signal
from PySide6.QtWidgets import QTextBrowser

from clover_gui.ui.chat.message_list import HistoryMessage, MessageList
from clover_gui.ui.theme import Theme
from clover_gui.ui.widgets import markdown
from clover_gui.ui.widgets.message_body import MessageBody
from tests.benchmarks.event_loop import Heart, Window, wait_ms

SECTION = """## Section {n}

A paragraph of ordinary prose with **bold words**, `inline code` and a [link](https://example.org/{n}). It
goes on for some sentences, as answers do, so that it fills three or four lines on the screen. Then it ends.

- first point of the list
- second point, with a little more text in it
  - and a nested one

```python
def function_{n}(values: list[int]) -> int:
    \"\"\"Adds what is even.\"\"\"
    return sum(value for value in values if value % 2 == 0)
```

| name | value |
|:-----|------:|
| one  | {n}   |
| two  | 2     |

"""
FORMULAS = """With $x_{n}^2$ and \\(\\frac{{a}}{{{n}}}\\) in it:

\\[
\\int_0^{{{n}}} e^{{-x^2}}\\,dx = \\sum_{{i=1}}^{{{n}}} \\frac{{i}}{{\\sqrt{{\\pi}}}}
\\]

"""
CHARACTERS_PER_TOKEN = 3.2
AFTERWARDS_MS = 1_000


def script(tokens: int, formulas: bool) -> list[str]:
    """That many pieces of mixed Markdown."""
    length = round(tokens * CHARACTERS_PER_TOKEN)
    section = SECTION + (FORMULAS if formulas else "")
    text = ""
    while len(text) < length:
        text += section.format(n=len(text) // 700)
    cuts = [round(i * length / tokens) for i in range(tokens + 1)]
    return [text[a:b] for a, b in pairwise(cuts)]


class Feed(QObject):
    """Tokens at a steady rate from a thread."""

    token = Signal(str)
    ended = Signal()

    def __init__(self, tokens: list[str], rate: float) -> None:
        super().__init__()
        self._tokens = tokens
        self._rate = rate
        self.thread_ = threading.Thread(target=self._run)

    def _run(self) -> None:
        started = time.perf_counter()
        for number, token in enumerate(self._tokens):
            ahead = started + number / self._rate - time.perf_counter()
            if ahead > 0:
                time.sleep(ahead)
            self.token.emit(token)
        self.ended.emit()


def stream(theme: Theme, tokens: list[str], rate: float, history: int) -> None:
    """The conversation as it is in the window."""
    messages = MessageList(theme)
    messages.resize(900, 700)
    messages.show()
    messages.set_history(
        [
            HistoryMessage(i % 2 == 0, "Question?" if i % 2 == 0 else SECTION.format(n=i))
            for i in range(history)
        ]
    )
    wait_ms(AFTERWARDS_MS)
    messages.add_user("Write a long text.")
    answer = messages.add_answer()
    body = answer.body
    assert isinstance(body, MessageBody)
    loop, feed, heart = QEventLoop(), Feed(tokens, rate), Heart()
    feed.token.connect(answer.append_answer)
    feed.ended.connect(answer.finish)
    body.settled.connect(loop.quit)
    feed.thread_.start()
    loop.exec()
    feed.thread_.join()
    wait_ms(AFTERWARDS_MS)
    heart.report(f"{len(tokens):,} tokens at {rate:g}/s into {history} messages")
    assert body.text() == "".join(tokens)
    messages.close()
    messages.deleteLater()


def naive(tokens: list[str], rate: float, seconds: float) -> None:
    """The whole message again at every token, as far as it gets."""
    view = QTextBrowser()
    view.resize(900, 700)
    view.show()
    loop, feed, heart = QEventLoop(), Feed(tokens[: round(rate * seconds)], rate), Heart()
    text: list[str] = []
    stop = time.perf_counter() + 6 * seconds
    drawn = 0

    def add(token: str) -> None:
        nonlocal drawn
        text.append(token)
        if time.perf_counter() < stop:
            view.setHtml(markdown.render("".join(text)))
            view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
            drawn += 1

    feed.token.connect(add)
    feed.ended.connect(loop.quit)
    feed.thread_.start()
    loop.exec()
    feed.thread_.join()
    heart.report(f"whole message at every token, {drawn:,} tokens of {seconds:g} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--history", type=int, nargs="+", default=[0])
    parser.add_argument("--formulas", action="store_true")
    parser.add_argument("--naive", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    window = Window()
    tokens = script(options.tokens, options.formulas)
    for history in options.history:
        stream(window.theme, tokens, options.rate, history)
    if options.naive:
        naive(tokens, options.rate, options.naive)
    window.end()


if __name__ == "__main__":
    main()
