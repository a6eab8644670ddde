"""Helpers for tests with a real engine child."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from clover_gui.engine.client import EngineClient
from clover_gui.engine.engine import GenerationEvent
from clover_gui.engine.protocol import (
    Begun,
    Finished,
    Limits,
    LoadSettings,
    PromptMessage,
    Reading,
    Sampling,
    Text,
)

GREEDY = Sampling(temperature=0)
Result = TypeVar("Result")


@dataclass
class Answer:
    """What came of one answer."""

    readings: list[Reading] = field(default_factory=list)
    pieces: list[Text] = field(default_factory=list)
    finished: Finished | None = None

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def end(self) -> Finished:
        assert self.finished is not None
        return self.finished

    def add(self, event: GenerationEvent) -> None:
        if isinstance(event, Reading):
            self.readings.append(event)
        elif isinstance(event, Text):
            self.pieces.append(event)
        else:
            self.finished = event


def with_client(
    scenario: Callable[[EngineClient], Awaitable[Result]],
    command: Sequence[str] | None = None,
    *,
    start_timeout_s: float = 60.0,
    cancel_patience_s: float = 3.0,
) -> Result:
    """Run a scenario under plain asyncio with a client that is closed in any case."""

    async def main() -> Result:
        client = EngineClient(command, start_timeout_s=start_timeout_s, cancel_patience_s=cancel_patience_s)
        try:
            return await scenario(client)
        finally:
            await client.close()

    return asyncio.run(main())


def settings(path: Path, context: int = 2048) -> LoadSettings:
    return LoadSettings(str(path), context=context, threads=1)


def user(*texts: str) -> tuple[PromptMessage, ...]:
    """A conversation: the person's words and the answers in turn."""
    roles = ("user", "assistant")
    return tuple(PromptMessage(roles[i % 2], text) for i, text in enumerate(texts))


async def ask(
    client: EngineClient,
    messages: tuple[PromptMessage, ...],
    *,
    thinking: bool | None = None,
    sampling: Sampling = GREEDY,
    max_tokens: int = 0,
    limits: Limits | None = None,
    begun: Begun | None = None,
) -> Answer:
    """A whole answer."""
    answer = Answer()
    events = client.generate(
        messages, thinking=thinking, sampling=sampling, max_tokens=max_tokens, limits=limits, begun=begun
    )
    async for event in events:
        answer.add(event)
    return answer


async def until(condition: Callable[[], bool], limit_s: float = 30.0) -> float:
    """Wait for a condition; the seconds that it took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < limit_s, "the condition did not come true"
        await asyncio.sleep(0.005)
    return time.monotonic() - started
