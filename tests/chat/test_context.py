"""The context: counted before sending, nothing dropped without being asked, and a mark where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.context import ContextCheck
from clover_gui.chat.events import AnswerEnded, ContextDropped, UserSaved
from clover_gui.chat.history import prompt_messages, sent_part, turns_of
from clover_gui.chat.message import Message, Role
from clover_gui.chat.session import ChatSession
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import LoadSettings, PromptMessage
from clover_gui.errors import ContextFull, ModelNotLoaded, TemplateFailed
from tests.chat.fake_engine import FakeEngine
from tests.chat.test_session import collect, run
from tests.engine.kit import GREEDY, with_client

WORDS = "word " * 300


async def chat_of(engine: FakeEngine, store: AsyncChatStore, *questions: str) -> ChatSession:
    session = ChatSession(engine, store, await store.create_chat(system_prompt="Be kind."))
    for question in questions:
        await collect(session.send(question))
    return session


def test_a_chat_that_is_too_long_is_told_before_anything_is_saved() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(context=2048)
        session = await chat_of(engine, store, *(f"{i} {WORDS}" for i in range(5)))
        asked = len(engine.asked)
        check = await session.check(f"newest {WORDS * 2}", reserve_tokens=512)
        assert not check.fits
        assert (check.prompt_tokens, check.context_tokens) == (2 + 5 * 302 + 601, 2048)
        assert [turn[0].text[:2] for turn in check.droppable] == ["0 ", "1 "]
        assert [len(turn) for turn in check.droppable] == [2, 2]
        assert check.tokens_after_drop == 2 + 3 * 302 + 601
        assert check.share > 1
        assert len(engine.asked) == asked
        assert len(await store.messages(session.chat.id)) == 10
        # Counted was exactly what would be sent.
        assert engine.counted[-1][0] == PromptMessage("system", "Be kind.")
        assert engine.counted[-1][-1].content.startswith("newest ")

    run(scenario)


def test_what_was_agreed_to_is_dropped_and_marked_and_stays_so() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(context=2048)
        session = await chat_of(engine, store, *(f"{i} {WORDS}" for i in range(5)))
        check = await session.check(f"newest {WORDS}", reserve_tokens=512)
        events = await collect(session.send(f"newest {WORDS}", drop_oldest=len(check.droppable)))
        assert isinstance(events[0], UserSaved)
        dropped = events[1]
        assert isinstance(dropped, ContextDropped)
        assert (dropped.turns, dropped.first_kept.text[:2]) == (len(check.droppable), "1 ")
        messages = await store.messages(session.chat.id)
        assert len(messages) == 12  # nothing is lost
        assert [m.begins_context for m in messages].index(True) == 2
        sent = engine.asked[-1][0]
        assert [m.content[:2] for m in sent if m.role != "assistant"] == ["Be", "1 ", "2 ", "3 ", "4 ", "ne"]

        await collect(session.send("and now?"))
        assert engine.asked[-1][0][1].content.startswith("1 ")
        # The mark can be taken away, for example after loading a larger context.
        await store.begin_context(messages[2].id, False)
        await collect(session.send("and now?"))
        assert engine.asked[-1][0][1].content.startswith("0 ")

    run(scenario)


@pytest.mark.parametrize("turns", [1, 50])
def test_neither_the_system_prompt_nor_the_newest_message_is_dropped(turns: int) -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine()
        session = await chat_of(engine, store, "old")
        events = await collect(session.send("newest", drop_oldest=turns))
        assert engine.asked[-1][0] == (PromptMessage("system", "Be kind."), PromptMessage("user", "newest"))
        assert any(isinstance(event, ContextDropped) for event in events)
        events = await collect(session.send("newer", drop_oldest=1))
        assert engine.asked[-1][0][1:] == (PromptMessage("user", "newer"),)

    run(scenario)


def test_a_message_that_is_too_long_alone() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        session = await chat_of(FakeEngine(context=1000), store, "old")
        check = await session.check("word " * 2000, reserve_tokens=100)
        assert (check.fits, check.droppable) == (False, ())

    run(scenario)


def test_an_answer_again_and_an_edit_are_counted_as_they_would_be_sent() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine()
        session = await chat_of(engine, store, "one two", "three four five")
        assert (await session.check(None)).prompt_tokens == 2 + 2 + 1 + 3
        second = (await store.messages(session.chat.id))[2]
        check = await session.check("six", replacing=second.id)
        assert check.prompt_tokens == 2 + 2 + 1 + 1

        await collect(session.edit(second.id, "six"))
        assert [m.content for m in engine.asked[-1][0]] == ["Be kind.", "one two", "Hello", "six"]
        assert [m.text for m in await store.messages(session.chat.id)] == ["one two", "Hello", "six", "Hello"]
        assert (await store.messages(session.chat.id))[2].parent_id == second.parent_id

    run(scenario)


def test_the_system_prompt_can_change_in_mid_chat() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine()
        session = await chat_of(engine, store, "one")
        await store.set_system_prompt(session.chat.id, "  \n ")
        await collect(session.send("two"))
        assert engine.asked[-1][0][0].role == "user"
        await store.set_system_prompt(session.chat.id, "Other.")
        await collect(session.send("three"))
        assert engine.asked[-1][0][0] == PromptMessage("system", "Other.")
        assert session.chat.system_prompt == "Other."

    run(scenario)


def test_turns_are_those_of_the_prompt() -> None:
    def message(role: Role, text: str, begins: bool = False) -> Message:
        return Message(1, 1, role, text, begins_context=begins)

    user, assistant = Role.USER, Role.ASSISTANT
    path = [
        message(user, "a"),
        message(assistant, ""),  # failed
        message(user, "b"),
        message(assistant, "c"),
        message(user, "d", begins=True),
        message(assistant, "e"),
        message(user, "f"),
    ]
    turns = turns_of(path)
    assert ["".join(m.text for m in turn) for turn in turns] == ["abc", "de", "f"]
    assert len(turns) == sum(m.role == "user" for m in prompt_messages(path))
    assert [m.text for m in sent_part(path)] == ["d", "e", "f"]


# ---------------------------------------------------------------------- with the real engine


Scenario = Callable[[EngineClient, AsyncChatStore], Awaitable[None]]


def with_engine(scenario: Scenario) -> None:
    async def with_store(client: EngineClient) -> None:
        store = AsyncChatStore.in_memory()
        try:
            await scenario(client, store)
        finally:
            await store.close()

    with_client(with_store)


def test_the_count_is_exact(scripted_gguf: Path) -> None:
    async def scenario(client: EngineClient, store: AsyncChatStore) -> None:
        session = ChatSession(client, store, await store.create_chat(system_prompt="Sei freundlich 😀."))
        with pytest.raises(ModelNotLoaded):
            await session.check("Hi")
        await client.load(LoadSettings(str(scripted_gguf), context=1024, threads=1))
        counts = []
        for turn in range(3):
            check = await session.check(f"Question {turn} <|im_end|> ü", thinking=turn != 1)
            counts.append(check.prompt_tokens)
            async for event in session.send(
                f"Question {turn} <|im_end|> ü", thinking=turn != 1, sampling=GREEDY
            ):
                last = event
            assert isinstance(last, AnswerEnded)
            stats = last.message.stats
            assert stats is not None
            assert check.fits
            assert check.prompt_tokens == stats.tokens_read + stats.tokens_reused
        assert counts == sorted(counts)

        check = await session.check("x" * 5000)
        assert (check.fits, check.droppable) == (False, ())
        # Dropping the two oldest turns is just enough for this one.
        room = check.context_tokens - check.reserve_tokens
        single = (await session.check("x")).prompt_tokens - 1
        drops = []
        for length in range(room - single, room, 40):
            check = await session.check("x" * length)
            assert check.fits == (check.prompt_tokens <= room)
            drops.append(len(check.droppable))
            if check.droppable:
                assert check.tokens_after_drop <= room
                expected = await _after_drop(session, "x" * length, len(check.droppable))
                assert check.tokens_after_drop == expected
        assert drops == sorted(drops[:-1]) + drops[-1:]
        assert {0, 1, 2} <= set(drops)

    with_engine(scenario)


async def _after_drop(session: ChatSession, text: str, turns: int) -> int:
    """Really send it with so many turns dropped, and undo that: the prompt's length."""
    store, chat = session._store, session.chat
    before = await store.messages(chat.id)
    async for event in session.send(text, drop_oldest=turns, sampling=GREEDY, max_tokens=1):
        if isinstance(event, ContextDropped):
            await store.begin_context(event.first_kept.id)
            marked = event.first_kept.id
        last = event
    assert isinstance(last, AnswerEnded)
    stats = last.message.stats
    assert stats is not None
    await store.begin_context(marked, False)
    store._store._db.execute("UPDATE chats SET leaf_id = ? WHERE id = ?", (before[-1].id, chat.id))
    return stats.tokens_read + stats.tokens_reused


def test_without_asking_nothing_is_dropped(scripted_gguf: Path) -> None:
    async def scenario(client: EngineClient, store: AsyncChatStore) -> None:
        await client.load(LoadSettings(str(scripted_gguf), context=512, threads=1))
        session = ChatSession(client, store, await store.create_chat())
        for _turn in range(2):
            await _drain(session, "123 456 789 " * 10)
        with pytest.raises(ContextFull) as caught:
            await _drain(session, "123 456 789 " * 20)
        assert caught.value.prompt_tokens > 500
        check = await session.check(None)
        assert not check.fits
        async for event in session.regenerate(sampling=GREEDY, drop_oldest=len(check.droppable)):
            last = event
        assert isinstance(last, AnswerEnded)
        assert last.stop_reason == "end"

    with_engine(scenario)


async def _drain(session: ChatSession, text: str) -> None:
    async for _event in session.send(text, sampling=GREEDY, thinking=False):
        pass


def test_a_template_that_refuses_says_so_when_counting(make_scripted_gguf: Callable[..., Path]) -> None:
    template = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('No system role.') }}{% endif %}"
        "{{ messages[-1].content }}\n"
    )
    path = make_scripted_gguf("no-system", template=template)

    async def scenario(client: EngineClient, store: AsyncChatStore) -> None:
        await client.load(LoadSettings(str(path), context=512, threads=1))
        session = ChatSession(client, store, await store.create_chat(system_prompt="x"))
        with pytest.raises(TemplateFailed, match="No system role"):
            await session.check("Hi")

    with_engine(scenario)


def test_the_share() -> None:
    assert ContextCheck(True, 800, 1000, 100).share == 0.8
    assert ContextCheck(True, 0, 0, 0).share == 0


def test_waiting_behind_an_answer(scripted_endless_gguf: Path) -> None:
    async def scenario(client: EngineClient, store: AsyncChatStore) -> None:
        await client.load(LoadSettings(str(scripted_endless_gguf), context=4096, threads=1))
        session = ChatSession(client, store, await store.create_chat())
        other = ChatSession(client, store, await store.create_chat())
        answer = asyncio.create_task(collect(session.send("Hi", sampling=GREEDY, max_tokens=300)))
        while True:
            if (await store.messages(session.chat.id))[1:]:
                break
        check = await other.check("Hi")
        assert check.fits
        assert isinstance((await answer)[-1], AnswerEnded)

    with_engine(scenario)
