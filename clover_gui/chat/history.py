"""What the model gets to see of a chat."""

from __future__ import annotations

from collections.abc import Iterable

from clover_gui.chat.message import Message, Role
from clover_gui.engine.protocol import PromptMessage


def prompt_messages(messages: Iterable[Message]) -> tuple[PromptMessage, ...]:
    """The chat as turns for the template.

    Thoughts of earlier answers are left out, and so are answers without text. Where two turns of one role
    then meet (a question whose answer failed, and the next question), they become one turn with an empty
    line between: many templates refuse roles that do not alternate, and nothing of the text is dropped.
    """
    turns: list[PromptMessage] = []
    for message in messages:
        text = message.text
        if message.role is Role.ASSISTANT and not text.strip():
            continue
        if turns and turns[-1].role == message.role.value:
            text = f"{turns.pop().content}\n\n{text}"
        turns.append(PromptMessage(message.role.value, text))
    return tuple(turns)
