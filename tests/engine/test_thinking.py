"""The splitter: right for every way to cut the stream, and no character is ever lost."""

from __future__ import annotations

import itertools
import random

import pytest

from clover_gui.engine.thinking import PieceKind, ThinkingSplitter

T, A, M = PieceKind.THINKING, PieceKind.ANSWER, PieceKind.MARKUP


def split(pieces: list[str], *, in_thinking: bool) -> dict[PieceKind, str]:
    splitter = ThinkingSplitter(in_thinking)
    texts = dict.fromkeys(PieceKind, "")
    order = ""
    for piece in [*(p for text in pieces for p in splitter.feed(text)), *splitter.finish()]:
        texts[piece.kind] += piece.text
        order += piece.text
        assert piece.text
    assert order == "".join(pieces)
    return texts


CASES = [
    # in_thinking, text, thoughts, answer
    (True, "Let me think.</think>\n\nHello 😀", "Let me think.", "Hello 😀"),
    (False, "<think>a</think>b", "a", "b"),
    (False, "  \n<think>\na\n</think>\n\n\nb", "\na\n", "\nb"),
    (False, "just an answer", "", "just an answer"),
    (False, "  indented", "", "  indented"),
    (True, "never closed", "never closed", ""),
    (True, "no </thin", "no </thin", ""),
    (False, "", "", ""),
    (True, "", "", ""),
    (True, "\n</think>\n\nshort", "", "short"),
    (False, "</think>\n\nclosed only", "", "closed only"),
    (False, "text </think> more", "", "text </think> more"),
    (True, "<think>\ndoubled</think></think>\n\nend", "\ndoubled", "end"),
    (False, "<think><think>a</think>\n</think>b", "a", "b"),
    (True, "one</think>\n<think>two</think>\nthree", "onetwo", "three"),
    (True, "a</think>\n\nUse `<think>` and `</think>`.", "a", "Use `<think>` and `</think>`."),
    (True, "a</think>```\n<think>\n</think>\n```", "a", "```\n<think>\n</think>\n```"),
    (True, "the tag `</think>` ends it</think>ok", "the tag `</think>` ends it", "ok"),
    (True, 'is "</think>" it?</think>ok', 'is "</think>" it?', "ok"),
    (True, "`</think>", "`", ""),
    (True, "`</think>\n\nnot quoted", "`", "not quoted"),
    (False, "<thinking> is another tag", "", "<thinking> is another tag"),
    (False, "<thi", "", "<thi"),
    (True, "a < b </ c <think> d</think>e", "a < b </ c <think> d", "e"),
    (True, "a</think>\r\n\r\nb", "a", "b"),
    (True, "a</think>   \n", "a", "   \n"),
    (False, " \n\t", "", " \n\t"),
]


@pytest.mark.parametrize(("in_thinking", "text", "thoughts", "answer"), CASES)
def test_every_cut_gives_the_same_split(in_thinking: bool, text: str, thoughts: str, answer: str) -> None:
    cuts = range(len(text) + 1)
    for first, second in itertools.combinations_with_replacement(cuts, 2):
        texts = split([text[:first], text[first:second], text[second:]], in_thinking=in_thinking)
        assert (texts[T], texts[A]) == (thoughts, answer)
    assert split(list(text), in_thinking=in_thinking)[A] == answer


def test_random_streams_lose_nothing_and_do_not_depend_on_the_cuts() -> None:
    chance = random.Random(4)
    parts = ["<think>", "</think>", "<thi", "nk>", "</", "<", "`", "\n", " ", "a", "😀", '"', "/think>"]
    for _round in range(2000):
        text = "".join(chance.choices(parts, k=chance.randint(0, 12)))
        in_thinking = chance.random() < 0.5
        cuts = sorted(chance.choices(range(len(text) + 1), k=chance.randint(0, 6)))
        pieces = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
        texts = split(pieces, in_thinking=in_thinking)
        assert texts == split([text], in_thinking=in_thinking) == split(list(text), in_thinking=in_thinking)
        assert texts[M].replace("<think>", "").replace("</think>", "").strip() == ""


def test_text_is_given_out_as_soon_as_it_is_certain() -> None:
    splitter = ThinkingSplitter(in_thinking=True)
    assert [p.text for p in splitter.feed("thoughts</thi")] == ["thoughts"]
    assert splitter.in_thinking
    splitter.feed("nk>\n\nanswer")
    assert not splitter.in_thinking
    assert [p.text for p in splitter.feed(" </thi")] == [" </thi"]
