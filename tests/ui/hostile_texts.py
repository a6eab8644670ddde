"""Texts with which a model, a file or a person may attack the window: shown whole, harming nothing."""

from __future__ import annotations

_FETCHING = """![a](http://HOST/x.png) ![r][ref] <img src="http://HOST/y.png">
![f](file://PATH) [share](//HOST/share) <svg><image href="http://HOST/z"/></svg>

<style>body { background: url(http://HOST/css) }</style>
<link rel="stylesheet" href="http://HOST/s.css">

- ![in a list](http://HOST/x.png)

> ![in a quote](data:image/svg+xml;base64,PHN2Zy8+)

| ![in a table](http://HOST/x.png) |
|---|
| <img src=PATH> |

$\\href{file://PATH}{x}$ and $\\text{<image href='file://PATH'/>}$
and $$\\includegraphics{PATH}$$

[ref]: http://HOST/ref.png
"""


def fetching(host: str, path: str) -> str:
    """Everything that would fetch something from this host or this file, if it were let."""
    return _FETCHING.replace("HOST", host).replace("PATH", path)


_DEEP = 12
LONG_TEXTS = {
    "long line": "x" * 1_000_000,
    "long code line": "```\n" + "y" * 300_000 + "\n```",
    "long line of code": "`" + "z" * 200_000 + "`",
    "nested quotes": ">" * 10_000 + " deep",
    "lines of quotes": "".join("> " * (n % 200) + f"line {n}\n" for n in range(10_000)),
    "nested lists": "".join("  " * n + "- item\n" for n in range(500)),
    "emoji": "😀👨‍👩‍👧‍👦" * 2_500,
    "right to left": "\u202eevil\u202c שלום \u2067isolate\u2069 \u200f\n\n" * 500,
    "zero width": "a\u200b\u200d\ufeff\u2060b " * 5_000,
    "combining": "a" + "\u0301" * 20_000,
    "terminal codes": "\x1b[31mred\x1b[0m \x1b]8;;http://x.example\x07link\x1b]8;;\x07 \x07\x08 " * 500,
    "nul": "a\0b\n\n```\n\0\n```\n" * 200,
    "open fences": "```python\nnever closed\n" * 50,
    "table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5_000,
    "wide table": "|" + " a |" * 500 + "\n|" + "---|" * 500 + "\n" + ("|" + " 1 |" * 500 + "\n") * 20,
    "emphasis": "*a **b " * 10_000,
    "brackets": "[" * 20_000 + "](" * 1_000,
    "dollars": "$" * 10_000 + "$a $b" * 5_000 + "\\(" * 10_000 + "\n\n$$\nnever closed\n- a\n" * 100,
    "nested formulas": "\n\n".join(
        "$" + "\\frac{1}{" * _DEEP + str(n) + "}" * _DEEP + "$ and $" + "{" * 30 + "x" + "}" * 30 + "$"
        for n in range(2)
    ),
    "many formulas": " ".join(f"$x_{{{n}}}^2$" for n in range(400)),
    "entities": "&amp;lt;&#x202e;&#0;" * 3_000,
    "links": "https://example.org/" * 5_000 + " " + "[a](https://example.org) " * 2_000,
}
