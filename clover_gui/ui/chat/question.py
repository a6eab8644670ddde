"""What the model is asked for: a message, another version of one, an answer again, or the rest of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clover_gui.chat.message import Attachment, Message, Role


@dataclass(frozen=True, slots=True)
class Question:
    """A new message, another version of one (``replacing``), or (``text`` None) the last message again; with
    ``go_on`` the rest of its answer, which was cut."""

    text: str | None
    files: tuple[Attachment, ...] = ()
    replacing: int | None = None
    go_on: bool = False

    def alone(self, messages: Sequence[Message]) -> Question:
        """The same as the first message of another chat; ``messages`` are those of this one."""
        if self.text is None:
            asked = next((m for m in reversed(messages) if m.role is Role.USER), None)
        elif self.replacing is not None:
            asked = next((m for m in messages if m.id == self.replacing), None)
        else:
            return self
        files = asked.attachments if asked is not None else ()
        return Question(self.text if self.text is not None else (asked.text if asked else ""), files)
