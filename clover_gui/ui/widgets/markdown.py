"""Markdown to HTML for messages, safe against hostile text.

Nothing is ever fetched: images become a label with their host, raw HTML is shown as typed, and only
http, https and mailto links can be clicked at all. The parser is imported at the first use, because a
window must be on the screen before it is needed; ``warm_up`` does it ahead of time, in any thread.
Must not know: widgets, colours (the document's style sheet has them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it.token import Token

    from clover_gui.ui.widgets.formula import Drawing

ALONE = "\u2060"
"""A letter without width that follows a formula on a line of its own."""
LINK_SCHEMES = ("http", "https", "mailto")

References = dict[str, Any]
"""Link definitions (``[name]: https://...``) seen so far, as the parser keeps them."""

Formulas = Callable[[str], "Drawing | None"]
"""The drawing of a formula given by its source; None: show the source."""


def block_tokens(source: str, references: References) -> Sequence[Token]:
    """The block structure alone (no inline text); definitions found are added to ``references``."""
    # Imported here and below so that the first paint of the window does not wait for the parser.
    from clover_gui.ui.widgets import markdown_parser

    return markdown_parser.block_tokens(source, references)


def render(source: str, references: References | None = None, formulas: Formulas | None = None) -> str:
    """HTML of the kind that ``QTextDocument`` understands. ``references`` is not changed.

    A drawn formula becomes an image whose name is its source (``formula_object`` draws it).
    """
    from clover_gui.ui.widgets import markdown_parser

    return markdown_parser.render(source, dict(references or {}), formulas or _no_formula)


def _no_formula(_source: str) -> None:
    return None


def warm_up() -> None:
    """Import what rendering needs, so that the first answer does not wait for it. Any thread."""
    from pygments.lexers import get_lexer_by_name

    render("# a\n\n- b `c` https://example.org\n\n|a|b|\n|-|-|\n|c|d|\n")
    for name in ("python", "bash", "json"):
        list(get_lexer_by_name(name).get_tokens("a = 1\n"))


def is_openable(target: str) -> bool:
    """Whether a link may lead out of the program at all (after a question)."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return False
    if parts.scheme.lower() == "mailto":
        return bool(parts.path)
    return parts.scheme.lower() in LINK_SCHEMES and bool(parts.netloc) and "%" not in parts.netloc


def place_of(target: str) -> str:
    """Where an image or link points to, in a word or two: its host, or its scheme if it has none."""
    try:
        parts = urlsplit(target)
        return parts.hostname or (f"{parts.scheme}:" if parts.scheme else target)
    except ValueError:
        return target
