"""The prompt of an answer that is gone on with: the chat as the template renders it, and behind that the
beginning of the answer, with its thinking block open or closed as it was, and no token that ends it.

The program keeps an answer without its tags and the line ends around them. Which of them the model wrote is
found by what the engine still holds; where it holds nothing, the usual form is taken. Pure: knows texts and
tokens, and nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clover_gui.engine.prompt import MARKER, Guard, KnownTexts, Prompt, PromptBuilder
from clover_gui.engine.protocol import Begun, PromptMessage
from clover_gui.engine.template import TemplateError
from clover_gui.engine.thinking import CLOSING_TAG, OPENING_TAG

# What may stand between the end of the thoughts and the answer, the usual form first.
_GAPS = ("\n\n", "\n", "")
# What a model writes before an answer in a plain transcript; it is not kept with the answer.
_TRANSCRIPT_STARTS = (" ", "", "\n")


@dataclass(frozen=True, slots=True)
class _Form:
    """One way in which the beginning may have been written. ``parts``: a text, and whether it is a tag that
    shall become a token of its own."""

    parts: tuple[tuple[str, bool], ...]

    @property
    def text(self) -> str:
        return "".join(text for text, _tag in self.parts)

    def marked(self, guard: Guard, start: int = 0) -> str:
        """From ``start`` on, with markers inside the control texts that are no tags of ours."""
        marked, place = [], 0
        for text, is_tag in self.parts:
            rest = text[max(0, start - place) :]
            marked.append(rest if is_tag and rest == text else guard.defuse(rest))
            place += len(text)
        return "".join(marked)


def continued_prompt(
    builder: PromptBuilder,
    messages: Sequence[PromptMessage],
    thinking: bool | None,
    begun: Begun,
    known: KnownTexts,
) -> Prompt:
    """The prompt that ends in ``begun``. ``thinking``: as the answer was asked for, if that is known;
    thoughts in ``begun`` say that it was on.

    Raises:
        TemplateError: the template refused.
    """
    best: tuple[list[int], int, Prompt, _Form] | None = None
    best_worth = (0, 0)
    seen: set[str] = set()
    refusal: TemplateError | None = None
    first = True if begun.thinking.strip() else thinking
    for switch in dict.fromkeys((first, thinking, True, False)):
        try:
            base = builder.build(messages, switch, known)
        except TemplateError as error:
            refusal = refusal or error
            continue
        if base.text in seen:
            continue
        seen.add(base.text)
        for form in _forms(begun, in_thinking=base.in_thinking, transcript=bool(builder.stop_strings)):
            kept, length = known.begins(base.text, form.text)
            # Of those that keep as much, the one that adds least of its own to what is known.
            worth = (len(kept), length - len(form.text) if kept else 0)
            if best is None or worth > best_worth:
                best, best_worth = (kept, length, base, form), worth
    if best is None:
        raise refusal or TemplateError("the template gave nothing")
    kept, length, base, form = best
    tokens = (kept or base.tokens) + builder.tokens_of(form.marked(builder.guard, length), first=False)
    return replace(
        base,
        text=base.text + form.marked(builder.guard),
        tokens=tokens,
        begun=form.text,
        begun_tokens=len(tokens) - len(base.tokens),
    )


def _forms(begun: Begun, *, in_thinking: bool, transcript: bool) -> list[_Form]:
    """The likeliest one first. ``in_thinking``: the prompt has opened the thinking block itself."""
    text = (begun.text.replace(MARKER, ""), False)
    if not in_thinking and not begun.thinking:
        starts = _TRANSCRIPT_STARTS if transcript else ("",)
        return [_Form(((start, False), text)) for start in starts]
    opening = () if in_thinking else ((OPENING_TAG, True),)
    thoughts = (*opening, (begun.thinking.replace(MARKER, ""), False))
    closed = [_Form((*thoughts, (CLOSING_TAG, True), (gap, False), text)) for gap in _GAPS]
    return closed if begun.text else [_Form(thoughts), *closed]
