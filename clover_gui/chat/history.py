"""What the model gets to see of a chat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clover_gui.chat.attachments import with_attachments
from clover_gui.chat.message import Message, Role
from clover_gui.engine.protocol import ROLE_SYSTEM, PromptMessage

Turn = tuple[Message, ...]


def prompt_messages(messages: Iterable[Message], system_prompt: str = "") -> tuple[PromptMessage, ...]:
    """The chat as turns for the template, after the system prompt if there is one.

    Thoughts of earlier answers are left out, and so are answers without text. Where two turns of one role
    then meet (a question whose answer failed, and the next question), they become one turn with an empty
    line between: many templates refuse roles that do not alternate, and nothing of the text is dropped.
    """
    turns: list[PromptMessage] = []
    for message in messages:
        text = with_attachments(message.text, message.attachments)
        if message.role is Role.ASSISTANT and not text.strip():
            continue
        if turns and turns[-1].role == message.role.value:
            text = f"{turns.pop().content}\n\n{text}"
        turns.append(PromptMessage(message.role.value, text))
    if system_prompt.strip():
        turns.insert(0, PromptMessage(ROLE_SYSTEM, system_prompt))
    return tuple(turns)


def sent_part(path: Sequence[Message]) -> Sequence[Message]:
    """The end of a path that is sent to the model: from the last message on that begins the context."""
    starts = [place for place, message in enumerate(path) if message.begins_context]
    return path[starts[-1] :] if starts else path


def turns_of(path: Sequence[Message]) -> list[Turn]:
    """The path in turns as ``prompt_messages`` joins them: what the person said, and the answer."""
    turns: list[list[Message]] = []
    answered = True
    for message in path:
        if message.role is Role.USER and answered:
            turns.append([])
            answered = False
        elif message.role is Role.ASSISTANT and message.text.strip():
            answered = True
        if not turns:
            turns.append([])
        turns[-1].append(message)
    return [tuple(turn) for turn in turns]
