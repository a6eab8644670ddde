"""Many messages over several chats with random stops, kills, switches, edits and answers again.

    python -m tests.benchmarks.soak MODEL [--messages 500] [--chats 10] [--seed 1]

After each step the store must hold exactly what was said and shown, and nothing that stood there before may
have changed; at intervals the same question is put to an engine that knows nothing yet, which must give the
same words. Kills happen in the first fifth only, so that the memory of one child can be followed from then
on. Ends with exit code 1 at the first fault. tests/engine/test_soak.py runs a short one.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import os
import random
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from clover_gui.chat.async_store import AsyncChatStore
from clover_gui.chat.events import AnswerEnded, AnswerText, ChatEvent, ReadingPrompt, ThinkingText
from clover_gui.chat.history import prompt_messages, sent_part
from clover_gui.chat.message import Message, Role
from clover_gui.chat.session import ChatSession
from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import LoadSettings, Sampling
from clover_gui.errors import EngineDied
from tests.engine.kit import ask

GREEDY = Sampling(temperature=0)
CONTEXT = 4096
ANSWER_TOKENS = 40
COMPARED_TOKENS = 12
WORDS = ("light", "keeper", "ship", "night", "book", "ü", "😀", "<|im_end|>", "\n", "why", "and", "42")


@dataclass
class Report:
    """What happened."""

    steps: collections.Counter[str] = field(default_factory=collections.Counter)
    compared: int = 0
    tokens_read: int = 0
    tokens_reused: int = 0
    dropped_turns: int = 0
    child_bytes: list[tuple[int, int]] = field(default_factory=list)
    own_bytes: list[tuple[int, int]] = field(default_factory=list)


class Soak:
    """One run over one model."""

    def __init__(
        self,
        client: EngineClient,
        fresh: EngineClient,
        store: AsyncChatStore,
        settings: LoadSettings,
        seed: int,
    ) -> None:
        self._client = client
        self._fresh = fresh
        self._store = store
        self._settings = settings
        self._rng = random.Random(seed)
        self._sessions: list[ChatSession] = []
        self.report = Report()

    async def run(
        self, messages: int, chats: int, *, compare_every: int, tell: Callable[[str], None] = print
    ) -> Report:
        await self._client.load(self._settings)
        for number in range(chats):
            system = f"Words for chat {number}. " * 6 if number % 2 else ""
            chat = await self._store.create_chat(system_prompt=system)
            self._sessions.append(ChatSession(self._client, self._store, chat))
        marks = {messages // 10, messages * 3 // 10, messages}
        for count in range(1, messages + 1):
            await self._step(may_kill=count <= messages // 5)
            if count % compare_every == 0:
                await self._compare()
            if count in marks:
                self._measure(count)
                tell(f"{count} messages: {dict(self.report.steps)}")
        return self.report

    # ------------------------------------------------------------------ steps

    async def _step(self, *, may_kill: bool) -> None:
        rng, session = self._rng, self._rng.choice(self._sessions)
        before = await self._store.messages(session.chat.id)
        questions = [message for message in before if message.role is Role.USER]
        action = rng.choices(["send", "edit", "again"], [6, 2, 2])[0] if questions else "send"
        end = rng.choices(["whole", "stop", "stop reading", "leave", "kill"], [10, 3, 1, 1, may_kill])[0]
        text = " ".join(rng.choices(WORDS, k=rng.choice([3, 10, 30, 120])))
        edited = rng.choice(questions[-3:]) if action == "edit" else None
        self.report.steps[action] += 1
        self.report.steps[end] += 1
        said = None if action == "again" else text
        check = await session.check(said, replacing=edited.id if edited else None, reserve_tokens=256)
        wishes = {
            "thinking": rng.random() < 0.5,
            "sampling": GREEDY,
            "max_tokens": ANSWER_TOKENS,
            "drop_oldest": len(check.droppable),
        }
        self.report.dropped_turns += len(check.droppable)
        if edited is not None:
            events = session.edit(edited.id, text, **wishes)
        elif said is not None:
            events = session.send(text, **wishes)
        else:
            events = session.regenerate(**wishes)
        shown = await self._follow(session, events, end, rng.randrange(8))
        kept = [message for message in before if edited is None or message.id < edited.id]
        await self._verify(session, kept, said, shown)

    async def _follow(
        self, session: ChatSession, events: AsyncIterator[ChatEvent], end: str, after: int
    ) -> list[ChatEvent]:
        """The events up to the end that was chosen."""
        shown: list[ChatEvent] = []
        pieces = 0
        try:
            async for event in events:
                shown.append(event)
                pieces += isinstance(event, ThinkingText | AnswerText)
                if end == "stop reading" and isinstance(event, ReadingPrompt):
                    await session.stop()
                if pieces > after and end == "stop":
                    await session.stop()
                elif pieces > after and end == "leave":
                    await events.aclose()  # type: ignore[attr-defined]
                    break
                elif pieces > after and end == "kill" and self._client.pid is not None:
                    os.kill(self._client.pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
                    pieces = -(1 << 30)
        except EngineDied:
            if end != "kill":
                raise
            await self._client.load(self._settings)
        ended = shown[-1]
        if isinstance(ended, AnswerEnded) and ended.message.stats is not None and end == "whole":
            self.report.tokens_read += ended.message.stats.tokens_read
            self.report.tokens_reused += ended.message.stats.tokens_reused
        return shown

    # ------------------------------------------------------------------ checks

    async def _verify(
        self, session: ChatSession, kept: list[Message], said: str | None, shown: list[ChatEvent]
    ) -> None:
        path = await self._store.messages(session.chat.id)
        if said is None:
            while kept and kept[-1].role is Role.ASSISTANT:
                kept.pop()
        assert [(m.id, m.text) for m in path[: len(kept)]] == [(m.id, m.text) for m in kept], (
            "history changed"
        )
        if said is not None:
            assert path[len(kept)].text == said, "the question is not what was said"
        answer = "".join(event.text for event in shown if isinstance(event, AnswerText))
        thoughts = "".join(event.text for event in shown if isinstance(event, ThinkingText))
        last = path[-1]
        assert last.role is Role.ASSISTANT, "there is no answer"
        assert last.text.startswith(answer), "text of the answer was lost"
        assert last.thinking.startswith(thoughts), "thoughts were lost"
        if isinstance(shown[-1], AnswerEnded):
            assert (last.text, last.thinking) == (answer, thoughts), "the store has other text"

    async def _compare(self) -> None:
        """The same question to the engine with its history and to one without any."""
        session = self._rng.choice(self._sessions)
        path = await self._store.messages(session.chat.id)
        while path and path[-1].role is Role.ASSISTANT:
            path.pop()
        if not path:
            return
        messages = prompt_messages(sent_part(path), session.chat.system_prompt)
        thinking = self._rng.random() < 0.5
        mine = await ask(self._client, messages, thinking=thinking, max_tokens=COMPARED_TOKENS)
        await self._fresh.load(self._settings)
        other = await ask(self._fresh, messages, thinking=thinking, max_tokens=COMPARED_TOKENS)
        assert other.end.reused == 0
        assert mine.text == other.text, "the state is not that of a fresh evaluation"
        self.report.compared += 1

    def _measure(self, count: int) -> None:
        assert self._client.pid is not None
        self.report.child_bytes.append((count, psutil.Process(self._client.pid).memory_info().rss))
        self.report.own_bytes.append((count, psutil.Process().memory_info().rss))


async def soak(
    model: Path,
    folder: Path,
    *,
    messages: int,
    chats: int,
    seed: int,
    compare_every: int = 10,
    budget_bytes: int = 2 << 20,
    tell: Callable[[str], None] = print,
) -> Report:
    """Run it; an AssertionError names the first fault."""
    settings = LoadSettings(str(model), context=CONTEXT, threads=1, checkpoint_bytes=budget_bytes)
    client, fresh = EngineClient(), EngineClient()
    store = await AsyncChatStore.open(folder / "chats.sqlite3")
    try:
        run = Soak(client, fresh, store, settings, seed)
        return await run.run(messages, chats, compare_every=compare_every, tell=tell)
    finally:
        await client.close()
        await fresh.close()
        await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A long run with random disturbances.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--chats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(
            soak(
                arguments.model,
                Path(folder),
                messages=arguments.messages,
                chats=arguments.chats,
                seed=arguments.seed,
            )
        )
    read, reused = report.tokens_read, report.tokens_reused
    print(f"compared with a fresh engine: {report.compared}, all alike")
    print(f"whole answers: read {read:,} tokens, reused {reused:,}; dropped turns {report.dropped_turns}")
    for name, places in (("child", report.child_bytes), ("this process", report.own_bytes)):
        print(f"{name}: " + ", ".join(f"{size / 2**20:.1f} MiB at {count}" for count, size in places))


if __name__ == "__main__":
    main()
