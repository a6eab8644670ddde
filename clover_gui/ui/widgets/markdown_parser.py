"""The Markdown parser and its HTML, behind ``markdown.py`` (which imports this at the first use).

CommonMark with tables, strikethrough, task lists, bare links and formulas; HTML off.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from clover_gui.i18n import _, capped
from clover_gui.ui.widgets.markdown import ALONE, Formulas, References, is_openable, place_of
from clover_gui.ui.widgets.math_rules import INLINE, use_formulas

# Line breaks around paragraphs would become spaces at their ends. Preformatted text has no tags inside.
_BLOCKS = r"p|h\d|ul|ol|li|blockquote|table|thead|tbody|tr|th|td"
_BEFORE_TAG = re.compile(rf"\n(?=</?(?:{_BLOCKS})\b|<pre>|<hr)")
_AFTER_TAG = re.compile(rf"(</?(?:{_BLOCKS})\b[^>]*>|</pre>|<hr />)\n")

Env = MutableMapping[str, Any]


def block_tokens(source: str, references: References) -> Sequence[Token]:
    return _block_parser().parse(source, {"references": references})


def render(source: str, references: References, formulas: Formulas) -> str:
    parser = _full_parser()
    env: Env = {"references": references, "formulas": formulas}
    tokens = parser.parse(source, env)
    _prepare(tokens)
    html = str(parser.renderer.render(tokens, parser.options, env))
    return _AFTER_TAG.sub(r"\1", _BEFORE_TAG.sub("", html))


def _base(renderer: type[RendererHTML]) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": True}, renderer_cls=renderer)
    parser.enable(["table", "strikethrough"])
    use_formulas(parser)
    return parser


@cache
def _block_parser() -> MarkdownIt:
    return _base(RendererHTML).disable(["inline", "text_join"])


@cache
def _full_parser() -> MarkdownIt:
    parser = _base(_DocumentRenderer).enable("linkify")
    assert parser.linkify is not None
    # "setup.py" is a file, not a host in Paraguay.
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return parser


def _prepare(tokens: Sequence[Token]) -> None:
    """Make loose lists look like tight ones, and turn ``[ ]`` and ``[x]`` into boxes.

    Lists are frozen item by item while they are written, when nobody can know yet whether a blank line
    will follow further down; drawing both kinds alike keeps the finished list from jumping.
    """
    depth = 0
    for index, token in enumerate(tokens):
        if token.type == "list_item_open":
            depth += 1
            if index + 2 < len(tokens) and tokens[index + 1].type == "paragraph_open":
                tokens[index + 1].hidden = True
                _task_box(token, tokens[index + 2])
                _hide_close(tokens, index + 2)
        elif token.type == "list_item_close":
            depth -= 1
        elif token.type in ("bullet_list_open", "ordered_list_open") and depth == 0:
            token.attrSet("class", "outer")


def _hide_close(tokens: Sequence[Token], start: int) -> None:
    for token in tokens[start:]:
        if token.type == "paragraph_close":
            token.hidden = True
            return


def _task_box(item: Token, inline: Token) -> None:
    first = inline.children[0] if inline.children else None
    if first is None or first.type != "text" or first.content[:4].lower() not in ("[ ] ", "[x] "):
        return
    # Qt draws a real box for these two class names.
    item.attrSet("class", "unchecked" if first.content[1] == " " else "checked")
    first.content = first.content[4:]


def _picture(source: str, formulas: Formulas, on_its_own: bool = False) -> str:
    """The image for a formula, "" if there is none."""
    drawing = formulas(source)
    if drawing is None:
        return ""
    place = ' style="vertical-align: middle"' if on_its_own or drawing.is_low else ""
    name = escapeHtml(source)
    return f'<img src="{name}" alt="{name}"{place} />'


class _DocumentRenderer(RendererHTML):
    """HTML that ``QTextDocument`` understands and that cannot fetch anything."""

    def table_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        return '<table cellspacing="0">'

    def th_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        return self._cell("th", tokens[index])

    def td_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        return self._cell("td", tokens[index])

    def _cell(self, tag: str, token: Token) -> str:
        style = str(token.attrGet("style") or "")
        align = style.partition("text-align:")[2] or "left"
        return f'<{tag} align="{escapeHtml(align)}">'

    def fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        return f"<pre>{escapeHtml(tokens[index].content.removesuffix(chr(10)))}</pre>\n"

    def code_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        return self.fence(tokens, index, options, env)

    def formula(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        picture = _picture(tokens[index].content, env["formulas"])
        if picture and all(t.type == INLINE or not t.content.strip() for t in tokens):
            # A letter without width: a line of nothing but pictures has no room below its baseline.
            picture += ALONE
        return picture or escapeHtml(tokens[index].content)

    def formula_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        token = tokens[index]
        picture = _picture(token.content, env["formulas"], on_its_own=True)
        if picture:
            return f'<p class="formula" align="center">{picture}{escapeHtml(token.info)}</p>\n'
        return f"<p>{escapeHtml(token.content + token.info).replace(chr(10), '<br />')}</p>\n"

    def code_inline(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        return f"<code>{escapeHtml(tokens[index].content)}</code>"

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        token = tokens[index]
        alt = self.renderInlineAsText(token.children or [], options, env)
        label = _("[image: {description} — {place}]").format(
            description=capped(alt, 120), place=capped(place_of(str(token.attrGet("src") or "")))
        )
        return f'<span class="label">{escapeHtml(label)}</span>'

    def link_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        target = str(tokens[index].attrGet("href") or "")
        return f'<a href="{escapeHtml(target)}">' if is_openable(target) else ""

    def link_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
        depth = 0
        for token in reversed(tokens[: index + 1]):
            depth += (token.type == "link_close") - (token.type == "link_open")
            if depth == 0:
                target = str(token.attrGet("href") or "")
                break
        if is_openable(target):
            return "</a>"
        return f' <span class="label">({escapeHtml(capped(target, 120))})</span>'
