"""What a model writes must not drive the terminal, and no other text may be lost."""

from __future__ import annotations

import itertools

import pytest

from clover_gui.cli.terminal_text import TerminalText


def filtered(*pieces: str) -> str:
    safe = TerminalText()
    return "".join(safe.feed(piece) for piece in pieces) + safe.finish()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 😀 👨‍👩‍👧 é\n\ttab", "plain 😀 👨‍👩‍👧 é\n\ttab"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b[2J\x1b[1;1Hb", "ab"),
        ("title\x1b]0;evil\x07 end", "title end"),
        ("copy\x1b]52;c;ZXZpbA==\x1b\\ end", "copy end"),
        ("\x9b31mc1", "c1"),
        ("\x90secret\x9cx", "x"),
        ("bell\x07 back\x08 null\x00", "bell back null"),
        ("over\rwritten", "overwritten"),
        ("windows\r\nline", "windows\nline"),
        ("charset\x1b(0x", "charsetx"),
        ("unfinished\x1b]0;title\nnext line", "unfinished0;title\nnext line"),
        ("end\x1b", "end"),
        ("half \ud83d pair", "half  pair"),
    ],
)
def test_every_cut_shows_the_same(text: str, shown: str) -> None:
    assert filtered(text) == shown
    for first, second in itertools.combinations_with_replacement(range(len(text) + 1), 2):
        assert filtered(text[:first], text[first:second], text[second:]) == shown
    assert filtered(*text) == shown


def test_a_stray_escape_character_holds_nothing_back_for_ever() -> None:
    safe = TerminalText()
    shown = safe.feed("\x1b]" + "x" * 300)
    assert "x" * 300 in shown


def test_ordinary_text_comes_at_once() -> None:
    safe = TerminalText()
    assert safe.feed("hello ") == "hello "
    assert safe.feed("😀\n") == "😀\n"
