"""Run in a process of its own: compares a session that was cut, aborted and restored with a fresh evaluation.

    python -m tests.engine.session_check MODEL BUDGET_BYTES

Prints JSON: tokens read per step, largest difference of logits, whether the best token was the same.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clover_gui.engine import llama
from clover_gui.engine.cancellation import Cancellation
from clover_gui.engine.engine_log import EngineLog
from clover_gui.engine.session import Session

Read = Callable[[list[int], int], int]
Compare = Callable[[str, int, int], None]


def chats(session: Session, read: Read, compare: Compare, words: Callable[[int], list[int]]) -> None:
    """Three chats in turn, one after another and back; what was put aside goes on where it was."""
    system = words(90)
    histories = [system + words(count) for count in (500, 900, 40)]
    for turn in range(3):
        for number, history in enumerate(histories):
            tail = words(6)
            name = f"chat {number} turn {turn}"
            compare(name, read(history + tail, len(history)), len(history + tail))
            for token in words(9):
                session.write(token)
            histories[number] = history + words(30)


def main() -> None:
    binding = llama.import_binding()
    log = EngineLog(binding, lambda _line: None)
    model = llama.Model(binding, Path(sys.argv[1]))
    context = llama.Context(model, tokens=8192, batch=512, threads=1)
    fresh = llama.Context(model, tokens=8192, batch=512, threads=1)
    cancellation = Cancellation()
    context.abort_on(cancellation.flag)
    session = Session(
        context, recurrent=model.is_recurrent, checkpoint_bytes=int(sys.argv[2]), rolling_every_s=0.0
    )
    rng = random.Random(4)
    steps: list[dict[str, Any]] = []

    def words(count: int) -> list[int]:
        return [rng.randrange(32, 120) for _ in range(count)]

    def read(wanted: list[int], history: int) -> int:
        kept = session.reuse(wanted)
        assert session.read(wanted, marks=[history], stopped=lambda: False, progress=lambda _: None)
        assert session.tokens == wanted
        return len(wanted) - kept

    def compare(name: str, read_tokens: int, total: int) -> None:
        fresh.clear()
        for start in range(0, len(session.tokens), 512):
            assert fresh.decode(session.tokens[start : start + 512]) == 0
        mine, other = context.logits(), fresh.logits()
        difference = max(abs(a - b) for a, b in zip(mine, other, strict=True))
        same = mine.index(max(mine)) == other.index(max(other))
        steps.append({"step": name, "read": read_tokens, "of": total, "difference": difference, "same": same})

    history = words(700)
    for turn in range(5):
        tail = words(5 + 3 * (turn % 2))
        count = read(history + tail, len(history))
        compare(f"turn {turn}", count, len(history + tail))
        for token in words(12):
            session.write(token)
        compare(f"answer {turn}", 12, len(session.tokens))
        count = read(history + tail, len(history))
        compare(f"again {turn}", count, len(history + tail))
        if turn < 4:
            history = history + words(40)
    edited = history[:-30] + words(20)
    compare("edited", read(edited + tail, len(edited)), len(edited + tail))

    chats(session, read, compare, words)

    # Broken off in the middle of the graph, at other moments each time.
    aborted = 0
    kept: list[int] = []
    for attempt in range(12):
        longer = edited + words(3000)
        session.reuse(longer)
        cancellation.begin(attempt + 1)
        cancellation.arm(True)
        delay = 0.002 + 0.011 * attempt
        timer = threading.Timer(delay, cancellation.cancel, [attempt + 1])
        timer.start()
        complete = session.read(
            longer,
            marks=[len(longer) - 10],
            stopped=lambda: cancellation.requested,
            progress=lambda _: None,
        )
        timer.join()
        cancellation.arm(False)
        aborted += not complete
        assert session.tokens == longer[: len(session.tokens)]
        kept.append(len(session.tokens))
        # Cut back, or go on from what the stop has left.
        short = session.tokens[: 600 if attempt % 2 else None] + words(30)
        compare(f"after abort {attempt}", read(short, len(short) - 4), len(short))
    started = time.perf_counter()
    state = context.save_recurrent() if model.is_recurrent else None
    print(
        json.dumps(
            {
                "steps": steps,
                "aborted": aborted,
                "kept": kept,
                "errors": log.lines(4),
                "copied_bytes": session.copied_bytes,
                "checkpoint_bytes": len(state) if state is not None else 0,
                "save_seconds": time.perf_counter() - started,
            }
        )
    )


if __name__ == "__main__":
    main()
