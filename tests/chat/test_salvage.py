"""What is saved of a damaged chat database: all that is whole, nothing that is wrong, and the file stays."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from clover_gui.chat.message import AnswerStats, Attachment, Message, MessageState
from clover_gui.chat.opening import StoreCondition, open_store
from clover_gui.chat.options import ChatOptions
from clover_gui.chat.salvage import Salvaged, salvage
from clover_gui.chat.schema import MIGRATIONS
from clover_gui.chat.sqlite_pages import read_rows
from clover_gui.chat.store import ChatStore
from clover_gui.explain import store_text

PAGE = 4096
CHATS, TURNS = 20, 10


def make(path: Path) -> dict[int, list[Message]]:
    """A database of some hundred pages: short and long texts, files, thoughts, versions. What is shown."""
    dice = random.Random(3)
    store = ChatStore(path)
    for number in range(CHATS):
        chat = store.create_chat(title=f"Chat {number}", thinking=number % 2 == 0)
        if number % 5 == 0:
            store.set_options(chat.id, ChatOptions(temperature=0.25))
            store.set_pinned(chat.id, True)
        for turn in range(TURNS):
            files = [Attachment(f"f{turn}.txt", f"file {number} {turn} " * dice.randint(1, 900), 7)]
            text = f"question {number} {turn} ä€😀 " * dice.choice((1, 3, 400))
            asked = store.add_user_message(chat.id, text, files if turn % 4 == 0 else ())
            answer = store.begin_answer(chat.id, asked.id)
            store.finish_answer(
                answer.id,
                f"answer {number} {turn} " * dice.choice((1, 20, 900)),
                f"thought {number} {turn}",
                dice.choice((MessageState.COMPLETE, MessageState.STOPPED)),
                AnswerStats(tokens_written=turn, write_seconds=0.5),
            )
        store.save_draft(chat.id, f"draft {number}")
    content = {chat.id: store.messages(chat.id) for chat in store.list_chats()}
    store.close()
    return content


def save(damaged: Path, folder: Path) -> tuple[ChatStore, Salvaged]:
    store = ChatStore(folder / "new.sqlite3")
    return store, salvage(damaged, store)


def nothing_wrong(store: ChatStore, before: dict[int, list[Message]]) -> int:
    """Every message that was saved is one that was there, or its beginning; the number of whole ones."""
    known = {message.id: message for messages in before.values() for message in messages}
    whole = 0
    for chat in store.list_chats():
        for message in store.messages(chat.id):
            original = known[message.id]
            assert message.chat_id == original.chat_id
            pairs = zip(original.text, message.text, strict=False)
            same = list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
            # A few signs of noise may look like text.
            assert len(message.text) - len(same) <= 16
            assert message.role is original.role
            whole += (message.text, message.thinking) == (original.text, original.thinking)
    assert store._db.execute("PRAGMA quick_check").fetchone()[0] == "ok"
    assert store._db.execute("PRAGMA foreign_key_check").fetchall() == []
    return whole


def test_of_a_sound_file_everything_comes_over(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    before = make(path)
    store, saved = save(path, tmp_path)
    assert saved == Salvaged(CHATS, 2 * CHATS * TURNS)
    old = ChatStore(path)
    assert [chat.id for chat in store.list_chats()] == [chat.id for chat in old.list_chats()]
    for chat in old.list_chats():
        assert store.chat(chat.id) == chat
        assert store.messages(chat.id) == before[chat.id]
        assert store.draft(chat.id) == old.draft(chat.id)
    # New ones get numbers that nobody had.
    assert store.create_chat().id > max(before)
    old.close()
    store.close()


def zeros(data: bytearray, dice: random.Random, pages: int) -> None:
    for _place in range(pages):
        at = PAGE * dice.randrange(1, len(data) // PAGE)
        data[at : at + PAGE] = bytes(PAGE)


def noise(data: bytearray, dice: random.Random, pages: int) -> None:
    for _place in range(pages):
        at = dice.randrange(PAGE, len(data) - 700)
        data[at : at + 600] = dice.randbytes(600)


def first_pages(data: bytearray, _dice: random.Random, pages: int) -> None:
    data[: PAGE * pages] = b"\xff" * (PAGE * pages)


def cut(data: bytearray, _dice: random.Random, _pages: int) -> None:
    del data[len(data) // 2 + 100 :]


@pytest.mark.parametrize(
    ("damage", "pages", "least"),
    [
        pytest.param(zeros, 1, 0.9, id="one page of zeros"),
        pytest.param(zeros, 12, 0.8, id="twelve pages of zeros"),
        pytest.param(noise, 5, 0.85, id="noise at five places"),
        pytest.param(noise, 40, 0.5, id="noise at forty places"),
        pytest.param(first_pages, 1, 0.95, id="the first page"),
        pytest.param(first_pages, 8, 0.8, id="all roots of the tables"),
        pytest.param(cut, 0, 0.25, id="cut in the middle"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_torn_at_several_places(
    tmp_path: Path,
    damage: Callable[[bytearray, random.Random, int], None],
    pages: int,
    least: float,
    seed: int,
) -> None:
    path = tmp_path / "chats.sqlite3"
    before = make(path)
    data = bytearray(path.read_bytes())
    damage(data, random.Random(seed), pages)
    path.write_bytes(data)

    store, saved = save(path, tmp_path)
    whole = nothing_wrong(store, before)
    total = sum(map(len, before.values()))
    print(f"{damage.__name__} {pages}: {saved}, {whole} of {total} messages whole")
    assert whole >= least * total
    assert saved.messages >= whole
    assert path.read_bytes() == bytes(data)
    store.close()


def test_opening_saves_and_says_what(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    before = make(path)
    data = bytearray(path.read_bytes())
    first_pages(data, random.Random(1), 4)
    zeros(data, random.Random(1), 6)
    path.write_bytes(data)
    opened = open_store(path)
    assert opened.condition is StoreCondition.SET_ASIDE
    assert opened.set_aside is not None
    assert opened.set_aside.read_bytes() == bytes(data)
    nothing_wrong(opened.store, before)
    saved = opened.salvaged
    assert saved.messages > 0.8 * 2 * CHATS * TURNS
    assert opened.store.search("question 7 3")[0].chat_id in before
    text = store_text(
        opened.condition,
        opened.reason,
        opened.set_aside,
        chats=saved.chats,
        messages=saved.messages,
    )
    assert f"{saved.chats} chats with {saved.messages} messages could be saved" in text
    assert opened.set_aside.name in text
    opened.store.add_user_message(opened.store.list_chats()[0].id, "goes on")
    opened.store.close()
    assert open_store(path).condition is StoreCondition.FINE


def test_messages_whose_chat_is_lost_get_one(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    store = ChatStore(path)
    chat = store.create_chat(title="Lost title")
    asked = store.add_user_message(chat.id, "The question")
    answer = store.begin_answer(chat.id, asked.id)
    store.finish_answer(answer.id, "The answer", "", MessageState.COMPLETE, None)
    store._db.execute("PRAGMA foreign_keys = OFF")
    store._db.execute("DELETE FROM chats")
    store._db.execute("DELETE FROM messages WHERE id = ?", (asked.id,))
    store.close()
    new, saved = save(path, tmp_path)
    assert saved == Salvaged(1, 1)
    (found,) = new.list_chats()
    assert (found.id, found.title) == (chat.id, "The answer")
    (message,) = new.messages(chat.id)
    assert (message.text, message.parent_id) == ("The answer", None)
    new.close()


def test_what_was_deleted_for_good_stays_away(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    store = ChatStore(path)
    for number in range(20):
        chat = store.create_chat(title=f"Chat {number}")
        for _turn in range(20):
            store.add_user_message(chat.id, f"secret {number} " * 50)
    for chat in store.list_chats()[5:]:
        store.delete_chat(chat.id)
    kept = {chat.id for chat in store.list_chats()}
    store.purge_deleted()
    store.close()
    new, saved = save(path, tmp_path)
    assert {chat.id for chat in new.list_chats()} == kept
    assert saved == Salvaged(5, 100)
    assert new._db.execute("SELECT count(*) FROM messages").fetchone()[0] == 100
    new.close()


def test_what_is_only_in_the_journal_is_saved_too(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    before = make(path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("UPDATE messages SET text = 'newest words' WHERE id = 2")
    data, journal = bytearray(path.read_bytes()), path.with_name(path.name + "-wal").read_bytes()
    db.close()
    zeros(data, random.Random(4), 3)
    damaged = tmp_path / "damaged.sqlite3"
    damaged.write_bytes(data)
    damaged.with_name(damaged.name + "-wal").write_bytes(journal)
    store, saved = save(damaged, tmp_path)
    assert saved.messages > 0.8 * sum(map(len, before.values()))
    assert store._db.execute("SELECT text FROM messages WHERE id = 2").fetchone()[0] == "newest words"
    assert damaged.read_bytes() == bytes(data)
    store.close()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_files_of_every_earlier_layout(tmp_path: Path, version: int) -> None:
    path = tmp_path / "old.sqlite3"
    old = sqlite3.connect(path)
    for number in range(version):
        old.executescript(MIGRATIONS[number])
    old.executescript(
        f"PRAGMA user_version = {version};"
        "INSERT INTO chats (title, created, updated, leaf_id) VALUES ('Old', 1, 2, 2);"
        "INSERT INTO messages (chat_id, role, text, state, created) VALUES (1, 'user', 'q', 'complete', 1);"
        "INSERT INTO messages (chat_id, parent_id, role, text, state, created)"
        " VALUES (1, 1, 'assistant', 'a', 'running', 2);"
        "INSERT INTO drafts (chat_id, text) VALUES (0, 'half written');"
    )
    old.close()
    store, saved = save(path, tmp_path)
    assert saved == Salvaged(1, 2)
    (chat,) = store.list_chats()
    assert (chat.title, chat.thinking, chat.pinned, chat.options) == ("Old", True, False, ChatOptions())
    assert [(m.text, m.state) for m in store.messages(1)] == [
        ("q", MessageState.COMPLETE),
        ("a", MessageState.INTERRUPTED),
    ]
    assert store.draft(0) == "half written"
    store.close()


@pytest.mark.parametrize("content", [b"", b"x", b"no database at all " * 500, bytes(9000), b"\xff" * 9000])
def test_what_is_no_database_gives_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "damaged.sqlite3"
    path.write_bytes(content)
    store, saved = save(path, tmp_path)
    assert saved == Salvaged()
    assert store.list_chats() == []
    store.close()


def test_no_damage_breaks_the_reader(tmp_path: Path) -> None:
    """Single bytes anywhere, above all in headers and lengths."""
    path = tmp_path / "small.sqlite3"
    store = ChatStore(path)
    chat = store.create_chat(title="t")
    for number in range(30):
        store.add_user_message(chat.id, f"message {number} " * 100)
    store.close()
    good = path.read_bytes()
    dice = random.Random(5)
    damaged = tmp_path / "damaged.sqlite3"
    for _round in range(300):
        data = bytearray(good)
        for _byte in range(dice.randint(1, 30)):
            page = dice.randrange(len(data) // PAGE)
            data[page * PAGE + dice.choice((dice.randrange(PAGE), dice.randrange(120)))] = dice.randrange(256)
        damaged.write_bytes(data)
        for _row, values in read_rows(damaged):
            assert isinstance(values, list)
