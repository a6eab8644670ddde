"""Bytes to text: whole characters, stop strings held back, nothing swallowed."""

from __future__ import annotations

import pytest

from clover_gui.engine.text_stream import TextStream


@pytest.mark.parametrize("text", ["😀", "🇩🇪", "👩‍👩‍👧", "é漢ß", "a😀b"])
def test_every_split_gives_the_same_text(text: str) -> None:
    data = text.encode()
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            stream = TextStream()
            pieces = [
                stream.feed(stream.characters(part))
                for part in (data[:first], data[first:second], data[second:])
            ]
            assert "".join(pieces) + stream.finish() == text
            assert all("\ufffd" not in piece for piece in pieces)


def test_incomplete_end_is_left_out_and_broken_bytes_show() -> None:
    stream = TextStream()
    assert stream.feed(stream.characters("a😀".encode()[:3])) == "a"
    assert stream.finish() == ""
    assert TextStream().characters(b"a\xffb") == "a\ufffdb"


@pytest.mark.parametrize(
    ("pieces", "shown", "stopped"),
    [
        (["Hello\nUser: no"], "Hello", True),
        (["Hello\n", "Us", "er", ": no", "more"], "Hello", True),
        (["Hello\nUse", "ful"], "Hello\nUseful", False),
        (["Hello\n", "\nUser:"], "Hello\n", True),
        (["ends with\nUser"], "ends with\nUser", False),
        (["  ", " Hi"], "Hi", False),
    ],
)
def test_stop_strings(pieces: list[str], shown: str, stopped: bool) -> None:
    stream = TextStream(("\nUser:", "\nAssistant:"), strip_start=True)
    text = "".join(stream.feed(piece) for piece in pieces) + stream.finish()
    assert (text, stream.stopped) == (shown, stopped)


def test_what_cannot_be_a_stop_string_is_shown_at_once() -> None:
    stream = TextStream(("\nUser:",))
    assert stream.feed("Hello\n") == "Hello"
    assert stream.feed("there") == "\nthere"


def test_a_stop_string_that_began_before_a_cut() -> None:
    """What was given out before the cut is not given out again, and the stop string is still found."""
    stream = TextStream(("\nUser:",))
    stream.resume("The end.\nUs")
    assert stream.feed("er") == ""
    assert stream.feed(": more") == ""
    assert stream.stopped
    other = TextStream(("\nUser:",))
    other.resume("The end.\nUs")
    assert other.feed("ual words") == "ual words"
    assert other.finish() == ""
