"""Messages to tokens: through the file's template or, where it has none, as a plain transcript.

What people and models wrote stays text: a control text inside a message ("<|im_end|>") never becomes a
control token. To that end a marker character is put into the middle of every such text before rendering,
the rendered prompt is split at the markers, and the pieces are tokenised one by one.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from clover_gui.engine.protocol import ROLE_ASSISTANT, ROLE_SYSTEM, PromptMessage
from clover_gui.engine.template import ChatTemplate, Rendered, thinking_open

# A noncharacter: it stands for nothing, so no text needs it.
MARKER = "\ufdd0"
_NAMES = {ROLE_SYSTEM: "System", ROLE_ASSISTANT: "Assistant"}
# An edit often adds to the end of a message: of long ones only that much is then read again.
_LONG_MESSAGE, _NEAR_END = 256, 48
# Of so many answers their very tokens are remembered.
KNOWN_TEXTS = 16
STOP_STRINGS = ("\nUser:", "\nSystem:", "\nAssistant:")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in tokens.

    ``text`` still has its markers. ``history_text`` is its beginning that later turns share and
    ``history_length`` counts its tokens (0: cannot be told). ``newest_start`` counts the tokens before the
    words of the newest message (0: cannot be told). ``in_thinking``: the answer begins with thoughts.
    ``begun`` is the beginning of the answer that stands at the end of the prompt, without markers, and
    ``begun_tokens`` counts its tokens.
    """

    text: str
    tokens: list[int]
    history_text: str
    history_length: int
    in_thinking: bool
    newest_start: int = 0
    begun: str = ""
    begun_tokens: int = 0

    @property
    def marks(self) -> list[int]:
        """Counts of tokens that a later turn may go on from: after the newest message, where it was edited
        near its end, and where it was edited elsewhere."""
        places = [self.newest_start, self.history_length]
        if self.history_length - self.newest_start >= _LONG_MESSAGE:
            places.insert(1, self.history_length - _NEAR_END)
        return [place for place in places if 0 < place <= self.history_length]


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
        self.guard = guard
        self._begin_token = begin_token

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """Texts that end an answer: a transcript's next turn."""
        return () if self._template else STOP_STRINGS

    def build(
        self,
        messages: Sequence[PromptMessage],
        thinking: bool | None,
        known: KnownText | KnownTexts | None = None,
    ) -> Prompt:
        """Tokens of the prompt; those of ``known`` are kept where its text is how the prompt begins.

        Raises:
            TemplateError: the template refused.
        """
        safe = [replace(m, content=self.guard.defuse(m.content)) for m in messages]
        rendered = self._template.render(safe, thinking) if self._template else transcript(safe)
        text = rendered.prompt
        kept, rest = known.match(text, self.guard) if known else ([], text)
        tokens = kept + self.tokens_of(rest, first=not kept)
        history_length = self._length_of(rendered.history or "", text, tokens)
        newest_start = self._length_of(rendered.before_newest, text, tokens)
        in_thinking = self._template is not None and thinking_open(text)
        return Prompt(text, tokens, rendered.history or "", history_length, in_thinking, newest_start)

    def _length_of(self, beginning: str, text: str, tokens: list[int]) -> int:
        """Tokens of a beginning of ``text``; 0 where a token spans its end, since it would not be found
        again."""
        if not beginning:
            return 0
        tail = self.tokens_of(text[len(beginning) :], first=False)
        length = len(tokens) - len(tail)
        return length if length > 0 and tokens[length:] == tail else 0

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
        self.text = prompt.text
        self._tokens = array("i", prompt.tokens)
        self._history_text = prompt.history_text
        self._history_length = prompt.history_length
        self._answer = array("i")
        self._texts: list[str] = []

    def add(self, token: int, text: str) -> None:
        """A token of the answer with the characters that it completed."""
        self._answer.append(token)
        self._texts.append(text)

    def begins(self, base: str, begun: str) -> tuple[list[int], int]:
        """(kept tokens, characters of ``begun`` among them) for an answer that begins with ``begun`` after
        the prompt text ``base``; no tokens if this is not how the engine has it.

        The prompt must be the same to the marker, since it holds what people wrote. The answer's tokens are
        those that the model chose, whatever texts they spell.
        """
        if not self.text.startswith(base):
            return [], 0
        before = self.text[len(base) :].replace(MARKER, "")
        if not begun.startswith(before):
            return [], 0
        place, count = len(before), 0
        for text in self._texts:
            if not begun.startswith(text, place):
                break
            place, count = place + len(text), count + 1
        while 0 < count < len(self._texts) and not self._texts[count - 1]:
            count -= 1  # the first bytes of a character that does not follow
        return (self._tokens + self._answer[:count]).tolist(), place

    def match(self, text: str, guard: Guard) -> tuple[list[int], str]:
        """(kept tokens, rest of the prompt's text); no tokens if the prompt begins otherwise.

        Kept is the prompt with its answer, the same prompt, or the history that both share; never the
        prompt with something else behind it, whose tokens might join differently.
        """
        if text == self.text:
            return self._tokens.tolist(), ""
        if text.startswith(self.text):
            count, length = self._answer_in(text[len(self.text) :], guard)
            if count:
                return (self._tokens + self._answer[:count]).tolist(), text[len(self.text) + length :]
        if self._history_length and text.startswith(self._history_text):
            return self._tokens[: self._history_length].tolist(), text[len(self._history_text) :]
        return [], text

    def _answer_in(self, following: str, guard: Guard) -> tuple[int, int]:
        texts = self._texts
        for count in range(len(texts), 0, -1):
            expected = guard.defuse("".join(texts[:count]))
            if following.startswith(expected):
                return count, len(expected)
            if texts[count - 1].strip():  # templates strip answers, so only spaces at the end may be gone
                break
        return 0, 0


class KnownTexts:
    """The last prompts with their answers, of several chats."""

    def __init__(self) -> None:
        self._known: deque[KnownText] = deque(maxlen=KNOWN_TEXTS)

    def add(self, known: KnownText) -> None:
        self._known.append(known)

    def clear(self) -> None:
        self._known.clear()

    def match(self, text: str, guard: Guard) -> tuple[list[int], str]:
        """As ``KnownText.match``, of the one that knows most; of equal ones the newest."""
        best: tuple[list[int], str] = ([], text)
        for known in reversed(self._known):
            found = known.match(text, guard)
            if len(found[0]) > len(best[0]):
                best = found
        return best

    def begins(self, base: str, begun: str) -> tuple[list[int], int]:
        """As ``KnownText.begins``, of the one that knows most."""
        found = (known.begins(base, begun) for known in reversed(self._known))
        return max(found, key=lambda one: len(one[0]), default=([], 0))


def transcript(messages: Sequence[PromptMessage]) -> Rendered:
    """The plain form for a file without a template."""
    lines = []
    for message in messages:
        if message.role == ROLE_SYSTEM:
            lines.append(f"{message.content.strip()}\n\n")
        else:
            lines.append(f"{_NAMES.get(message.role, 'User')}: {message.content.strip()}\n")
    history = "".join(lines)
    newest = f"{messages[-1].content.strip()}\n" if messages else ""
    return Rendered(history + "Assistant:", history, history.removesuffix(newest) if newest else "")


def guard_for(control: Iterable[str], user_defined: Iterable[str], template: str) -> Guard:
    """Control texts always, and of the user-defined ones the tags that the template uses as structure."""
    tags = (t for t in user_defined if t and t[0] in "<[{|" and t[-1] in ">]}|" and t in template)
    return Guard([*control, *tags])
