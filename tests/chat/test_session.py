"""The session: order of saving and sending, what a stop, a death or a refusal leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.events import (
    AnswerBegun,
    AnswerEnded,
    AnswerText,
    ChatEvent,
    NotSaved,
    RateSample,
    ReadingPrompt,
    ThinkingEnded,
    ThinkingText,
    UserSaved,
)
from clover_gui.chat.message import Message, MessageState, Role
from clover_gui.chat.session import ChatSession, SessionState
from clover_gui.engine.protocol import STOP_CONTEXT, STOP_LENGTH, PromptMessage, Sampling
from clover_gui.errors import ChatStoreError, ContextFull, EngineDied, EngineUnresponsive, GenerationFailed
from tests.chat.fake_engine import FakeEngine

THOUGHTFUL = ("Let me ", "think.</th", "ink>\n\n", "Hello ", "world")


def run(test: Callable[[AsyncChatStore], Awaitable[None]]) -> None:
    async def with_store() -> None:
        store = AsyncChatStore.in_memory()
        try:
            await test(store)
        finally:
            await store.close()

    asyncio.run(with_store())


async def session_for(engine: FakeEngine, store: AsyncChatStore) -> ChatSession:
    return ChatSession(engine, store, await store.create_chat(), save_interval_s=0.01)


async def collect(events: AsyncIterator[ChatEvent], into: list[ChatEvent] | None = None) -> list[ChatEvent]:
    """All events; ``into`` also has those that came before an error."""
    collected = [] if into is None else into
    async for event in events:
        collected.append(event)
    return collected


def ended(events: list[ChatEvent]) -> AnswerEnded:
    assert isinstance(events[-1], AnswerEnded)
    return events[-1]


def test_the_events_of_an_answer_with_thoughts() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(THOUGHTFUL, in_thinking=True)
        session = await session_for(engine, store)
        events = await collect(session.send("Hi", thinking=True, sampling=Sampling(seed=7), max_tokens=50))
        assert [type(e) for e in events if not isinstance(e, RateSample)] == [
            UserSaved,
            AnswerBegun,
            ReadingPrompt,
            ReadingPrompt,
            ThinkingText,
            ThinkingText,
            ThinkingEnded,
            AnswerText,
            AnswerText,
            AnswerEnded,
        ]
        assert engine.asked == [((PromptMessage("user", "Hi"),), True, Sampling(seed=7), 50)]
        message = ended(events).message
        assert (message.thinking, message.text) == ("Let me think.", "Hello world")
        assert message.state is MessageState.COMPLETE
        assert message.stats is not None
        assert (message.stats.tokens_read, message.stats.tokens_reused, message.stats.tokens_written) == (
            8,
            4,
            5,
        )
        assert (message.stats.thinking_tokens, message.stats.seed, message.stats.model) == (3, 7, "fake 1B")
        assert message.stats.thinking_seconds == pytest.approx(0.03)
        assert (await store.messages(session.chat.id))[-1] == message
        assert session.state is SessionState.IDLE
        assert any(isinstance(event, RateSample) for event in events)

    run(scenario)


def test_earlier_thoughts_are_not_sent_again() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(THOUGHTFUL, in_thinking=True)
        session = await session_for(engine, store)
        await collect(session.send("one"))
        await collect(session.send("two"))
        assert engine.asked[1][0] == (
            PromptMessage("user", "one"),
            PromptMessage("assistant", "Hello world"),
            PromptMessage("user", "two"),
        )

    run(scenario)


def test_the_message_is_saved_before_the_engine_hears_of_it() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(fail_at_start=ContextFull(9000, 4096))
        session = await session_for(engine, store)
        events: list[ChatEvent] = []
        with pytest.raises(ContextFull) as caught:
            await collect(session.send("far too long"), events)
        assert (caught.value.prompt_tokens, caught.value.context_tokens) == (9000, 4096)
        assert [type(event) for event in events] == [UserSaved]
        assert [m.text for m in await store.messages(session.chat.id)] == ["far too long"]
        assert session.state is SessionState.IDLE

        engine.fail_at_start = None
        assert ended(await collect(session.regenerate())).message.text == "Hello"
        assert [m.text for m in await store.messages(session.chat.id)] == ["far too long", "Hello"]

    run(scenario)


def test_two_questions_in_a_row_become_one_turn() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(fail_at_start=GenerationFailed("no"))
        session = await session_for(engine, store)
        with pytest.raises(GenerationFailed):
            await collect(session.send("first"))
        engine.fail_at_start = None
        await collect(session.send("second"))
        assert engine.asked[-1][0] == (PromptMessage("user", "first\n\nsecond"),)

    run(scenario)


def test_the_death_of_the_engine_keeps_what_was_written() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("Half an ", "answer </th", EngineDied(-9)))
        session = await session_for(engine, store)
        events: list[ChatEvent] = []
        with pytest.raises(EngineDied):
            await collect(session.send("Hi"), events)
        message = ended(events).message
        assert (message.text, message.state) == ("Half an answer </th", MessageState.INTERRUPTED)
        assert (await store.messages(session.chat.id))[-1] == message

        engine.steps = ("whole",)
        assert ended(await collect(session.send("again"))).message.text == "whole"

    run(scenario)


def test_stop_keeps_the_text_and_the_next_answer_works() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        never = asyncio.Event()
        engine = FakeEngine(("some ", "text", never, "not this"))
        session = await session_for(engine, store)
        async for event in session.send("Hi"):
            if isinstance(event, AnswerText) and event.text == "text":
                assert session.state is SessionState.ANSWERING
                await session.stop()
            last = event
        assert isinstance(last, AnswerEnded)
        assert (last.message.text, last.message.state) == ("some text", MessageState.STOPPED)
        engine.steps = ("next",)
        assert ended(await collect(session.send("more"))).message.state is MessageState.COMPLETE
        await session.stop()  # nothing runs

    run(scenario)


def test_an_engine_that_had_to_be_ended_after_stop_counts_as_stopped() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("kept", asyncio.Event(), EngineUnresponsive("deaf")))
        engine.deaf_until_error = True
        session = await session_for(engine, store)
        events: list[ChatEvent] = []

        async def stopped() -> None:
            async for event in session.send("Hi"):
                events.append(event)
                if isinstance(event, AnswerText):
                    await session.stop()

        with pytest.raises(EngineUnresponsive):
            await stopped()
        assert (ended(events).message.text, ended(events).message.state) == ("kept", MessageState.STOPPED)

    run(scenario)


@pytest.mark.parametrize("moment", [UserSaved, AnswerBegun, ReadingPrompt])
def test_stop_before_the_first_token(moment: type) -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine((asyncio.Event(), "late"))
        session = await session_for(engine, store)
        async for event in session.send("Hi"):
            if isinstance(event, moment):
                await session.stop()
            last = event
        assert isinstance(last, AnswerEnded)
        assert last.message.state is MessageState.STOPPED
        assert last.message.text == ""

    run(scenario)


def test_closing_the_iterator_stops_the_answer_and_keeps_it() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("kept", asyncio.Event()))
        session = await session_for(engine, store)
        answer = session.send("Hi")
        async for event in answer:
            if isinstance(event, AnswerText):
                break
        await answer.aclose()
        assert engine.closed_answers == 1
        message = (await store.messages(session.chat.id))[-1]
        assert (message.text, message.state) == ("kept", MessageState.STOPPED)
        assert session.state is SessionState.IDLE

    run(scenario)


def test_cancelling_the_task_stops_the_answer_and_keeps_it() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("kept", asyncio.Event()))
        session = await session_for(engine, store)
        seen = asyncio.Event()

        async def consume() -> None:
            async for event in session.send("Hi"):
                if isinstance(event, AnswerText):
                    seen.set()

        task = asyncio.create_task(consume())
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        message = (await store.messages(session.chat.id))[-1]
        assert (message.text, message.state) == ("kept", MessageState.STOPPED)
        assert engine.closed_answers == 1

    run(scenario)


def test_the_partial_answer_is_in_the_store_while_it_runs() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        go_on = asyncio.Event()
        session = await session_for(FakeEngine(("partial", go_on, " rest")), store)
        task = asyncio.create_task(collect(session.send("Hi")))

        async def partial() -> Message:
            while True:
                messages = await store.messages(session.chat.id)
                if messages and messages[-1].role is Role.ASSISTANT and messages[-1].text:
                    return messages[-1]

        message = await asyncio.wait_for(partial(), 5)
        assert message.text == "partial"
        assert message.state is MessageState.RUNNING
        go_on.set()
        assert ended(await task).message.text == "partial rest"

    run(scenario)


@pytest.mark.parametrize(
    ("reason", "state"),
    [(STOP_LENGTH, MessageState.CUT_LENGTH), (STOP_CONTEXT, MessageState.CUT_CONTEXT)],
)
def test_an_answer_that_was_all_thoughts_is_reported_as_empty(reason: str, state: MessageState) -> None:
    async def scenario(store: AsyncChatStore) -> None:
        session = await session_for(
            FakeEngine(("thinking ", "for ever"), in_thinking=True, stop_reason=reason), store
        )
        end = ended(await collect(session.send("Hi", thinking=True)))
        assert end.empty
        assert (end.stop_reason, end.message.state) == (reason, state)
        assert end.message.thinking == "thinking for ever"
        assert not end.unasked_thinking

    run(scenario)


def test_thoughts_that_nobody_asked_for_are_reported() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        session = await session_for(FakeEngine(("<think>", "hm</think>", "yes")), store)
        end = ended(await collect(session.send("Hi", thinking=False)))
        assert end.unasked_thinking
        assert (end.message.thinking, end.message.text) == ("hm", "yes")

    run(scenario)


def test_regenerate_answers_the_same_question() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine(("one",))
        session = await session_for(engine, store)
        await collect(session.send("Hi"))
        engine.steps = ("two",)
        await collect(session.regenerate())
        assert engine.asked[0][0] == engine.asked[1][0]
        assert [m.text for m in await store.messages(session.chat.id)] == ["Hi", "two"]

    run(scenario)


def test_regenerate_needs_a_question() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        session = await session_for(FakeEngine(), store)
        with pytest.raises(ValueError, match="no message"):
            await collect(session.regenerate())
        assert session.state is SessionState.IDLE

    run(scenario)


def test_one_answer_at_a_time() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        session = await session_for(FakeEngine(("a", asyncio.Event())), store)
        first = session.send("Hi")
        await anext(first)
        with pytest.raises(RuntimeError):
            await collect(session.send("again"))
        assert session.state is not SessionState.IDLE
        await first.aclose()

    run(scenario)


def test_a_store_that_fails_in_mid_answer_does_not_end_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(store: AsyncChatStore) -> None:
        session = await session_for(FakeEngine(("still ", "here")), store)

        async def full(*_args: object) -> Message:
            raise ChatStoreError(store.opened.store.path, "database or disk is full")

        monkeypatch.setattr(store, "finish_answer", full)
        events = await collect(session.send("Hi"))
        assert ended(events).message.text == "still here"
        assert ended(events).message.state is MessageState.COMPLETE
        assert [event.error.reason for event in events if isinstance(event, NotSaved)] == [
            "database or disk is full"
        ]

    run(scenario)


def test_a_message_that_cannot_be_saved_is_not_sent() -> None:
    async def scenario(store: AsyncChatStore) -> None:
        engine = FakeEngine()
        session = await session_for(engine, store)
        await store.delete_chat(session.chat.id)
        await store.purge_deleted()
        with pytest.raises(ChatStoreError):
            await collect(session.send("Hi"))
        assert engine.asked == []

    run(scenario)
