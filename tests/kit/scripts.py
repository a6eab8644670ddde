"""What the scripted models say: chains of tokens, each one the successor of the one before.

A scripted model looks only at the last token, so a token may have one successor only. Texts and single
byte values are tokens. ``start`` names the token of the prompt's end after which a chain begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Step = str | int
END = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Script:
    """Chains (start, steps); ``loop_to`` lets the last token be followed by this earlier one."""

    chains: tuple[tuple[Step, tuple[Step, ...]], ...]
    loop_to: Step | None = None

    def successors(self) -> list[tuple[Step, Step]]:
        """(token, next token) of all chains. ValueError where a token would need two successors."""
        pairs: dict[Step, Step] = {}
        for start, steps in self.chains:
            for before, after in zip((start, *steps), steps, strict=False):
                if pairs.setdefault(before, after) != after:
                    raise ValueError(f"{before!r} has two successors")
        if self.loop_to is not None:
            pairs[self.chains[-1][1][-1]] = self.loop_to
        return list(pairs.items())

    def texts(self) -> list[str]:
        """All steps that are texts, to be put into the vocabulary."""
        steps = [step for start, chain in self.chains for step in (start, *chain)]
        return list(dict.fromkeys(step for step in steps if isinstance(step, str)))


THOUGHT: tuple[Step, ...] = ("Let", " me", " think", ".", "</think>", "\n\n")
# A four-token emoji and a two-token é, byte by byte.
ANSWER: tuple[Step, ...] = ("Hello", " wor", "ld ", 0xF0, 0x9F, 0x98, 0x80, " caf", 0xC3, 0xA9, "!", END)
THOUGHT_TEXT = "Let me think."
ANSWER_TEXT = "Hello world 😀 café!"


def thinking_first(
    thought: Sequence[Step], answer: Sequence[Step]
) -> tuple[tuple[Step, tuple[Step, ...]], ...]:
    """After "\\n" (thinking on) the thought, after "\\n\\n" (off, or the thought's own end) the answer."""
    return (("\n", tuple(thought)), ("\n\n", tuple(answer)))


def _long_answer() -> tuple[Step, ...]:
    steps: list[Step] = ["# Numbers\n"]
    for part in range(1, 9):
        steps.append(f"## Part {part}\n")
        steps += [f"word{part * 100 + i} " for i in range(40)]
        steps += [f"**bold{part}** ", f"`code{part}`.\n"]
        if part == 4:
            steps += ["```python\n", "def double(x):\n", "    return 2 * x\n", "```\n"]
        if part == 6:
            steps += ["- first item\n", "- second item\n", "| a | b |\n", "|---|---|\n", "| 1 | 2 |\n"]
    return (*steps, "The end.", END)


DEFAULT = Script(thinking_first(THOUGHT, ANSWER))
LONG = Script(thinking_first(THOUGHT, _long_answer()))
LONG_ANSWER_TEXT = "".join(str(step) for step in LONG.chains[1][1][:-1])
# Never ends: the last word is followed by the first one. So many words that it is not taken for a loop.
ENDLESS = Script(thinking_first(THOUGHT, [f"round{i} " for i in range(3000)]), loop_to="round0 ")
# Thinks the same again and again, and answers only when the thoughts are closed.
ENDLESS_THOUGHT = Script(
    (("\n\n", ANSWER), ("\n", ("Wait", ",", " let", " me", " check", " again", "."))), loop_to="Wait"
)
# Thinks for ever without repeating itself.
LONG_THOUGHT = Script(
    (("\n\n", ANSWER), ("\n", tuple(f"thought{i} " for i in range(3000)))), loop_to="thought0 "
)
# Answers with one letter for ever.
ONE_LETTER = Script(thinking_first(THOUGHT, ("!",)), loop_to="!")
# For a file without a template: the plain transcript ends with a colon; unstopped it plays the person.
TRANSCRIPT = Script(((":", (" Hello", " from", " the", " transcript", ".", "\n", "User", ":")),))
TRANSCRIPT_TEXT = "Hello from the transcript."
