"""Wrong bytes anywhere in the chat database: the program begins, shows what there is, and keeps the file."""

from __future__ import annotations

import random
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from clover_gui.chat import opening
from clover_gui.chat.message import AnswerStats, Attachment, MessageState
from clover_gui.chat.opening import OpenedStore, StoreCondition, open_store
from clover_gui.chat.options import ChatOptions
from clover_gui.chat.salvage import Salvaged
from clover_gui.chat.store import ChatStore
from clover_gui.errors import ChatStoreError

PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.sqlite3"


def fill(path: Path, chats: int = 5, turns: int = 2, size: int = 40) -> None:
    clock = iter(range(1_700_000_000, 1_800_000_000)).__next__
    store = ChatStore(path, clock=lambda: clock() + 0.25)
    for number in range(chats):
        chat = store.create_chat(title=f"Chat {number}")
        for turn in range(turns):
            files = [Attachment("a.txt", f"file {number}", 3)] if turn == 0 else []
            asked = store.add_user_message(chat.id, f"question {number} {turn} " + "x" * size, files)
            answer = store.begin_answer(chat.id, asked.id)
            stats = AnswerStats(tokens_written=3)
            text = f"answer {number} {turn} ä😀"
            store.finish_answer(answer.id, text, "thought", MessageState.COMPLETE, stats)
    store.close()


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for name in ("message_search_leave", "message_search_enter"):
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)


def use(store: ChatStore) -> list[str]:
    """All that the program does with chats; the texts that are shown."""
    shown = []
    for chat in store.list_chats():
        shown += [message.text for message in store.messages(chat.id)]
        store.versions(chat.id)
        for message in store.record(chat.id).messages:
            store.show_message(message.id)
        store.draft(chat.id)
        store.draft_attachments(chat.id)
    for query in ("question answer", "thought", "Chat"):
        store.search(query)
    chat = store.create_chat(title="new")
    asked = store.add_user_message(chat.id, "words that are new")
    answer = store.begin_answer(chat.id, asked.id)
    store.finish_answer(answer.id, "an answer", "", MessageState.COMPLETE, None)
    assert [message.text for message in store.messages(chat.id)] == ["words that are new", "an answer"]
    store.delete_chat(chat.id)
    store.purge_deleted()
    return shown


# ---------------------------------------------------------------------- one wrong value


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "'chmplete'"),
        ("state", "NULL"),
        ("role", "'usxr'"),
        ("stats", "'{\"tokens_written\":'"),
        ("stats", "'" + "[" * 100_000 + "'"),
        ("stats", '\'{"tokens_written":1' + "0" * 400 + ',"read_seconds":1e400}\''),
        ("stats", "x'ff00'"),
        ("text", "x'414c6cff'"),
        ("text", "5"),
        ("thinking", "x'ff'"),
        ("created", "1e300"),
        ("created", "'noon'"),
        ("parent_id", "id"),
        ("begins_context", "'x'"),
    ],
)
def test_one_wrong_value_of_a_message(path: Path, column: str, value: str) -> None:
    fill(path)
    with closing(sqlite3.connect(path)) as db:
        last = db.execute("SELECT max(id) FROM messages").fetchone()[0]
    try:
        change(path, f"UPDATE messages SET {column} = {value} WHERE id = {last}")
    except sqlite3.IntegrityError:
        change_schema_and_value(path, column, value, last)
    opened = open_store(path)
    assert "question 4 0" in " ".join(use(opened.store))
    assert not opened.in_memory
    opened.store.close()


def change_schema_and_value(path: Path, column: str, value: str, row: int) -> None:
    """What the layout forbids can be in the file all the same."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        sql = db.execute("SELECT sql FROM sqlite_master WHERE name = 'messages'").fetchone()[0]
        loose = sql.replace("NOT NULL", "        ")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'messages'", (loose,))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"UPDATE messages SET {column} = {value} WHERE id = {row}")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'messages'", (sql,))


def test_what_a_wrong_value_reads_as(path: Path) -> None:
    fill(path, chats=1, turns=1)
    huge = '{"temperature":' + "9" * 400 + "}"
    change(
        path,
        "UPDATE messages SET state = 'chmplete', stats = '{', text = CAST(x'6f6bff21' AS TEXT) WHERE id = 2",
        f"UPDATE chats SET options = '{huge}', created = 1e30",
        "INSERT INTO drafts (chat_id, text, attachments) VALUES (1, 'draft', '[{')",
    )
    opened = open_store(path)
    assert opened.condition is StoreCondition.FINE
    (chat,) = opened.store.list_chats()
    assert (chat.options, chat.created) == (ChatOptions(), 0.0)
    answer = opened.store.messages(chat.id)[-1]
    assert (answer.state, answer.stats, answer.text) == (MessageState.INTERRUPTED, None, "ok\ufffd!")
    assert (opened.store.draft(1), opened.store.draft_attachments(1)) == ("draft", ())
    opened.store.close()


def test_only_its_own_error_leaves_the_store(path: Path) -> None:
    store = ChatStore(path)
    chat = store.create_chat()
    with pytest.raises(ChatStoreError):
        store.add_user_message(chat.id, "x", [Attachment("a", "b", 1 << 70)])
    assert store.messages(chat.id) == []
    store.close()


def test_messages_in_a_circle(path: Path) -> None:
    store = ChatStore(path)
    chat = store.create_chat()
    asked = store.add_user_message(chat.id, "question")
    answer = store.begin_answer(chat.id, asked.id)
    store._db.execute("UPDATE messages SET parent_id = ? WHERE id = ?", (answer.id, asked.id))
    assert [message.text for message in store.messages(chat.id)] == ["question", ""]
    assert store.show_message(asked.id).id == chat.id
    assert len(store.record(chat.id).path()) == 2
    store.close()
    opened = open_store(path)
    assert opened.condition is StoreCondition.SET_ASIDE
    assert opened.salvaged == Salvaged(1, 2)
    opened.store.close()


def test_an_end_that_is_none_shows_the_newest_path(path: Path) -> None:
    fill(path, chats=2)
    change(path, "UPDATE chats SET leaf_id = 999 WHERE id = 1", "UPDATE chats SET leaf_id = 1 WHERE id = 2")
    opened = open_store(path)
    assert len(opened.store.messages(1)) == len(opened.store.messages(2)) == 4
    opened.store.close()


@pytest.mark.parametrize("number", ["9223372036854775807", "'x'", "0", "-5"])
def test_new_rows_get_numbers_whatever_the_last_one_was(path: Path, number: str) -> None:
    fill(path)
    change(path, f"UPDATE sqlite_sequence SET seq = {number}")
    opened = open_store(path)
    assert len(use(opened.store)) == 20
    opened.store.close()


# ---------------------------------------------------------------------- damage


def with_torn_start(path: Path) -> bytearray:
    data = bytearray(path.read_bytes())
    data[100] = 0
    return data


def test_a_list_of_free_pages_that_is_cut_off(path: Path) -> None:
    fill(path, chats=30, size=5000)
    store = ChatStore(path)
    for number in range(20, 31):
        store.delete_chat(number)
    store.purge_deleted()
    store.close()
    data = path.read_bytes()
    trunk = struct.unpack_from(">I", data, 32)[0]
    assert trunk
    for kept in (9, 100, 4000):
        path.write_bytes(data[: (trunk - 1) * PAGE + kept])
        opened = open_store(path)
        assert opened.condition is StoreCondition.SET_ASIDE
        assert opened.salvaged.chats == 19
        opened.store.close()
        again = open_store(path)
        assert (again.condition, len(again.store.list_chats())) == (StoreCondition.FINE, 19)
        again.store.close()


def test_a_time_that_is_no_number(path: Path) -> None:
    fill(path)
    data = with_torn_start(path)
    with closing(sqlite3.connect(path)) as db:
        created = db.execute("SELECT created FROM chats WHERE id = 2").fetchone()[0]
    at = data.find(struct.pack(">d", created))
    data[at : at + 8] = struct.pack(">d", float("nan"))
    path.write_bytes(data)
    opened = open_store(path)
    assert opened.salvaged == Salvaged(5, 20)
    assert opened.store.chat(2).created == 0.0
    opened.store.close()


def test_a_row_that_does_not_fit_is_left_out() -> None:
    store = ChatStore()
    row = {"id": 1, "title": "a", "created": 1.0, "updated": 1.0}
    store.fill({"chats": [row, {**row, "id": 2, "created": None}, {**row, "id": 3}, row]})
    assert {chat.id for chat in store.list_chats()} == {1, 3}
    store.close()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"CREATE TABLE chats", b"CREATE TABLE ch\xffts"),
        (b"CREATE TABLE chats", b"CREATE TABLE chxts"),
        (b"system_prompt TEXT", b"system_prumpt TEXT"),
        (b"id INTEGER PRIMARY KEY", b"id INTEGER PRIMARY KEX"),
        (b"CREATE INDEX messages_by_chat", b"CREATE INDEX messages\xfeby_chat"),
        (b"INSERT INTO message_search", b"INSERT INTO message_s\xffarch"),
        (b"VIRTUAL TABLE message_search USING fts5", b"VIRTUAL TABLE message_search USING fts9"),
    ],
)
def test_a_layout_that_is_damaged(path: Path, old: bytes, new: bytes) -> None:
    fill(path)
    data = path.read_bytes()
    assert data.count(old) >= 1
    path.write_bytes(data.replace(old, new))
    opened = open_store(path)
    assert not opened.in_memory, opened.reason
    assert len(use(opened.store)) == 20
    opened.store.close()


@pytest.mark.parametrize(
    ("place", "value"), [(0, 0), (16, 7), (18, 9), (19, 9), (21, 3), (44, 8), (56, 9), (60, 5), (63, 1)]
)
def test_each_number_of_the_first_bytes(path: Path, place: int, value: int) -> None:
    fill(path)
    data = bytearray(path.read_bytes())
    data[place] = value
    path.write_bytes(data)
    opened = open_store(path)
    assert not opened.in_memory, opened.reason
    assert len(use(opened.store)) == 20
    opened.store.close()


def journal_of(path: Path) -> bytes:
    """What stands in the journal of a program that was killed."""
    other = path.with_name("killed.sqlite3")
    store = ChatStore(other)
    store.add_user_message(store.create_chat(title="In the journal").id, "precious words")
    journal = other.with_name(other.name + "-wal").read_bytes()
    store.close()
    return journal


@pytest.mark.parametrize("content", [None, b"", bytes(8192)])
def test_a_journal_without_its_file(path: Path, content: bytes | None) -> None:
    journal = journal_of(path)
    if content is not None:
        path.write_bytes(content)
    path.with_name(path.name + "-wal").write_bytes(journal)
    opened = open_store(path)
    assert opened.condition is StoreCondition.SET_ASIDE
    assert opened.salvaged == Salvaged(1, 1)
    assert opened.set_aside is not None
    assert opened.set_aside.exists()
    assert any(file.read_bytes() == journal for file in path.parent.glob("*.damaged-*-wal"))
    opened.store.close()


def test_a_torn_journal_gives_what_was_whole(path: Path) -> None:
    journal = bytearray(journal_of(path))
    journal[-5000:] = bytes(5000)
    path.write_bytes(b"")
    path.with_name(path.name + "-wal").write_bytes(journal)
    opened = open_store(path)
    assert opened.condition is StoreCondition.SET_ASIDE
    use(opened.store)
    opened.store.close()


# ---------------------------------------------------------------------- an end in the middle


def failing(*_args: object) -> Salvaged:
    raise struct.error("something nobody thought of")


def test_what_could_not_be_brought_over_is_at_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path)
    damaged = bytes(with_torn_start(path))
    path.write_bytes(damaged)
    with monkeypatch.context() as patch:
        patch.setattr(opening, "salvage", failing)
        opened = open_store(path)
        assert opened.condition is StoreCondition.UNUSABLE
        opened.store.close()
    assert path.read_bytes() == damaged
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    opened = open_store(path)
    assert opened.salvaged == Salvaged(5, 20)
    opened.store.close()


def kill_at(monkeypatch: pytest.MonkeyPatch, name: str, after: bool) -> Callable[[], None]:
    usual = getattr(opening, name)

    def run(*args: object) -> object:
        if after:
            usual(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(opening, name, run)
    return lambda: monkeypatch.setattr(opening, name, usual)


@pytest.mark.parametrize(
    ("name", "after"),
    [("salvage", False), ("salvage", True), ("_set_aside", False), ("_set_aside", True)],
)
def test_killed_in_the_middle_of_salvaging(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, after: bool
) -> None:
    fill(path)
    path.write_bytes(with_torn_start(path))
    restore = kill_at(monkeypatch, name, after)
    with pytest.raises(KeyboardInterrupt):
        open_store(path)
    restore()
    opened = open_store(path)
    assert len(opened.store.list_chats()) == 5
    assert len(use(opened.store)) == 20
    opened.store.close()
    kept = {file.name.split("-")[0] for file in path.parent.iterdir()}
    assert kept == {path.name, f"{path.name}.damaged"}


# ---------------------------------------------------------------------- at random


def single_bytes(data: bytearray, dice: random.Random) -> None:
    for _byte in range(dice.choice((1, 1, 5, 50))):
        data[dice.randrange(len(data))] = dice.randrange(256)


def blocks(data: bytearray, dice: random.Random) -> None:
    for _block in range(dice.choice((1, 2, 5))):
        at, length = PAGE * dice.randrange(len(data) // PAGE), dice.choice((512, PAGE))
        data[at : at + length] = dice.choice((bytes(length), dice.randbytes(length)))


def cut(data: bytearray, dice: random.Random) -> None:
    del data[dice.randrange(1, len(data)) :]


def page_twice(data: bytearray, dice: random.Random) -> None:
    one, other = (PAGE * dice.randrange(len(data) // PAGE) for _page in range(2))
    data[one : one + PAGE] = data[other : other + PAGE]


def begins_whatever_is_wrong(folder: Path, good: bytes, seed: int) -> OpenedStore:
    dice = random.Random(seed)
    data = bytearray(good)
    dice.choice((single_bytes, single_bytes, blocks, cut, page_twice))(data, dice)
    path = folder / str(seed) / "chats.sqlite3"
    path.parent.mkdir()
    path.write_bytes(data)
    opened = open_store(path)
    shown = " ".join(use(opened.store))
    if opened.condition is StoreCondition.SET_ASIDE:
        assert opened.set_aside is not None
        assert opened.set_aside.exists()
    if not opened.in_memory:
        whole = [f"question {n} {t} " for n in range(30) for t in range(2)]
        there = [text for text in whole if text.encode() in data]
        saved = [text for text in there if text in shown]
        assert len(saved) >= 0.9 * len(there) - 6, f"{len(saved)} of {len(there)}"
    else:
        assert opened.condition is StoreCondition.TOO_NEW  # one byte may say so
    opened.store.close()
    return opened


def test_thirty_damages_at_random(tmp_path: Path) -> None:
    fill(tmp_path / "good.sqlite3", chats=30, size=900)
    good = (tmp_path / "good.sqlite3").read_bytes()
    opened = [begins_whatever_is_wrong(tmp_path, good, seed) for seed in range(30)]
    assert {one.condition for one in opened} >= {StoreCondition.FINE, StoreCondition.SET_ASIDE}
