"""What the chat needs of an engine. ``client.py`` (a child process) is the real one.

Everything is asyncio and independent of Qt. One engine holds at most one loaded model and works on
one request at a time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from clover_gui.engine.protocol import (
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

GenerationEvent = Reading | Text | Finished


class Engine(Protocol):
    """A running engine. Every method may raise the EngineError family of ``errors/engine.py``."""

    @property
    def loaded(self) -> Loaded | None:
        """The model that is loaded now, or None (also after the child died)."""

    @property
    def last_settings(self) -> LoadSettings | None:
        """How the model that is loaded (or was, before the child died) was loaded."""

    async def describe(self) -> EngineInfo:
        """Version, devices and known architectures; starts the child if needed."""

    async def load(
        self, settings: LoadSettings, progress: Callable[[LoadProgress], None] | None = None
    ) -> Loaded:
        """Load a model in place of the present one. Cancelling the task cancels the load."""

    def generate(
        self,
        messages: tuple[PromptMessage, ...],
        *,
        thinking: bool | None = None,
        sampling: Sampling | None = None,
        max_tokens: int = 0,
        limits: Limits | None = None,
        begun: Begun | None = None,
    ) -> AsyncIterator[GenerationEvent]:
        """Answer the last message; the last event is Finished. Closing the iterator stops the answer.

        ``begun``: go on with this beginning of the answer; only what follows it is written and counted.
        """

    async def count(
        self,
        messages: tuple[PromptMessage, ...],
        *,
        thinking: bool | None = None,
        reserve: int = 1024,
        begun: Begun | None = None,
    ) -> Counted:
        """How many tokens this prompt has, with the model's own template and vocabulary. Waits for its turn
        behind a running answer."""

    async def cancel(self) -> None:
        """Stop the running answer; its iterator then ends with Finished(reason="cancelled")."""

    async def unload(self) -> None:
        """Free the model's memory."""

    async def close(self) -> None:
        """End the child. Never raises."""


__all__ = ["Engine", "GenerationEvent"]
