"""The chat store: what it keeps, in which order, and what a kill, damage or missing rights do to it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from clover_gui.chat.message import AnswerStats, MessageState, Role
from clover_gui.chat.opening import StoreCondition, open_store
from clover_gui.chat.schema import MIGRATIONS
from clover_gui.chat.store import ChatStore
from clover_gui.errors import ChatStoreError

STATS = AnswerStats(tokens_read=5, tokens_written=9, write_seconds=0.5, seed=3, model="m")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> ChatStore:
    return ChatStore(tmp_path / "chats.sqlite3", clock=Clock())


def test_a_conversation_comes_back_as_it_was(store: ChatStore, tmp_path: Path) -> None:
    chat = store.create_chat(thinking=False)
    question = store.add_user_message(chat.id, "What\x00 is 😀?\n\nTell me.")
    answer = store.begin_answer(chat.id, question.id)
    assert answer.state is MessageState.RUNNING
    store.update_answer(answer.id, "It is", "hm")
    store.finish_answer(answer.id, "It is a face.", "hmm", MessageState.COMPLETE, STATS)
    store.close()

    again = ChatStore(tmp_path / "chats.sqlite3")
    first, second = again.messages(chat.id)
    assert (first.role, first.text, first.parent_id) == (Role.USER, "What\x00 is 😀?\n\nTell me.", None)
    assert (second.text, second.thinking, second.state) == ("It is a face.", "hmm", MessageState.COMPLETE)
    assert (second.stats, second.parent_id) == (STATS, first.id)
    assert again.chat(chat.id).title == "What is 😀? Tell me."
    assert again.chat(chat.id).thinking is False
    again.close()


def test_title_is_one_short_line_and_only_made_once(store: ChatStore) -> None:
    chat = store.create_chat()
    store.add_user_message(chat.id, "word " * 1000)
    title = store.chat(chat.id).title
    assert len(title) <= 60
    assert "\n" not in title
    store.rename_chat(chat.id, "Mine")
    store.add_user_message(chat.id, "other")
    assert store.chat(chat.id).title == "Mine"


def test_the_chat_used_last_is_first(store: ChatStore) -> None:
    one, two = store.create_chat(), store.create_chat()
    assert [chat.id for chat in store.list_chats()] == [two.id, one.id]
    store.add_user_message(one.id, "hello")
    assert [chat.id for chat in store.list_chats()] == [one.id, two.id]


def test_delete_can_be_undone_until_it_is_final(store: ChatStore) -> None:
    chat = store.create_chat()
    store.add_user_message(chat.id, "keep me")
    store.save_draft(chat.id, "draft")
    store.delete_chat(chat.id)
    assert store.list_chats() == []
    store.undo_delete(chat.id)
    assert [c.id for c in store.list_chats()] == [chat.id]
    assert store.messages(chat.id)[0].text == "keep me"
    store.delete_chat(chat.id)
    assert store.purge_deleted(older_than_s=3600) == 0
    assert store.purge_deleted() == 1
    assert store.messages(chat.id) == []
    assert store.draft(chat.id) == ""
    with pytest.raises(ChatStoreError):
        store.undo_delete(chat.id)


def test_a_second_answer_is_a_version_and_the_first_stays(store: ChatStore) -> None:
    chat = store.create_chat()
    question = store.add_user_message(chat.id, "q")
    for text in ("one", "two"):
        answer = store.begin_answer(chat.id, question.id)
        store.finish_answer(answer.id, text, "", MessageState.COMPLETE, None)
    assert [message.text for message in store.messages(chat.id)] == ["q", "two"]
    kept = store._db.execute("SELECT text FROM messages WHERE parent_id = ? ORDER BY id", (question.id,))
    assert [row[0] for row in kept] == ["one", "two"]


def test_drafts_belong_to_their_chat(store: ChatStore) -> None:
    chat = store.create_chat()
    store.save_draft(0, "for a new chat")
    store.save_draft(chat.id, "a")
    store.save_draft(chat.id, "half a pair: \ud83d")
    assert store.draft(0) == "for a new chat"
    assert store.draft(chat.id) == "half a pair: \ufffd"
    store.add_user_message(chat.id, "sent")
    assert store.draft(chat.id) == ""
    store.save_draft(0, "")
    assert store.draft(0) == ""


def test_a_message_for_a_missing_chat_changes_nothing(store: ChatStore) -> None:
    with pytest.raises(ChatStoreError):
        store.add_user_message(99, "x")
    assert store._db.execute("SELECT count(*) FROM messages").fetchone()[0] == 0


_KILLED_IN_MID_ANSWER = """
import sys, time
from pathlib import Path
from clover_gui.chat.store import ChatStore
store = ChatStore(Path(sys.argv[1]))
chat = store.create_chat()
question = store.add_user_message(chat.id, "a question")
answer = store.begin_answer(chat.id, question.id)
for number in range(1, 10**6):
    store.update_answer(answer.id, "word " * number, "a thought")
    print(number, flush=True)
"""


def test_a_kill_in_mid_answer_loses_nothing_that_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    child = subprocess.Popen(
        [sys.executable, "-c", _KILLED_IN_MID_ANSWER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    saved = 0
    while saved < 5:
        saved = int(child.stdout.readline())
    child.kill()
    rest = child.stdout.read().split()
    assert child.wait() == -signal.SIGKILL if os.name == "posix" else child.wait() != 0
    child.stdout.close()

    opened = open_store(path)
    assert (opened.condition, opened.recovered) == (StoreCondition.FINE, 1)
    question, answer = opened.store.messages(opened.store.list_chats()[0].id)
    assert question.text == "a question"
    assert answer.state is MessageState.INTERRUPTED
    assert len(answer.text.split()) >= int(rest[-1] if rest else saved)
    assert answer.thinking == "a thought"
    opened.store.close()


def _written(path: Path) -> int:
    """A store that was killed: its last writes are in the journal only. Returns the chat's id."""
    script = _KILLED_IN_MID_ANSWER.replace("range(1, 10**6)", "range(1, 40)") + "import os; os._exit(9)"
    subprocess.run([sys.executable, "-c", script, str(path)], stdout=subprocess.DEVNULL, check=False)
    return 1


@pytest.mark.parametrize("cut", [1, 100, 5000])
def test_a_torn_last_write_costs_only_that_write(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "chats.sqlite3"
    chat_id = _written(path)
    journal = path.with_name(path.name + "-wal")
    content = journal.read_bytes()
    journal.write_bytes(content[:-cut])
    opened = open_store(path)
    assert opened.condition is StoreCondition.FINE
    question, answer = opened.store.messages(chat_id)
    assert question.text == "a question"
    assert len(answer.text.split()) >= 36
    opened.store.close()


@pytest.mark.parametrize("damage", ["noise", "cut", "page"])
def test_a_damaged_file_is_set_aside_and_a_new_one_begins(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "chats.sqlite3"
    store = ChatStore(path)
    chat = store.create_chat()
    for number in range(50):
        store.add_user_message(chat.id, f"message {number} " * 200)
    store.close()
    good = path.read_bytes()
    bad = {
        "noise": b"this is no database " * 500,
        "cut": good[: len(good) // 2 + 100],
        "page": good[:8192] + b"\xff" * 8192 + good[16384:],
    }[damage]
    path.write_bytes(bad)

    opened = open_store(path)
    assert opened.condition is StoreCondition.SET_ASIDE
    assert not opened.in_memory
    assert opened.reason
    assert opened.set_aside is not None
    assert opened.set_aside.read_bytes() == bad
    assert "damaged-" in opened.set_aside.name
    if damage == "noise":
        assert opened.store.list_chats() == []
    chat = opened.store.create_chat()
    opened.store.add_user_message(chat.id, "goes on")
    opened.store.close()
    assert open_store(path).condition is StoreCondition.FINE


def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    ChatStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    before = path.read_bytes()
    opened = open_store(path)
    assert opened.condition is StoreCondition.TOO_NEW
    assert opened.in_memory
    opened.store.create_chat()
    opened.store.close()
    assert path.read_bytes() == before


def test_a_folder_that_cannot_exist_gives_a_store_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    opened = open_store(tmp_path / "file" / "chats.sqlite3")
    assert opened.condition is StoreCondition.READ_ONLY
    assert opened.reason
    chat = opened.store.create_chat()
    assert opened.store.add_user_message(chat.id, "hello").text == "hello"
    opened.store.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "chats.sqlite3")
    opened = open_store(tmp_path / "chats.sqlite3")
    assert opened.condition is StoreCondition.READ_ONLY
    assert opened.reason
    opened.store.close()


_AS_SOMEBODY_ELSE = """
import os, sys
from pathlib import Path
from clover_gui.chat.opening import open_store
if os.geteuid() == 0:  # rights mean nothing to root
    os.setuid(65534)
opened = open_store(Path(sys.argv[1]))
chats = opened.store.list_chats()
opened.store.add_user_message(opened.store.create_chat().id, "not kept")
print(opened.condition, opened.in_memory, [m.text for c in chats for m in opened.store.messages(c.id)])
"""


@pytest.mark.skipif(os.name != "posix", reason="rights as on POSIX")
@pytest.mark.parametrize("readonly", ["folder", "file"])
def test_without_rights_the_old_chats_are_shown_and_new_ones_go_on(readonly: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "chats.sqlite3"
        store = ChatStore(path)
        store.add_user_message(store.create_chat().id, "from before")
        store.close()
        path.chmod(0o444)
        folder.chmod(0o555 if readonly == "folder" else 0o777)
        before = path.read_bytes()
        child = subprocess.run(
            [sys.executable, "-c", _AS_SOMEBODY_ELSE, str(path)], capture_output=True, text=True, check=True
        )
        assert child.stdout.split(maxsplit=2) == ["read-only", "True", "['from before']\n"]
        assert path.read_bytes() == before
        folder.chmod(0o755)


def test_every_earlier_layout_is_brought_up_to_date(tmp_path: Path) -> None:
    for version in range(len(MIGRATIONS) + 1):
        path = tmp_path / f"{version}.sqlite3"
        db = sqlite3.connect(path)
        for number in range(version):
            db.executescript(MIGRATIONS[number])
        db.execute(f"PRAGMA user_version = {version}")
        db.close()
        store = ChatStore(path)
        assert store.list_chats() == []
        assert store._db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        store.close()


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_nobody_else_can_read_the_chats_in_a_folder_that_is_open_to_all(tmp_path: Path) -> None:
    folder = tmp_path / "clover-data"
    folder.mkdir()
    folder.chmod(0o755)
    path = folder / "chats.sqlite3"

    def rights() -> dict[str, int]:
        return {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}

    everything = dict.fromkeys(("chats.sqlite3", "chats.sqlite3-wal", "chats.sqlite3-shm"), 0o600)
    former = os.umask(0o022)
    try:
        store = ChatStore(path)
        store.create_chat()
        assert rights() == everything
        # As an earlier version left them.
        for file in folder.iterdir():
            file.chmod(0o644)
        again = ChatStore(path)
        assert rights() == everything
        again.close()
        path.unlink()
        store.put_back_if_gone()
        assert rights()["chats.sqlite3"] == 0o600
        store.close()
    finally:
        os.umask(former)


def test_two_processes_can_share_the_file(store: ChatStore, tmp_path: Path) -> None:
    other = ChatStore(tmp_path / "chats.sqlite3")
    chat = store.create_chat()
    other.add_user_message(chat.id, "from the other")
    assert store.messages(chat.id)[0].text == "from the other"
    other.close()


def test_a_file_of_the_first_version_is_brought_up(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    old = sqlite3.connect(path)
    old.executescript(f"BEGIN;{MIGRATIONS[0]}PRAGMA user_version = 1;COMMIT;")
    old.execute("INSERT INTO chats (title, created, updated, leaf_id) VALUES ('Old', 1, 2, 2)")
    old.execute(
        "INSERT INTO messages (chat_id, role, text, state, created) VALUES (1, 'user', 'q', 'complete', 1)"
    )
    old.execute(
        "INSERT INTO messages (chat_id, parent_id, role, text, state, stats, created)"
        " VALUES (1, 1, 'assistant', 'a', 'complete', '{\"tokens_written\": 4, \"later\": 1}', 2)"
    )
    old.commit()
    old.close()

    store = ChatStore(path)
    assert store._db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
    chat = store.list_chats()[0]
    assert (chat.title, chat.system_prompt) == ("Old", "")
    question, answer = store.messages(chat.id)
    assert (question.text, question.begins_context) == ("q", False)
    assert answer.stats == AnswerStats(tokens_written=4)
    assert store.set_system_prompt(chat.id, "Be kind. \ud83d").system_prompt == "Be kind. \ufffd"
    assert store.begin_context(question.id).begins_context
    store.close()
    again = ChatStore(path)
    assert again.chat(chat.id).system_prompt == "Be kind. \ufffd"
    assert again.messages(chat.id)[0].begins_context
    again.close()


def test_another_version_of_a_question(store: ChatStore) -> None:
    chat = store.create_chat(system_prompt="s")
    first = store.add_user_message(chat.id, "first")
    answer = store.begin_answer(chat.id, first.id)
    second = store.add_user_message(chat.id, "second")
    revised = store.revise_user_message(second.id, "other")
    assert revised.parent_id == answer.id
    assert [m.text for m in store.messages(chat.id)] == ["first", "", "other"]
    root = store.revise_user_message(first.id, "begin otherwise")
    assert root.parent_id is None
    assert [m.text for m in store.messages(chat.id)] == ["begin otherwise"]
    with pytest.raises(ChatStoreError):
        store.revise_user_message(999, "x")
