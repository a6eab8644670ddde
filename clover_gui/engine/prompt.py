"""Messages to tokens: through the file's template or, where it has none, as a plain transcript.

What people and models wrote stays text: a control text inside a message ("<|im_end|>") never becomes a
control token. To that end a marker character is put into the middle of every such text before rendering,
the rendered prompt is split at the markers, and the pieces are tokenised one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from clover_gui.engine.protocol import ROLE_ASSISTANT, ROLE_SYSTEM, PromptMessage
from clover_gui.engine.template import ChatTemplate, Rendered, thinking_open

# A noncharacter: it stands for nothing, so no text needs it.
MARKER = "\ufdd0"
_NAMES = {ROLE_SYSTEM: "System", ROLE_ASSISTANT: "Assistant"}
STOP_STRINGS = ("\nUser:", "\nSystem:", "\nAssistant:")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in tokens.

    ``text`` still has its markers. ``history_text`` is its beginning that later turns share and
    ``history_length`` counts its tokens (0: cannot be told). ``in_thinking``: the answer begins with
    thoughts.
    """

    text: str
    tokens: list[int]
    history_text: str
    history_length: int
    in_thinking: bool


class Guard:
    """Keeps control texts in contents from becoming control tokens."""

    def __init__(self, texts: Iterable[str]) -> None:
        known = sorted({text for text in texts if len(text) > 1}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, known))) if known else None

    def defuse(self, text: str) -> str:
        """``text`` with markers inside all control texts, so that none is left whole."""
        text = text.replace(MARKER, "")
        if self._pattern is None:
            return text
        found = self._pattern.search(text)
        while found:
            middle = found.start() + len(found[0]) // 2
            text = text[:middle] + MARKER + text[middle:]
            # From the start of this one: what overlapped with it is looked at again.
            found = self._pattern.search(text, found.start())
        return text


class PromptBuilder:
    """Builds the prompts of one loaded model."""

    def __init__(
        self,
        tokenize: Callable[[str], list[int]],
        template: ChatTemplate | None,
        guard: Guard,
        begin_token: int | None,
    ) -> None:
        """``begin_token`` is put in front unless the template wrote it; None for models that have none."""
        self._tokenize = tokenize
        self._template = template
        self._guard = guard
        self._begin_token = begin_token

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """Texts that end an answer: a transcript's next turn."""
        return () if self._template else STOP_STRINGS

    def build(
        self, messages: Sequence[PromptMessage], thinking: bool | None, known: KnownText | None = None
    ) -> Prompt:
        """Tokens of the prompt; those of ``known`` are kept where its text is how the prompt begins.

        Raises:
            TemplateError: the template refused.
        """
        safe = [replace(m, content=self._guard.defuse(m.content)) for m in messages]
        rendered = self._template.render(safe, thinking) if self._template else transcript(safe)
        text = rendered.prompt
        kept, rest = known.match(text, self._guard) if known else ([], text)
        tokens = kept + self.tokens_of(rest, first=not kept)
        history_length = 0
        if rendered.history is not None:
            tail = self.tokens_of(text[len(rendered.history) :], first=False)
            history_length = len(tokens) - len(tail)
            # Tokens that span the seam would not be found again: then only a common beginning counts.
            if history_length < 0 or tokens[history_length:] != tail:
                history_length = 0
        in_thinking = self._template is not None and thinking_open(text)
        return Prompt(text, tokens, rendered.history or "", history_length, in_thinking)

    def tokens_of(self, text: str, *, first: bool) -> list[int]:
        """Tokens of a rendered text with markers; ``first``: it is the beginning of the prompt."""
        tokens: list[int] = []
        for piece in text.split(MARKER):
            tokens += self._tokenize(piece)
        if first and self._begin_token is not None and tokens[:1] != [self._begin_token]:
            tokens.insert(0, self._begin_token)
        return tokens


class KnownText:
    """A prompt and the answer that followed it, with the very tokens that the engine holds.

    The answer's own tokens may differ from what tokenising its text gives; as long as the next prompt
    begins with the same text, they are kept and nothing needs to be read again.
    """

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._answer: list[tuple[int, str]] = []

    def add(self, token: int, text: str) -> None:
        """A token of the answer with the characters that it completed."""
        self._answer.append((token, text))

    def match(self, text: str, guard: Guard) -> tuple[list[int], str]:
        """(kept tokens, rest of the prompt's text); no tokens if the prompt begins otherwise.

        Kept is the prompt with its answer, the same prompt, or the history that both share; never the
        prompt with something else behind it, whose tokens might join differently.
        """
        known = self._prompt
        if text == known.text:
            return list(known.tokens), ""
        if text.startswith(known.text):
            count, length = self._answer_in(text[len(known.text) :], guard)
            if count:
                answer = [token for token, _ in self._answer[:count]]
                return known.tokens + answer, text[len(known.text) + length :]
        if known.history_length and text.startswith(known.history_text):
            return known.tokens[: known.history_length], text[len(known.history_text) :]
        return [], text

    def _answer_in(self, following: str, guard: Guard) -> tuple[int, int]:
        texts = [text for _, text in self._answer]
        for count in range(len(texts), 0, -1):
            expected = guard.defuse("".join(texts[:count]))
            if following.startswith(expected):
                return count, len(expected)
            if texts[count - 1].strip():  # templates strip answers, so only spaces at the end may be gone
                break
        return 0, 0


def transcript(messages: Sequence[PromptMessage]) -> Rendered:
    """The plain form for a file without a template."""
    lines = []
    for message in messages:
        if message.role == ROLE_SYSTEM:
            lines.append(f"{message.content.strip()}\n\n")
        else:
            lines.append(f"{_NAMES.get(message.role, 'User')}: {message.content.strip()}\n")
    history = "".join(lines)
    return Rendered(history + "Assistant:", history)


def guard_for(control: Iterable[str], user_defined: Iterable[str], template: str) -> Guard:
    """Control texts always, and of the user-defined ones the tags that the template uses as structure."""
    tags = (t for t in user_defined if t and t[0] in "<[{|" and t[-1] in ">]}|" and t in template)
    return Guard([*control, *tags])
