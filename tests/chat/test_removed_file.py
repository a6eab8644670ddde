"""The folder with the chats is removed while the program runs: nothing is lost, and it is told."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clover_gui.chat import async_store
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.message import MessageState
from clover_gui.chat.store import ChatStore
from clover_gui.errors import ChatStoreError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="an open file cannot be removed there")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "chats.sqlite3"


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def replace_folder(path: Path) -> None:
    remove_folder(path)
    path.parent.mkdir()
    path.write_bytes(b"of another program")


def remove_file(path: Path) -> None:
    path.unlink()


def remove_all_files(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()


def texts(path: Path) -> list[str]:
    """What another process would find there now."""
    store = ChatStore(path)
    try:
        return [message.text for chat in store.list_chats() for message in store.messages(chat.id)]
    finally:
        store.close()


@pytest.mark.parametrize("remove", [remove_folder, remove_file, remove_all_files])
def test_the_next_write_brings_everything_back(path: Path, remove: Callable[[Path], None]) -> None:
    store = ChatStore(path)
    chat = store.create_chat()
    store.add_user_message(chat.id, "before")
    remove(path)
    store.add_user_message(chat.id, "after")
    assert store.times_put_back == 1
    assert texts(path) == ["before", "after"]
    store.add_user_message(chat.id, "later")
    assert store.times_put_back == 1
    store.check()
    store.close()
    assert texts(path) == ["before", "after", "later"]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_also_closing_brings_it_back(path: Path) -> None:
    store = ChatStore(path)
    store.add_user_message(store.create_chat().id, "before")
    remove_folder(path)
    store.close()
    assert texts(path) == ["before"]


def test_a_file_of_somebody_else_is_not_overwritten(path: Path) -> None:
    store = ChatStore(path)
    chat = store.create_chat()
    store.add_user_message(chat.id, "before")
    replace_folder(path)
    store.add_user_message(chat.id, "after")
    store.add_user_message(chat.id, "later")
    assert store.kept_apart is not None
    assert store.kept_apart.parent == path.parent
    assert store.times_put_back == 0
    store.close()
    assert path.read_bytes() == b"of another program"
    assert texts(store.kept_apart) == ["before", "after", "later"]
    assert len(list(path.parent.iterdir())) == 2


@pytest.mark.parametrize("with_journal", [False, True])
def test_another_database_in_its_place_is_left_sound(path: Path, *, with_journal: bool) -> None:
    """Our journal must not be taken for one of the other file, and its own one must stay."""
    other = ChatStore(path.with_name("other.sqlite3"))
    other.add_user_message(other.create_chat().id, "of the other")
    names = ("", "-wal") if with_journal else ("",)
    if not with_journal:
        other.close()
    copies = {name: other.path.with_name(other.path.name + name).read_bytes() for name in names}
    other.close()
    store = ChatStore(path)
    chat = store.create_chat()
    store.add_user_message(chat.id, "before")
    for name, content in copies.items():
        fresh = path.with_name("fresh" + name)
        fresh.write_bytes(content)
        fresh.replace(path.with_name(path.name + name))
    store.close()  # also when nothing more is said
    assert texts(path) == ["of the other"]
    assert store.kept_apart is not None
    assert texts(store.kept_apart) == ["before"]


def test_where_it_goes_on_is_told_once(path: Path) -> None:
    async def replace() -> None:
        store = await AsyncChatStore.open(path)
        told: list[Path] = []
        store.kept_apart = told.append
        chat = await store.create_chat()
        replace_folder(path)
        await store.add_user_message(chat.id, "after")
        await store.add_user_message(chat.id, "later")
        assert [file.name.startswith("chats.sqlite3.apart-") for file in told] == [True]
        await store.close()
        assert texts(told[0]) == ["after", "later"]

    asyncio.run(replace())


def test_a_disk_that_was_taken_away_is_not_made_up(path: Path) -> None:
    disk = path.parent.parent / "disk"
    inside = disk / "data" / path.name
    inside.parent.mkdir(parents=True)
    store = ChatStore(inside)
    chat = store.create_chat()
    away = disk.rename(disk.with_name("away"))
    shutil.rmtree(away / "data")
    with pytest.raises(ChatStoreError):
        store.add_user_message(chat.id, "lost?")
    assert not disk.exists()
    away.rename(disk)
    store.add_user_message(chat.id, "the disk is back")
    store.close()
    assert texts(inside) == ["the disk is back"]


def test_what_failed_is_written_as_soon_as_it_can_be(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_store, "SAVE_AGAIN_S", 0.02)
    asyncio.run(_fail_and_save_again(path))
    assert texts(path) == ["question", "An answer."]


async def _fail_and_save_again(path: Path) -> None:
    store = await AsyncChatStore.open(path)
    failed: list[ChatStoreError] = []
    back: list[Path] = []
    saved = asyncio.Event()
    store.save_failed, store.put_back, store.saved_again = failed.append, back.append, saved.set
    chat = await store.create_chat()
    question = await store.add_user_message(chat.id, "question")
    answer = await store.begin_answer(chat.id, question.id)
    parent = path.parent
    shutil.rmtree(parent)
    parent.write_text("a file where the folder was")
    for text in ("An", "An ans"):
        with pytest.raises(ChatStoreError):
            await store.update_answer(answer.id, text, "")
    with pytest.raises(ChatStoreError):
        await store.finish_answer(answer.id, "An answer.", "", MessageState.COMPLETE, None)
    with pytest.raises(ChatStoreError):
        await store.save_draft(chat.id, "a draft")
    assert len(failed) == 1
    assert back == []
    parent.unlink()
    await asyncio.wait_for(saved.wait(), 20)
    assert back == [path]
    assert await store.draft(chat.id) == "a draft"
    await store.close()


def test_the_last_try_is_at_the_end(path: Path) -> None:
    asyncio.run(_fail_and_close(path))
    again = ChatStore(path)
    assert again.draft(0) == "a draft"
    again.close()


async def _fail_and_close(path: Path) -> None:
    store = await AsyncChatStore.open(path)
    await store.create_chat()
    parent = path.parent
    shutil.rmtree(parent)
    parent.write_text("")
    with pytest.raises(ChatStoreError):
        await store.save_draft(0, "a draft")
    parent.unlink()
    await store.close()
