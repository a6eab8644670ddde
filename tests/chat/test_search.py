"""Search over all chats: what is found, that the index keeps up, and that it can be lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from clover_gui.chat import search_index
from clover_gui.chat.message import Attachment, MessageState
from clover_gui.chat.opening import StoreCondition, open_store
from clover_gui.chat.schema import MIGRATIONS
from clover_gui.chat.search import FOUND_END, FOUND_START, HitPlace
from clover_gui.chat.store import ChatStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = ChatStore(tmp_path / "chats.sqlite3")
    yield store
    store.close()


def chat_with(store: ChatStore, question: str, answer: str = "") -> int:
    chat = store.create_chat()
    message = store.add_user_message(chat.id, question)
    begun = store.begin_answer(chat.id, message.id)
    store.finish_answer(begun.id, answer, "", MessageState.COMPLETE, None)
    return chat.id


def chat_with_file(store: ChatStore, question: str, *files: Attachment) -> int:
    chat = store.create_chat()
    store.add_user_message(chat.id, question, files)
    return chat.id


def found(store: ChatStore, query: str) -> list[int]:
    return [hit.chat_id for hit in store.search(query)]


def sound(store: ChatStore) -> None:
    """The index says what the messages say; SQLite raises otherwise."""
    for table in ("message_search", "file_search"):
        store._db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")


def test_words_of_questions_answers_and_titles_are_found(store: ChatStore) -> None:
    bread = chat_with(store, "How do I bake bread?", "With flour, water and patience.")
    tax = chat_with(store, "What is a Steuererklärung?", "A tax return.")
    store.rename_chat(tax, "Money matters")
    assert found(store, "flour") == [bread]
    assert found(store, "PATIENCE water") == [bread]
    assert found(store, "steuererklarung") == [tax]
    assert found(store, "money") == [tax]
    assert found(store, "fl") == [bread]
    assert found(store, "flour return") == []
    assert found(store, "   ") == []


def test_a_hit_shows_the_words_around_it_and_leads_to_the_newest_message(store: ChatStore) -> None:
    chat = store.create_chat()
    store.add_user_message(chat.id, "the sea is blue")
    newest = store.add_user_message(chat.id, "why is the sea " + "so very " * 40 + "blue")
    (hit,) = store.search("sea")
    assert (hit.message_id, hit.count) == (newest.id, 2)
    assert f"{FOUND_START}sea{FOUND_END}" in hit.snippet
    assert len(hit.snippet) < 200


@pytest.mark.parametrize(
    "query",
    ['"', "*", "a OR b", "NEAR(", "x:y", "-", "'; DROP TABLE messages", "(", "%", "\x00", "🙂", "AND"],
)
def test_signs_of_the_query_language_are_only_text(store: ChatStore, query: str) -> None:
    chat_with(store, "plain words")
    assert found(store, query) == []
    assert found(store, "plain") != []


def test_a_sign_inside_a_word_does_not_hide_it(store: ChatStore) -> None:
    chat = chat_with(store, "call read_text() twice")
    assert found(store, "read_text()") == [chat]
    assert found(store, "read_te") == [chat]


def test_scripts_without_spaces_are_searched_inside_sentences(store: ChatStore) -> None:
    chat = chat_with(store, "明日の東京の天気はどうですか")
    (hit,) = store.search("東京")
    assert hit.chat_id == chat
    assert f"{FOUND_START}東京{FOUND_END}" in hit.snippet


def test_the_index_follows_every_change(store: ChatStore) -> None:
    chat = store.create_chat()
    question = store.add_user_message(chat.id, "question")
    answer = store.begin_answer(chat.id, question.id)
    store.update_answer(answer.id, "halfway", "")
    assert found(store, "halfway") == []
    store.finish_answer(answer.id, "complete", "", MessageState.COMPLETE, None)
    assert found(store, "complete") == [chat.id]
    cut = store.begin_answer(chat.id, question.id)
    store.update_answer(cut.id, "interrupted words", "")
    store.recover()
    assert found(store, "interrupted") == [chat.id]
    store.revise_user_message(question.id, "question in other words")
    assert found(store, "other") == [chat.id]
    sound(store)
    store.delete_chat(chat.id)
    assert found(store, "complete") == []
    store.undo_delete(chat.id)
    assert found(store, "complete") == [chat.id]
    store.delete_chat(chat.id)
    store.purge_deleted()
    assert store._db.execute("SELECT count(*) FROM message_search_docsize").fetchone()[0] == 0
    sound(store)


def test_a_lost_index_is_made_again(store: ChatStore, tmp_path: Path) -> None:
    chat = chat_with(store, "needle")
    store._db.executescript("DROP TRIGGER message_search_insert; DROP TABLE message_search;")
    other = ChatStore(tmp_path / "chats.sqlite3")
    assert found(other, "needle") == [chat]
    sound(other)
    other.close()


def test_a_damaged_index_does_not_cost_the_chats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chats.sqlite3"
    store = ChatStore(path)
    chat = chat_with(store, "needle")
    store.close()
    real = search_index.fault_of

    def fault_of(db: sqlite3.Connection) -> str:
        # As SQLite 3.44 and later say it, which also look into the index.
        has_index = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_search'").fetchone()
        return "malformed inverted index for FTS5 table main.message_search" if has_index else real(db)

    monkeypatch.setattr(search_index, "fault_of", fault_of)
    monkeypatch.setattr("clover_gui.chat.database.fault_of", fault_of)
    opened = open_store(path)
    assert opened.condition is StoreCondition.FINE
    assert found(opened.store, "needle") == [chat]
    opened.store.close()


def test_without_fts5_the_messages_are_read_through(
    store: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = chat_with(store, "a needle, 100 % sure")
    in_file = chat_with_file(store, "Look at this", Attachment("pins.txt", "a long pin"))

    class Lacking(sqlite3.Connection):
        def execute(self, sql: str, *args: object) -> sqlite3.Cursor:  # type: ignore[override]
            if "pragma_module_list" in sql:
                sql = "SELECT 1 WHERE 0"
            assert "MATCH" not in sql
            return super().execute(sql, *args)  # type: ignore[arg-type]

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Lacking))
    other = ChatStore(tmp_path / "chats.sqlite3")
    assert found(other, "needle") == [chat]
    assert found(other, "100 %") == [chat]
    assert found(other, "200 %") == []
    (hit,) = other.search("long pin")
    assert (hit.chat_id, hit.place, hit.file_name) == (in_file, HitPlace.FILE, "pins.txt")
    assert "pin" in hit.snippet
    assert other.search("pins.txt")[0].place is HitPlace.FILE
    later = chat_with(other, "another needle")
    other.close()
    monkeypatch.undo()
    again = ChatStore(tmp_path / "chats.sqlite3")
    assert found(again, "needle") == [later, chat]
    sound(again)
    again.close()


def test_thoughts_are_found_and_the_hit_says_so(store: ChatStore) -> None:
    chat = store.create_chat()
    question = store.add_user_message(chat.id, "What is the capital of Australia?")
    answer = store.begin_answer(chat.id, question.id)
    store.update_answer(answer.id, "", "Sydney or Canberra")
    assert store.search("Sydney") == []  # while it grows
    store.finish_answer(answer.id, "Canberra.", "Sydney? No, Canberra", MessageState.STOPPED, None)
    (hit,) = store.search("sydney")
    assert (hit.message_id, hit.place) == (answer.id, HitPlace.THINKING)
    assert f"{FOUND_START}Sydney{FOUND_END}" in hit.snippet
    (hit,) = store.search("canberra")
    assert hit.place is HitPlace.TEXT  # what was said counts more than what was thought
    # Words may be spread over both.
    (hit,) = store.search("sydney canberra")
    assert hit.message_id == answer.id
    store.resume_answer(answer.id)
    assert store.search("sydney") == []
    store.finish_answer(answer.id, "Canberra.", "Melbourne", MessageState.COMPLETE, None)
    assert store.search("sydney") == []
    assert store.search("melbourne")[0].place is HitPlace.THINKING
    sound(store)


def test_files_are_found_by_text_and_name(store: ChatStore) -> None:
    report = Attachment("Budget-2031.csv", "month,zebras\nMay,12\n")
    chat = chat_with_file(store, "Sum it up", report, Attachment("b.txt", "giraffes"))
    (hit,) = store.search("zebras may")
    assert (hit.chat_id, hit.place, hit.file_name) == (chat, HitPlace.FILE, "Budget-2031.csv")
    assert f"{FOUND_START}zebras{FOUND_END}" in hit.snippet
    assert hit.count == 1
    (hit,) = store.search("giraff")
    assert hit.file_name == "b.txt"
    (hit,) = store.search("budget")
    assert (hit.place, hit.file_name) == (HitPlace.FILE, "Budget-2031.csv")
    assert FOUND_START in hit.snippet
    assert store.search("zebras giraffes") == []  # two files
    assert store.search("sum")[0].place is HitPlace.TEXT
    other = chat_with_file(store, "in Japanese", Attachment("c.txt", "私は東京に住んでいます"))
    (hit,) = store.search("東京")
    assert (hit.chat_id, hit.place, hit.file_name) == (other, HitPlace.FILE, "c.txt")
    sound(store)
    store.delete_chat(chat)
    assert store.search("zebras") == []
    store.purge_deleted()
    sound(store)
    assert store._db.execute("SELECT count(*) FROM file_search_docsize").fetchone()[0] == 1


def test_an_index_of_an_earlier_version_is_made_anew(store: ChatStore, tmp_path: Path) -> None:
    chat = chat_with_file(store, "q", Attachment("a.txt", "zebra"))
    store._db.executescript(search_index._DROP + _FIRST_INDEX)
    store.close()
    again = ChatStore(tmp_path / "chats.sqlite3")
    assert found(again, "zebra") == [chat]
    sound(again)
    again.close()


_FIRST_INDEX = """
CREATE VIEW searchable AS SELECT id, text FROM messages WHERE state <> 'running';
CREATE VIRTUAL TABLE message_search USING fts5(text, content='searchable', content_rowid='id');
CREATE TRIGGER message_search_insert AFTER INSERT ON messages WHEN new.state <> 'running' BEGIN
    INSERT INTO message_search(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER message_search_delete AFTER DELETE ON messages BEGIN
    INSERT INTO message_search(message_search, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER message_search_leave AFTER UPDATE OF text, state ON messages BEGIN SELECT 1; END;
CREATE TRIGGER message_search_enter AFTER UPDATE OF text, state ON messages BEGIN SELECT 1; END;
INSERT INTO message_search(message_search) VALUES ('rebuild');
"""


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_chats_of_every_earlier_layout_are_kept_and_found(tmp_path: Path, version: int) -> None:
    path = tmp_path / "old.sqlite3"
    old = sqlite3.connect(path)
    for number in range(version):
        old.executescript(MIGRATIONS[number])
    old.executescript(
        f"PRAGMA user_version = {version};"
        "INSERT INTO chats (title, created, updated, leaf_id) VALUES ('Old', 1, 2, 2);"
        "INSERT INTO messages (chat_id, role, text, state, created) VALUES (1, 'user', 'q', 'complete', 1);"
        "INSERT INTO messages (chat_id, parent_id, role, text, state, created)"
        " VALUES (1, 1, 'assistant', 'needle', 'running', 2);"
        "INSERT INTO drafts (chat_id, text) VALUES (1, 'half written');"
    )
    old.close()
    opened = open_store(path)
    assert opened.condition is StoreCondition.FINE
    store = opened.store
    (chat,) = store.list_chats()
    assert (chat.title, chat.pinned, chat.options.is_default) == ("Old", False, True)
    assert [m.text for m in store.messages(1)] == ["q", "needle"]
    assert found(store, "needle") == [1]
    assert store.draft(1) == "half written"
    assert store.draft_attachments(1) == ()
    store.close()
