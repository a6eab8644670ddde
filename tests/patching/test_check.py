"""The judgement of the answer that is asked for after a repair."""

from __future__ import annotations

import pytest

from clover_gui.patching.check import Speech, judge


@pytest.mark.parametrize(
    ("answer", "ended", "verdict"),
    [
        ("The capital of Australia is Canberra.", True, Speech.PASSES),
        ("CANBERRA", True, Speech.PASSES),
        ("<think>\n\n</think>\n\nCanberra, of course.", True, Speech.PASSES),
        ("Canberra. It is a planned city and", False, Speech.PASSES),
        ("The capital of Australia is Sydney.", True, Speech.FAILS),
        ("<think>Canberra?</think> Sydney.", True, Speech.FAILS),
        ("", True, Speech.FAILS),
        ("G" * 96, False, Speech.DEGENERATE),
        ("!!!!!!!!!!!!!!!!!!!!!!!!!!", False, Speech.DEGENERATE),
        ("the the the the the the the the the the the the", False, Speech.DEGENERATE),
        ("Canberra " * 9, False, Speech.DEGENERATE),
        ("\n" * 90, False, Speech.DEGENERATE),
        ("�" * 5, False, Speech.DEGENERATE),
        ("Ja ja, eine Antwort ohne Sinn.", False, Speech.FAILS),
    ],
)  # fmt: skip
def test_the_verdict(answer: str, ended: bool, verdict: Speech) -> None:
    check = judge(answer, ended=ended, token_count=96)
    assert check.verdict is verdict
    assert check.passes is (verdict is Speech.PASSES)


def test_the_answer_is_capped_for_display() -> None:
    assert len(judge("x\x1b[31m" * 5000, ended=False).answer) <= 120
    assert "\x1b" not in judge("x\x1b[31m", ended=True).answer
