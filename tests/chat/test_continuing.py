"""Going on with an answer that was cut: in the same message, with the cost of all parts."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clover_gui.chat.answer import AnswerRecord
from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.continuing import can_continue
from clover_gui.chat.events import (
    AnswerBegun,
    AnswerResumed,
    AnswerText,
    NotSaved,
    ThinkingEnded,
    ThinkingText,
)
from clover_gui.chat.message import AnswerStats, Message, MessageState, Role
from clover_gui.chat.opening import open_store
from clover_gui.chat.session import ChatSession
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import STOP_LENGTH, Begun, Limits, LoadSettings, Reading, Text
from clover_gui.errors import ChatStoreError, EngineDied, TemplateFailed
from tests.chat.fake_engine import FakeEngine
from tests.chat.test_session import collect, ended, run, session_for
from tests.engine.kit import GREEDY, with_client
from tests.kit.scripts import ANSWER_TEXT, THOUGHT_TEXT

FREE = Limits(answer_reserve=0)


def test_a_stopped_answer_is_gone_on_with_in_the_same_message() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("One ", "two "), stop_reason=STOP_LENGTH)
        session = await session_for(engine, store)
        first = ended(await collect(session.send("Count"))).message
        assert first.state is MessageState.CUT_LENGTH
        assert first.stats is not None
        engine.steps, engine.stop_reason = ("three ", "four"), "end"
        events = await collect(session.go_on(thinking=False))
        assert not any(isinstance(event, AnswerBegun) for event in events)
        (resumed,) = [event for event in events if isinstance(event, AnswerResumed)]
        assert (resumed.message.id, resumed.message.text) == (first.id, "One two ")
        last = ended(events).message
        assert (last.id, last.text, last.state) == (first.id, "One two three four", MessageState.COMPLETE)
        assert [event.text for event in events if isinstance(event, AnswerText)] == ["three ", "four"]
        assert engine.begun == [None, Begun("One two ")]
        assert [m.content for m in engine.asked[1][0]] == ["Count"]
        assert last.stats is not None
        assert (last.stats.tokens_written, last.stats.parts) == (4, 2)
        assert last.stats.tokens_read == 2 * first.stats.tokens_read
        assert await store.messages(session.chat.id) == [
            (await store.messages(session.chat.id))[0],
            last,
        ]
        assert await store.versions(session.chat.id) == {}

    run(scenario)


def test_thoughts_that_were_cut_go_on_as_thoughts() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("Let me ",), in_thinking=True, stop_reason=STOP_LENGTH)
        session = await session_for(engine, store)
        first = ended(await collect(session.send("Hi"))).message
        assert (first.thinking, first.text) == ("Let me ", "")
        assert can_continue(first)

        engine.steps, engine.stop_reason = ("think.</think>\n\nDone",), "end"
        original = engine.generate

        def generate(*messages: object, **options: object):  # type: ignore[no-untyped-def]
            # As the real one: what was begun comes back with its block as open as it was.
            return _with_begun(original(*messages, **options), "Let me ")

        engine.generate = generate  # type: ignore[method-assign, assignment]
        events = await collect(session.go_on(thinking=False))
        last = ended(events)
        assert (last.message.thinking, last.message.text) == ("Let me think.", "Done")
        assert not last.unasked_thinking
        assert [event.tokens for event in events if isinstance(event, ThinkingEnded)] == [
            last.message.stats.thinking_tokens if last.message.stats else 0
        ]

    run(scenario)


async def _with_begun(events, begun: str):  # type: ignore[no-untyped-def]
    async for event in events:
        yield replace(event, begun=begun) if getattr(event, "begun", "") else event


def test_what_can_be_gone_on_with() -> None:
    answer = Message(2, 1, Role.ASSISTANT, "text", parent_id=1)
    for state in MessageState:
        expected = state in (
            MessageState.STOPPED,
            MessageState.CLOSED,
            MessageState.CUT_LENGTH,
            MessageState.CUT_CONTEXT,
            MessageState.INTERRUPTED,
            MessageState.FAILED,
        )
        assert can_continue(replace(answer, state=state)) is expected, state
    stopped = replace(answer, state=MessageState.STOPPED)
    assert not can_continue(replace(stopped, text=" \n"))
    assert can_continue(replace(stopped, text="", thinking="hm"))
    assert not can_continue(replace(stopped, role=Role.USER))


def test_a_complete_answer_is_not_gone_on_with() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine()
        session = await session_for(engine, store)
        await collect(session.send("Hi"))
        with pytest.raises(ValueError, match="no answer to go on with"):
            await collect(session.go_on())
        assert len(engine.asked) == 1

    run(scenario)


@pytest.mark.parametrize("error", [TemplateFailed("no"), EngineDied(-9)])
def test_a_refusal_leaves_the_answer_as_it_was(error: BaseException) -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("One",), stop_reason=STOP_LENGTH)
        session = await session_for(engine, store)
        before = ended(await collect(session.send("Hi"))).message
        engine.fail_at_start = error
        with pytest.raises(type(error)):
            await collect(session.go_on())
        assert (await store.messages(session.chat.id))[-1] == before

    run(scenario)


def test_a_crash_while_it_goes_on_keeps_both_parts() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("One ",), stop_reason=STOP_LENGTH)
        session = await session_for(engine, store)
        await collect(session.send("Hi"))
        engine.steps = ("two ", EngineDied(-9))
        with pytest.raises(EngineDied):
            await collect(session.go_on())
        message = (await store.messages(session.chat.id))[-1]
        assert (message.text, message.state) == ("One two ", MessageState.INTERRUPTED)
        engine.steps = ("three",)
        last = ended(await collect(session.go_on())).message
        assert last.text == "One two three"
        assert last.stats is not None
        assert last.stats.parts == 3

    run(scenario)


def test_a_program_that_dies_while_it_goes_on_finds_the_answer_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    opened = open_store(path)
    chat = opened.store.create_chat()
    question = opened.store.add_user_message(chat.id, "q")
    answer = opened.store.begin_answer(chat.id, question.id)
    stats = AnswerStats(tokens_written=4)
    opened.store.finish_answer(answer.id, "One", "", MessageState.STOPPED, stats)
    resumed = opened.store.resume_answer(answer.id)
    assert (resumed.state, resumed.text) == (MessageState.RUNNING, "One")
    opened.store.update_answer(answer.id, "One two", "")
    opened.store.close()
    again = open_store(path)
    assert again.recovered == 1
    kept = again.store.messages(chat.id)[-1]
    assert (kept.text, kept.state, kept.stats) == ("One two", MessageState.INTERRUPTED, stats)
    again.store.close()


def test_a_stop_by_closing_the_program_is_told_apart() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("some ", asyncio.Event()))
        session = await session_for(engine, store)
        async for event in session.send("Hi"):
            if isinstance(event, AnswerText):
                await session.stop(closing=True)
        assert (await store.messages(session.chat.id))[-1].state is MessageState.CLOSED
        async for event in session.go_on():
            if isinstance(event, AnswerText):
                await session.stop()
        assert (await store.messages(session.chat.id))[-1].state is MessageState.STOPPED

    run(scenario)


def test_an_answer_that_filled_the_context_is_counted_with_its_beginning() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("word " * 50,), stop_reason="context-full", context=1100)
        session = await session_for(engine, store)
        for text in ("first question", "second question"):
            engine.stop_reason = "end" if text.startswith("first") else "context-full"
            await collect(session.send(text))
        check = await session.check(None, go_on=True)
        assert (check.fits, len(check.droppable)) == (False, 1)
        assert (await session.check(None)).fits
        engine.steps, engine.stop_reason = ("end",), "end"
        events = await collect(session.go_on(drop_oldest=1))
        assert [m.content for m in engine.asked[-1][0]] == ["second question"]
        assert ended(events).message.state is MessageState.COMPLETE

    run(scenario)


# ---------------------------------------------------------------------- with the engine


def on_engine(
    model: Path, scenario: Callable[[EngineClient, AsyncChatStore, ChatSession], Awaitable[None]]
) -> None:
    async def with_session(client: EngineClient) -> None:
        store = AsyncChatStore.in_memory()
        try:
            await client.load(LoadSettings(str(model), context=1024, threads=1))
            await scenario(client, store, ChatSession(client, store, await store.create_chat()))
        finally:
            await store.close()

    with_client(with_session)


@pytest.mark.parametrize("thinking", [True, False])
def test_in_parts_of_three_tokens_it_is_the_whole_answer(scripted_gguf: Path, thinking: bool) -> None:
    async def scenario(_client: EngineClient, store: AsyncChatStore, session: ChatSession) -> None:
        def part(go_on: bool) -> object:
            ask = session.go_on if go_on else lambda **o: session.send("Hi", **o)
            return ask(thinking=thinking, sampling=GREEDY, max_tokens=3, limits=FREE)

        last = ended(await collect(part(False)))  # type: ignore[arg-type]
        reads = [last.message.stats.tokens_read if last.message.stats else 0]
        while last.message.state is MessageState.CUT_LENGTH:
            last = ended(await collect(part(True)))  # type: ignore[arg-type]
            assert last.message.stats is not None
            reads.append(last.message.stats.tokens_read)
        assert last.message.text == ANSWER_TEXT
        assert last.message.thinking == (THOUGHT_TEXT if thinking else "")
        assert {after - before for before, after in itertools.pairwise(reads)} == {1}
        assert len(await store.messages(session.chat.id)) == 2

    on_engine(scripted_gguf, scenario)


def test_after_the_engine_was_loaded_again(scripted_endless_gguf: Path) -> None:
    async def scenario(client: EngineClient, store: AsyncChatStore, session: ChatSession) -> None:
        first = ended(await collect(session.send("Hi", thinking=True, sampling=GREEDY, max_tokens=20)))
        assert first.message.state is MessageState.CUT_LENGTH
        assert client.last_settings is not None
        await client.load(client.last_settings)
        # The switch may have been turned since: the answer goes on as it was begun.
        last = ended(await collect(session.go_on(thinking=False, sampling=GREEDY, max_tokens=30)))
        assert last.message.id == first.message.id
        assert last.message.text.startswith(first.message.text)
        assert len(last.message.text) > len(first.message.text)
        assert last.message.thinking == THOUGHT_TEXT
        assert last.message.stats is not None
        assert (last.message.stats.parts, last.message.stats.tokens_written) == (2, 50)

    on_engine(scripted_endless_gguf, scenario)


def gone_on(begun: Message, came: str, *pieces: str, in_thinking: bool) -> tuple[AnswerRecord, list[str]]:
    """The answer after ``pieces`` were written behind it, and what a window was given of them."""
    record = AnswerRecord(begun=begun)
    events = record.take(Reading(1, 8, 8, in_thinking=in_thinking, begun=came))
    for number, piece in enumerate(pieces, 1):
        events += record.take(Text(1, piece, number, 0.1 * number))
    events += record.close()
    return record, [event.text for event in events if isinstance(event, AnswerText | ThinkingText)]


@pytest.mark.parametrize("cut", ["if a <", "if a </", "half </thi", "x\n<", "say '", "x\n\n", "</think"])
def test_thoughts_cut_in_what_looks_like_a_tag(cut: str) -> None:
    begun = Message(1, 1, Role.ASSISTANT, "", cut, MessageState.STOPPED)
    record, shown = gone_on(begun, cut, " b then", " c", in_thinking=True)
    assert (record.thinking, record.text) == (f"{cut} b then c", "")
    assert "".join(shown) == " b then c"


@pytest.mark.parametrize("cut", range(1, len("</think>")))
def test_thoughts_cut_inside_their_last_tag(cut: int) -> None:
    tag = "</think>"
    begun = Message(1, 1, Role.ASSISTANT, "", f"Hm.{tag[:cut]}", MessageState.STOPPED)
    record, shown = gone_on(begun, begun.thinking, f"{tag[cut:]}\n\nDone", in_thinking=True)
    assert (record.thinking, record.text) == ("Hm.", "Done")
    assert shown == ["Done"]


@pytest.mark.parametrize("cut", ["<", "</", "<thi", "</thi", "<think>", "</think>", " \n<"])
@pytest.mark.parametrize("thoughts", ["", "T"])
def test_answers_cut_in_what_looks_like_a_tag(cut: str, thoughts: str) -> None:
    begun = Message(1, 1, Role.ASSISTANT, cut, thoughts, MessageState.STOPPED)
    came = f"{thoughts}</think>\n\n{cut}" if thoughts else cut
    record, shown = gone_on(begun, came, "s b", "</think>c", in_thinking=bool(thoughts))
    assert (record.text, record.thinking) == (f"{cut}s b</think>c", thoughts)
    assert "".join(shown) == "s b</think>c"


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be removed there")
def test_an_answer_that_was_not_saved_is_saved_before_it_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = tmp_path / "data"
        folder.mkdir()
        store = await AsyncChatStore.open(folder / "chats.sqlite3")
        engine = FakeEngine(("One ", "two "), stop_reason=STOP_LENGTH)
        session = await session_for(engine, store)
        events = []
        async for event in session.send("Count"):
            events.append(event)
            if isinstance(event, AnswerBegun):
                shutil.rmtree(folder)
                folder.write_text("a file where the folder was")
        assert [type(event) for event in events].count(NotSaved) == 1
        with pytest.raises(ChatStoreError):
            await session.check(None, go_on=True)
        with pytest.raises(ChatStoreError):
            await collect(session.go_on())
        assert len(engine.asked) == 1
        folder.unlink()
        engine.steps, engine.stop_reason = ("three",), "end"
        last = ended(await collect(session.go_on())).message
        assert (last.text, last.state) == ("One two three", MessageState.COMPLETE)
        await store.close()

    asyncio.run(scenario())
