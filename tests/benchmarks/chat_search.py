"""Times of the chat store with many messages: opening, listing, searching, one more answer.

Run: python -m tests.benchmarks.chat_search [messages]
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from clover_gui.chat.message import Attachment, MessageState
from clover_gui.chat.opening import open_store
from clover_gui.chat.store import ChatStore

WORDS_PER_MESSAGE = 150
MESSAGES_PER_CHAT = 50


def fill(path: Path, count: int) -> None:
    """``count`` messages of a vocabulary with natural frequencies, in chats of fifty: answers with thoughts
    of twice their length, every tenth question with a file of ten times its length."""
    dice = random.Random(1)
    vocabulary = [
        "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(20_000)
    ]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    store = ChatStore(path)
    store._db.execute("PRAGMA synchronous = OFF")
    for number in range(count // 2):
        if number % (MESSAGES_PER_CHAT // 2) == 0:
            chat = store.create_chat(title=f"Chat {number}")
        text = " ".join(dice.choices(vocabulary, weights, k=WORDS_PER_MESSAGE))
        files = []
        if number % 10 == 0:
            content = " ".join(dice.choices(vocabulary, weights, k=10 * WORDS_PER_MESSAGE))
            files = [Attachment(f"file {number}.txt", content + " pin" * (number == 0))]
        message = store.add_user_message(chat.id, text, files)
        answer = store.begin_answer(chat.id, message.id)
        words = " ".join(dice.choices(vocabulary, weights, k=WORDS_PER_MESSAGE))
        if number == count // 4:
            words += " needle in haystack"
        thoughts = " ".join(dice.choices(vocabulary, weights, k=2 * WORDS_PER_MESSAGE))
        if number == 10:
            thoughts += " ponderous"
        store.finish_answer(answer.id, words, thoughts, MessageState.COMPLETE, None)
    common.append(vocabulary[0])
    common.append(vocabulary[300])
    store.close()


common: list[str] = []


def median_ms(work: Callable[[], object], times: int = 15) -> float:
    taken = []
    for _time in range(times):
        start = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - start))
    return statistics.median(taken)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chats.sqlite3"
        fill(path, count)
        print(f"{count} messages, {path.stat().st_size / 1e6:.0f} MB")
        start = time.perf_counter()
        store = open_store(path).store
        print(f"opening                 {1000 * (time.perf_counter() - start):8.1f} ms")
        for name, query in (
            ("one message has it", "needle hayst"),
            ("one thought has it", "ponderous"),
            ("one file has it", "pin file"),
            ("most messages have it", common[0]),
            ("some messages have it", common[1]),
            ("one letter", "a"),
            ("no message has it", "zzzzzz"),
            ("read through (東京)", "東京"),
        ):
            hits = len(store.search(query))
            print(f"{name:<23} {median_ms(lambda query=query: store.search(query)):8.1f} ms, {hits} chats")
        print(f"list of chats           {median_ms(store.list_chats):8.1f} ms")
        start = time.perf_counter()
        for table in ("message_search", "file_search"):
            store._db.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")
        print(f"index made anew         {1000 * (time.perf_counter() - start):8.1f} ms")
        store.close()


if __name__ == "__main__":
    main()
