"""The session on the real engine child: exact split, reuse, stop, and the death of the child."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.events import (
    AnswerEnded,
    AnswerText,
    ChatEvent,
    RateSample,
    ReadingPrompt,
    ThinkingEnded,
    ThinkingText,
)
from clover_gui.chat.message import MessageState
from clover_gui.chat.session import ChatSession
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import Limits, LoadSettings, Sampling
from clover_gui.errors import ContextFull, EngineDied, ModelNotLoaded
from tests.engine.kit import GREEDY, with_client
from tests.kit.scripts import ANSWER_TEXT, LONG_THOUGHT, ONE_LETTER, THOUGHT_TEXT

Scenario = Callable[[EngineClient, AsyncChatStore, ChatSession], Awaitable[None]]


def run(model: Path, scenario: Scenario, *, context: int = 1024) -> None:
    async def with_session(client: EngineClient) -> None:
        store = AsyncChatStore.in_memory()
        try:
            await client.load(LoadSettings(str(model), context=context, threads=1))
            await scenario(client, store, ChatSession(client, store, await store.create_chat()))
        finally:
            await store.close()

    with_client(with_session)


async def answer(
    session: ChatSession, text: str, *, thinking: bool, sampling: Sampling = GREEDY
) -> AnswerEnded:
    last: ChatEvent | None = None
    async for event in session.send(text, thinking=thinking, sampling=sampling):
        last = event
    assert isinstance(last, AnswerEnded)
    return last


def test_thoughts_and_answer_are_split_exactly(scripted_gguf: Path) -> None:
    async def scenario(_client: EngineClient, _store: AsyncChatStore, session: ChatSession) -> None:
        end = await answer(session, "Hi", thinking=True)
        assert (end.message.thinking, end.message.text) == (THOUGHT_TEXT, ANSWER_TEXT)
        assert end.message.stats is not None
        assert 0 < end.message.stats.thinking_tokens < end.message.stats.tokens_written

        end = await answer(session, "Hi again", thinking=False)
        assert (end.message.thinking, end.message.text) == ("", ANSWER_TEXT)
        assert end.message.stats is not None
        assert end.message.stats.tokens_reused > 0

    run(scripted_gguf, scenario)


def test_a_thinking_budget_is_seen_and_kept(make_scripted_gguf: Callable[..., Path]) -> None:
    path = make_scripted_gguf("long-thought", script=LONG_THOUGHT)

    async def scenario(_client: EngineClient, _store: AsyncChatStore, session: ChatSession) -> None:
        limits = Limits(thinking_tokens=200, thinking_grace=50)
        events = [event async for event in session.send("Hi", thinking=True, sampling=GREEDY, limits=limits)]
        samples = [event for event in events if isinstance(event, RateSample)]
        assert {sample.thinking_budget for sample in samples} == {200}
        assert 200 < samples[-1].thinking_tokens <= 254
        (closed,) = [event for event in events if isinstance(event, ThinkingEnded)]
        assert (closed.closed, closed.tokens) == ("budget", samples[-1].thinking_tokens)
        end = events[-1]
        assert isinstance(end, AnswerEnded)
        assert end.message.text == ANSWER_TEXT
        assert end.message.thinking.startswith("thought0 thought1 ")
        assert end.message.state is MessageState.COMPLETE
        assert end.message.stats is not None
        assert end.message.stats.thinking_closed == "budget"
        assert end.message.stats.thinking_tokens == closed.tokens

    run(path, scenario)


@pytest.mark.parametrize(
    ("broken", "state", "text"),
    [(False, MessageState.LOOPED, "!!!"), (True, MessageState.BROKEN, "")],
    ids=["one letter", "no numbers"],
)
def test_degenerate_output_is_stopped_and_named(
    make_scripted_gguf: Callable[..., Path], broken: bool, state: MessageState, text: str
) -> None:
    path = make_scripted_gguf(f"degenerate-{broken}", script=ONE_LETTER, broken=broken)

    async def scenario(_client: EngineClient, store: AsyncChatStore, session: ChatSession) -> None:
        for _again in range(2):
            end = await answer(session, "Hi", thinking=False)
            assert end.message.state is state
            assert end.message.text.startswith(text)
            assert end.empty == broken
            assert end.message.stats is not None
            assert end.message.stats.cause == "file"
            assert (await store.messages(session.chat.id))[-1] == end.message

    run(path, scenario)


def test_stop_while_it_writes(scripted_endless_gguf: Path) -> None:
    async def scenario(_client: EngineClient, store: AsyncChatStore, session: ChatSession) -> None:
        last: ChatEvent | None = None
        async for last in session.send("Hi", thinking=False, sampling=GREEDY):
            if isinstance(last, AnswerText):
                await session.stop()
        assert isinstance(last, AnswerEnded)
        assert last.message.state is MessageState.STOPPED
        assert last.message.text.startswith("round0 ")
        assert (await store.messages(session.chat.id))[-1] == last.message

    run(scripted_endless_gguf, scenario)


def test_a_killed_engine_costs_a_reload_and_nothing_else(scripted_endless_gguf: Path) -> None:
    async def scenario(client: EngineClient, store: AsyncChatStore, session: ChatSession) -> None:
        events: list[ChatEvent] = []

        async def killed_in_mid_answer() -> None:
            async for event in session.send("Hi", thinking=True, sampling=GREEDY):
                events.append(event)
                if isinstance(event, AnswerText) and client.pid is not None:
                    os.kill(client.pid, signal.SIGKILL)

        with pytest.raises(EngineDied) as caught:
            await killed_in_mid_answer()
        assert caught.value.exit_code == -signal.SIGKILL
        kept = (await store.messages(session.chat.id))[-1]
        assert kept.state is MessageState.INTERRUPTED
        assert kept.thinking == THOUGHT_TEXT
        assert kept.text == "".join(event.text for event in events if isinstance(event, AnswerText))

        with pytest.raises(ModelNotLoaded):
            async for _event in session.regenerate():
                pass
        assert client.last_settings is not None
        await client.load(client.last_settings)
        async for event in session.regenerate(thinking=False, sampling=GREEDY, max_tokens=5):
            last = event
        assert isinstance(last, AnswerEnded)
        assert last.message.state is MessageState.CUT_LENGTH
        assert last.message.text.startswith("round0 ")

    run(scripted_endless_gguf, scenario)


def test_a_chat_that_does_not_fit_is_refused_with_numbers(tiny_gguf: Path) -> None:
    async def scenario(_client: EngineClient, store: AsyncChatStore, session: ChatSession) -> None:
        text = "many words " * 500
        with pytest.raises(ContextFull) as caught:
            await answer(session, text, thinking=True)
        assert caught.value.prompt_tokens > caught.value.context_tokens > 0
        assert [message.text for message in await store.messages(session.chat.id)] == [text]

    run(tiny_gguf, scenario, context=512)


def test_reading_is_told_before_writing(tiny_gguf: Path) -> None:
    async def scenario(_client: EngineClient, _store: AsyncChatStore, session: ChatSession) -> None:
        kinds: list[str] = []
        async for event in session.send("word " * 50, sampling=GREEDY, max_tokens=8):
            if isinstance(event, ReadingPrompt):
                kinds.append("reading")
                total = (event.done, event.total)
            elif isinstance(event, ThinkingText | AnswerText):
                kinds.append("writing")
        assert kinds == sorted(kinds)
        assert total[0] == total[1] > 50

    run(tiny_gguf, scenario)
