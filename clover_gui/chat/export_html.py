"""A chat as one HTML page that stands alone: no script, nothing that is fetched, everything escaped.

What a model wrote is rendered from Markdown with raw HTML off, pictures as labels, and links only to web
and mail addresses; what a person wrote is shown as typed.
"""

from __future__ import annotations

import time
from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from clover_gui.chat.message import Attachment, Message, Role
from clover_gui.chat.record import ChatRecord
from clover_gui.i18n import _, capped, current_language, number

_LINKS = ("http", "https", "mailto")
_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color: #1d2321; background: #fff; }
h1 { font-size: 1.5rem; } header p, footer { color: #5a6461; }
article { margin: 1.6rem 0; } article > h2 { font-size: .9rem; color: #5a6461; margin: 0 0 .3rem; }
.user .text { white-space: pre-wrap; overflow-wrap: anywhere; background: #eef2f0; border-radius: .8rem;
  padding: .7rem 1rem; }
pre { overflow-x: auto; background: #eef2f0; padding: .8rem; border-radius: .4rem; white-space: pre; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; } th, td { border: 1px solid #c9d2ce; padding: .3rem .6rem; }
blockquote { border-left: .2rem solid #c9d2ce; margin-left: 0; padding-left: 1rem; color: #5a6461; }
details { margin: .4rem 0; } summary { cursor: pointer; color: #5a6461; }
.label { color: #5a6461; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e9e7; background: #161a18; } .user .text, pre { background: #232a27; }
  th, td, blockquote { border-color: #3a4440; } a { color: #7cc7a0; }
  article > h2, header p, footer, summary, .label, blockquote { color: #a2ada8; }
}
"""


def record_to_html(record: ChatRecord) -> str:
    """The shown path as a page."""
    title = escape(capped(record.chat.title, 200) or _("Chat"))
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.chat.created))
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="{current_language()}">',
        '<head><meta charset="utf-8">',
        # Whatever a fault here might let through: the browser loads nothing and runs nothing.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head>",
        f"<body><header><h1>{title}</h1><p>{escape(date)}</p></header><main>",
    ]
    if record.chat.system_prompt.strip():
        parts.append(_article("system", _("Instructions"), _as_typed(record.chat.system_prompt)))
    parts += [_article_of(message) for message in record.path()]
    parts.append("</main></body></html>")
    return "\n".join(parts) + "\n"


def _article_of(message: Message) -> str:
    files = "".join(_file(attachment) for attachment in message.attachments)
    if message.role is Role.USER:
        return _article("user", _("You"), files + _as_typed(message.text))
    thoughts = ""
    if message.thinking.strip():
        thoughts = _details(_("Thoughts"), rendered(message.thinking))
    return _article("answer", _("Answer"), f'{thoughts}<div class="text">{rendered(message.text)}</div>')


def _article(kind: str, heading: str, content: str) -> str:
    return f'<article class="{kind}"><h2>{escape(heading)}</h2>{content}</article>'


def _as_typed(text: str) -> str:
    return f'<div class="text" dir="auto">{escape(text)}</div>' if text else ""


def _file(attachment: Attachment) -> str:
    name = capped(attachment.name, 120)
    if attachment.tokens:
        name = _("{name}, {count} tokens").format(name=name, count=number(attachment.tokens))
    return _details(name, f"<pre>{escape(attachment.text)}</pre>")


def _details(summary: str, content: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def rendered(source: str) -> str:
    """Markdown as harmless HTML."""
    return str(_parser().render(source))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_SafeRenderer)
    return parser.enable(["table", "strikethrough"])


class _SafeRenderer(RendererHTML):
    def image(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[index]
        alt = self.renderInlineAsText(token.children or [], options, env)
        source = str(token.attrGet("src") or "")
        label = _("[image: {description} — {place}]").format(
            description=capped(alt, 120), place=capped(_host_of(source))
        )
        return f'<span class="label">{escape(label)}</span>'

    def link_open(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        target = str(tokens[index].attrGet("href") or "")
        if _scheme_of(target) not in _LINKS:
            return f'<span title="{escape(capped(target, 200))}">'
        return f'<a rel="noopener noreferrer nofollow" href="{escape(target)}">'

    def link_close(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        depth = 0
        for token in reversed(tokens[: index + 1]):
            depth += (token.type == "link_close") - (token.type == "link_open")
            if depth == 0:
                return "</a>" if _scheme_of(str(token.attrGet("href") or "")) in _LINKS else "</span>"
        return ""


def _scheme_of(target: str) -> str:
    try:
        return urlsplit(target.strip()).scheme.lower()
    except ValueError:
        return ""


def _host_of(source: str) -> str:
    try:
        return urlsplit(source).hostname or _("no address")
    except ValueError:
        return _("no address")
