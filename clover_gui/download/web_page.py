"""Recognising a web page where a model was asked for: login pages, proxies, error pages."""

from __future__ import annotations

import html
import re

from clover_gui.i18n import capped

GGUF_MAGIC = b"GGUF"
_TITLE = re.compile(rb"<title[^>]*>(.{0,400}?)</title", re.IGNORECASE | re.DOTALL)
PAGE_TYPES = ("text/html", "application/xhtml")


def is_web_page(content_type: str, beginning: bytes) -> bool:
    """By the stated type or by the first bytes; data that begins as GGUF does is never a page."""
    if beginning.startswith(GGUF_MAGIC):
        return False
    text = beginning[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return content_type.lower().startswith(PAGE_TYPES) or text.startswith(
        (b"<!doctype html", b"<html", b"<?xml")
    )


def page_title(beginning: bytes) -> str:
    """The page's title in one line of at most 80 characters; "" where it has none."""
    found = _TITLE.search(beginning)
    return capped(html.unescape(found.group(1).decode("utf-8", "replace"))) if found else ""
