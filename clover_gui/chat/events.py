"""What happens while a question is answered, as values: the front ends draw them, nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from clover_gui.chat.message import Message
from clover_gui.errors import ChatStoreError


@dataclass(frozen=True, slots=True)
class UserSaved:
    """The person's message is in the store; only now anything is sent to the engine."""

    message: Message


@dataclass(frozen=True, slots=True)
class ContextDropped:
    """From now on the chat is sent to the model from ``first_kept`` on: ``turns`` before it were dropped, as
    the caller asked. The mark is in the store (``Message.begins_context``)."""

    first_kept: Message
    turns: int


@dataclass(frozen=True, slots=True)
class AnswerBegun:
    """The engine took the question. ``message`` is the empty RUNNING answer."""

    message: Message


@dataclass(frozen=True, slots=True)
class AnswerResumed:
    """The engine goes on with an answer that was cut. ``message`` is that answer, RUNNING again; what follows
    in further events belongs behind it."""

    message: Message


@dataclass(frozen=True, slots=True)
class ReadingPrompt:
    """``done`` of ``total`` new tokens are read, in ``seconds``; ``reused`` were known from before."""

    done: int
    total: int
    reused: int
    seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float | None:
        return self.done / self.seconds if self.done and self.seconds > 0 else None


@dataclass(frozen=True, slots=True)
class ThinkingText:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingEnded:
    """The thinking block was closed after so many seconds and (about) so many tokens.

    ``closed`` is one of the CLOSED_* words of the engine's protocol if it was ended from outside, else "".
    """

    seconds: float
    tokens: int
    closed: str = ""


@dataclass(frozen=True, slots=True)
class AnswerText:
    text: str


@dataclass(frozen=True, slots=True)
class RateSample:
    """``tokens`` written so far in ``seconds``; speeds are None until they can be told.

    ``thinking_tokens`` of ``tokens`` are thoughts, of ``thinking_budget`` that they may take (0: no limit).
    """

    tokens: int
    seconds: float
    context_used: int
    tokens_per_second_now: float | None
    tokens_per_second_average: float | None
    thinking_tokens: int = 0
    thinking_budget: int = 0


@dataclass(frozen=True, slots=True)
class NotSaved:
    """The store refused to keep the answer so far. The answer goes on; said once per answer."""

    error: ChatStoreError


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """The last event. ``stop_reason`` is one of the STOP_* words of the engine's protocol, or "" when the
    engine failed in mid-answer; its error is raised right after this event.

    ``empty``: there is no answer text, whatever the thoughts say. ``unasked_thinking``: the model wrote
    thoughts although thinking was switched off.
    """

    message: Message
    stop_reason: str
    empty: bool = False
    unasked_thinking: bool = False


ChatEvent = (
    UserSaved
    | ContextDropped
    | AnswerBegun
    | AnswerResumed
    | ReadingPrompt
    | ThinkingText
    | ThinkingEnded
    | AnswerText
    | RateSample
    | NotSaved
    | AnswerEnded
)
