"""One chat and its messages as plain values, as the store keeps them and the front ends show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from clover_gui.chat.options import ChatOptions


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class MessageState(StrEnum):
    """How a message stands. An answer that was RUNNING when the program died is read back as INTERRUPTED."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"  # by the person
    CLOSED = "closed"  # the program was closed in mid-answer
    CUT_LENGTH = "cut-length"  # max_tokens
    CUT_CONTEXT = "cut-context"  # the context was full
    LOOPED = "looped"  # it repeated itself and was stopped
    BROKEN = "broken"  # the engine computed values that are no numbers
    INTERRUPTED = "interrupted"  # the engine or the program ended in mid-answer
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AnswerStats:
    """What an answer cost. Counts in tokens, times in seconds.

    ``model`` is the engine's description of it, ``model_file`` the name of its file, ``settings`` the values
    that were in force. ``thinking_closed`` (CLOSED_* of the engine's protocol) says why the thoughts were
    ended from outside, ``cause`` (CAUSE_*) what probably is behind an answer that was LOOPED or BROKEN.
    ``parts``: an answer that was cut and gone on with was written in so many; tokens and times are sums.
    """

    tokens_read: int = 0
    tokens_reused: int = 0
    tokens_written: int = 0
    read_seconds: float = 0.0
    write_seconds: float = 0.0
    thinking_seconds: float = 0.0
    thinking_tokens: int = 0
    context_used: int = 0
    seed: int = 0
    model: str = ""
    thinking_closed: str = ""
    cause: str = ""
    model_file: str = ""
    settings: str = ""
    parts: int = 1

    @property
    def read_tokens_per_second(self) -> float | None:
        return self.tokens_read / self.read_seconds if self.read_seconds > 0 and self.tokens_read else None

    @property
    def write_tokens_per_second(self) -> float | None:
        return (
            self.tokens_written / self.write_seconds
            if self.write_seconds > 0 and self.tokens_written
            else None
        )


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file, or a large text that was pasted, as it goes with a message of the person.

    ``tokens`` is its length as the engine counted it when it was attached (0: not counted).
    """

    name: str
    text: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``id`` is the store's; ``created`` is seconds since 1970 UTC.

    Messages form a tree: ``parent_id`` is the message that this one follows. Two answers with the same
    parent are versions of each other; a chat shows one path through its tree. ``begins_context``: what stands
    before it in the chat is not sent to the model any more, since it did not fit.
    """

    id: int
    chat_id: int
    role: Role
    text: str
    thinking: str = ""
    state: MessageState = MessageState.COMPLETE
    stats: AnswerStats | None = None
    created: float = 0.0
    parent_id: int | None = None
    begins_context: bool = False
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat as the list shows it. An empty title means: not named yet.

    ``system_prompt`` is what the model is told before everything else; empty: nothing. ``pinned`` chats stand
    above the others.
    """

    id: int
    title: str
    created: float
    updated: float
    thinking: bool = True
    system_prompt: str = ""
    pinned: bool = False
    options: ChatOptions = field(default_factory=ChatOptions)
