"""Markdown for tests: a bit of everything, and random mixtures."""

from __future__ import annotations

import random

MIXED = """# Heading

A paragraph with **bold**, *italic*, `code` and a [link](https://example.org/a?b=1&c=2),
on two lines. 😀 👨‍👩‍👧‍👦

- one
- two
  - nested
    1. deep
- three

1. Install:
   ```bash
   pip install thing
   \tindented

   ```
   And then go on.
2. Run it:

   ```python
   def f(x):
       return x
   ```
3. Done

> A quote
> on two lines
>> and inside

| left | centre | right |
|:-----|:------:|------:|
| a    | b      | 1,000 |
| c    | d      | 2     |

```python
class A:
    '''Text over

    several lines.'''
    x = 1  # trailing spaces:   \n\n\n    y = 2
```

- [ ] open
- [x] done

---

See [the reference][ref] and <b>raw html</b>.

[ref]: https://example.org/reference

שלום עולם
"""

FORMULAS = """
Euler: $e^{i\\pi} + 1 = 0$, so:
\\[
  \\int_0^1 x^2\\,dx
  + \\frac{1}{2}
\\]
and it costs $5 or $10.
"""
MIXED += FORMULAS

_LINES = (
    "para text\n",
    "line two\n",
    "\n",
    "\n",
    "# head\n",
    "- item\n",
    "  continued\n",
    "  - nested\n",
    "1. one\n",
    "2. two\n",
    "   ```py\n",
    "   code\n",
    "   ```\n",
    "```\n",
    "x = 1\n",
    "~~~\n",
    "> quote\n",
    ">> deeper\n",
    "| a | b |\n",
    "|---|--:|\n",
    "| 1 | 2 |\n",
    "---\n",
    "    indented\n",
    "[r]: http://x.example\n",
    "see [r]\n",
    "\ttab\n",
    "`` ` ``\n",
    "no line break ",
    "\r\n",
    "- [ ] task\n",
    "é😀 text\n",
    "===\n",
    "     deep\n",
    "$$\n",
    "\\[ a\n",
    "b = c \\],\n",
    "$$ x + y $$\n",
    "- $$ z\n",
    "+ b\n",
    "costs $5 and $x$ or \\(y\\)\n",
)


def random_text(source: random.Random, lines: int = 40) -> str:
    """Lines in any order: what no person writes, but what a model may."""
    return "".join(source.choice(_LINES) for _ in range(source.randint(1, lines)))


def random_pieces(text: str, source: random.Random, longest: int) -> list[str]:
    """The text cut into pieces of 1 to ``longest`` characters."""
    pieces: list[str] = []
    position = 0
    while position < len(text):
        length = source.randint(1, longest)
        pieces.append(text[position : position + length])
        position += length
    return pieces
