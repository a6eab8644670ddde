"""How the conversation keeps up with a fast model: gaps of the event loop and processor time.

    python tests/benchmarks/streaming_view.py [--tokens 20000] [--rate 500] [--history 400] [--naive 8]

Scripted tokens of mixed Markdown come from a thread in real time; a heartbeat of 5 ms in the window's
thread measures how long the loop was away. ``--naive`` sets the whole message at every token for so many
seconds instead, for comparison. No screen is needed.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QEventLoop, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QTextBrowser

from clover_gui.ui.chat.message_list import HistoryMessage, MessageList
from clover_gui.ui.theme import Mode, Theme
from clover_gui.ui.widgets import markdown
from clover_gui.ui.widgets.message_body import MessageBody

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
CHARACTERS_PER_TOKEN = 3.2


def script(tokens: int) -> list[str]:
    """That many pieces of mixed Markdown."""
    length = round(tokens * CHARACTERS_PER_TOKEN)
    text = ""
    while len(text) < length:
        text += SECTION.format(n=len(text) // 700)
    cuts = [round(i * length / tokens) for i in range(tokens + 1)]
    return [text[a:b] for a, b in pairwise(cuts)]


class Heart(QObject):
    """Notes how long the event loop was away, in milliseconds: by the clock, and at work itself.

    On a machine that is busy with something else only the second figure says something about the program.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[float] = []
        self.work: list[float] = []
        self._last, self._last_work = time.perf_counter(), time.thread_time()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(5)
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    def _beat(self) -> None:
        now, work = time.perf_counter(), time.thread_time()
        self.gaps.append((now - self._last) * 1000)
        self.work.append((work - self._last_work) * 1000)
        self._last, self._last_work = now, work


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


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def spread(values: list[float]) -> str:
    values = sorted(values) or [0.0]
    p99 = values[min(len(values) - 1, round(len(values) * 0.99))]
    return f"median {statistics.median(values):.1f}, p99 {p99:.1f}, longest {values[-1]:.1f} ms"


def report(name: str, heart: Heart, cpu: float, wall: float) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name}:\n  gaps {spread(heart.gaps)}; of it own work {spread(heart.work)}")
    print(f"  processor {cpu:.1f} s of {wall:.1f} s; peak memory {memory:.0f} MiB", flush=True)


def stream(theme: Theme, tokens: list[str], rate: float, history: int) -> None:
    """The conversation as it is in the window."""
    messages = MessageList(theme)
    messages.resize(900, 700)
    messages.show()
    before = [
        HistoryMessage(i % 2 == 0, "Question?" if i % 2 == 0 else SECTION.format(n=i)) for i in range(history)
    ]
    opened = time.perf_counter()
    messages.set_history(before)
    messages.repaint()
    shown = (time.perf_counter() - opened) * 1000
    loop = QEventLoop()
    QTimer.singleShot(1_000, loop.quit)
    loop.exec()
    messages.add_user("Write a long text.")
    answer = messages.add_answer()
    body = answer.body
    assert isinstance(body, MessageBody)
    feed, heart = Feed(tokens, rate), Heart()
    feed.token.connect(answer.append_answer)
    feed.ended.connect(answer.finish)
    body.settled.connect(loop.quit)
    cpu, wall = cpu_s(), time.perf_counter()
    feed.thread_.start()
    loop.exec()
    feed.thread_.join()
    name = f"{len(tokens):,} tokens at {rate:g}/s into {history} messages (shown in {shown:.0f} ms)"
    report(name, heart, cpu_s() - cpu, time.perf_counter() - wall)
    assert body.text() == "".join(tokens)
    messages.close()


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
    cpu, wall = cpu_s(), time.perf_counter()
    feed.thread_.start()
    loop.exec()
    feed.thread_.join()
    report(
        f"whole message at every token, {drawn:,} tokens of {seconds:g} s",
        heart,
        cpu_s() - cpu,
        time.perf_counter() - wall,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--history", type=int, default=0)
    parser.add_argument("--naive", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    app = QApplication(sys.argv[:1])
    theme = Theme()
    theme.apply(app, Mode.LIGHT)
    markdown.warm_up()
    tokens = script(options.tokens)
    stream(theme, tokens, options.rate, options.history)
    if options.naive:
        naive(tokens, options.rate, options.naive)


if __name__ == "__main__":
    main()
