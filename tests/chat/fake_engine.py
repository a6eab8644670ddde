"""An engine in this process that plays a script: for tests of the chat alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from clover_gui.engine.counting import turn_starts, without_oldest
from clover_gui.engine.engine import GenerationEvent
from clover_gui.engine.protocol import (
    STOP_CANCELLED,
    STOP_END,
    Begun,
    Counted,
    EngineInfo,
    Finished,
    Limits,
    Loaded,
    LoadProgress,
    LoadSettings,
    PromptMessage,
    Reading,
    Sampling,
    Text,
)

Step = str | BaseException | asyncio.Event


@dataclass
class FakeEngine:
    """Plays ``steps`` at every answer: text is written, an error raised, an event waited for.

    A wait ends early when the answer is cancelled, as a real engine does within one token; a deaf one
    goes on to its error instead of ending the answer.
    """

    steps: Sequence[Step] = ("Hello",)
    in_thinking: bool = False
    fail_at_start: BaseException | None = None
    stop_reason: str = STOP_END
    asked: list[tuple[tuple[PromptMessage, ...], bool | None, Sampling | None, int]] = field(
        default_factory=list
    )
    deaf_until_error: bool = False
    closed_answers: int = 0
    context: int = 4096
    counted: list[tuple[PromptMessage, ...]] = field(default_factory=list)
    begun: list[Begun | None] = field(default_factory=list)
    _cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def loaded(self) -> Loaded | None:
        return Loaded(
            id=1,
            description="fake 1B",
            context=self.context,
            vocabulary_size=10,
            template="file",
            can_switch_thinking=True,
            seconds=0.0,
        )

    @property
    def last_settings(self) -> LoadSettings | None:
        return LoadSettings("/models/fake-1B.gguf")

    async def describe(self) -> EngineInfo:
        return EngineInfo(1, "fake", False, (), {})

    async def load(
        self, settings: LoadSettings, progress: Callable[[LoadProgress], None] | None = None
    ) -> Loaded:
        assert self.loaded is not None
        return self.loaded

    async def generate(
        self,
        messages: tuple[PromptMessage, ...],
        *,
        thinking: bool | None = None,
        sampling: Sampling | None = None,
        max_tokens: int = 0,
        limits: Limits | None = None,
        begun: Begun | None = None,
    ) -> AsyncIterator[GenerationEvent]:
        self.asked.append((messages, thinking, sampling, max_tokens))
        self.begun.append(begun)
        self._cancelled.clear()
        if self.fail_at_start is not None:
            raise self.fail_at_start
        tokens = 0
        try:
            raw = f"{begun.thinking}</think>\n\n{begun.text}" if begun and begun.thinking else ""
            raw = raw or (begun.text if begun else "")
            yield Reading(1, 0, 8, 4, 0.0, in_thinking=self.in_thinking, begun=raw)
            yield Reading(1, 8, 8, 4, 0.1, in_thinking=self.in_thinking)
            for step in self.steps:
                if isinstance(step, BaseException):
                    raise step
                if isinstance(step, asyncio.Event):
                    await self._wait(step)
                else:
                    tokens += 1
                    yield Text(1, step, tokens, tokens * 0.01, 12 + tokens)
                if self._cancelled.is_set() and not self.deaf_until_error:
                    break
            reason = STOP_CANCELLED if self._cancelled.is_set() else self.stop_reason
            yield Finished(1, reason, 8, 4, tokens, 0.1, tokens * 0.01, 12 + tokens, seed=7)
        finally:
            self.closed_answers += 1

    async def _wait(self, event: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._cancelled.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def count(
        self,
        messages: tuple[PromptMessage, ...],
        *,
        thinking: bool | None = None,
        reserve: int = 1024,
        begun: Begun | None = None,
    ) -> Counted:
        """A word is a token."""
        self.counted.append(messages)

        def words(some: Sequence[PromptMessage]) -> int:
            return sum(len(message.content.split()) for message in some)

        written = len(f"{begun.thinking} {begun.text}".split()) if begun else 0
        total, room = words(messages) + written, self.context - reserve
        if total <= room:
            return Counted(1, total, self.context, reserve, True)
        for drop in range(1, len(turn_starts(messages))):
            after = words(without_oldest(messages, drop)) + written
            if after <= room:
                return Counted(1, total, self.context, reserve, False, drop, after)
        return Counted(1, total, self.context, reserve, False)

    async def cancel(self) -> None:
        self._cancelled.set()

    async def unload(self) -> None:
        return None

    async def close(self) -> None:
        return None
