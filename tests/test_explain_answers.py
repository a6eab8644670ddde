"""Every word about an answer has a sentence, in both languages' form; settings name real fields."""

from __future__ import annotations

import dataclasses

import pytest

from clover_gui.chat.context import ContextCheck
from clover_gui.chat.message import AnswerStats, Message, Role
from clover_gui.engine import protocol
from clover_gui.engine.protocol import Limits, Sampling
from clover_gui.errors import EngineDied, GenerationFailed
from clover_gui.explain import explain
from clover_gui.explain.answers import (
    dropped_text,
    empty_answer_text,
    ending_text,
    overflow_text,
    thinking_closed_text,
)
from clover_gui.explain.sampling_words import limit_settings, preset_title, sampling_settings
from clover_gui.i18n import set_language


@pytest.fixture(autouse=True)
def _english() -> None:
    set_language("en")


def words(prefix: str) -> list[str]:
    return [value for name, value in vars(protocol).items() if name.startswith(prefix)]


def test_every_ending_and_cause_has_its_sentence() -> None:
    for reason in words("STOP_"):
        assert bool(ending_text(reason)) == (reason != "end")
    texts = {ending_text("loop", cause) for cause in words("CAUSE_")}
    texts |= {ending_text("not-a-number", cause) for cause in words("CAUSE_")}
    assert len(texts) == 2 * len(words("CAUSE_"))
    assert "repair it" in ending_text("not-a-number", "file", may_need_repair=True)


def test_closed_thoughts_tell_the_number() -> None:
    for word in words("CLOSED_"):
        assert "1,240 tokens" in thinking_closed_text(word, 1240)
    assert thinking_closed_text("", 5) == ""


def test_an_empty_answer_says_where_the_tokens_went() -> None:
    assert "1,500" in empty_answer_text(AnswerStats(tokens_written=1500, thinking_tokens=1500))
    assert "thoughts" not in empty_answer_text(AnswerStats(tokens_written=1))
    assert empty_answer_text(None)


def test_overflow_and_mark() -> None:
    turn = (Message(1, 1, Role.USER, "old"),)
    text = overflow_text(ContextCheck(False, 5000, 4096, 1024, (turn, turn), 2900))
    for figure in ("5,000", "3,072", "1,024", "2 oldest", "2,900"):
        assert figure in text
    assert "too long" in overflow_text(ContextCheck(False, 5000, 4096, 1024))
    assert "2 oldest turns" in dropped_text(2)


def test_settings_name_real_fields_and_hold_the_defaults() -> None:
    for settings, defaults in ((sampling_settings(), Sampling()), (limit_settings(), Limits())):
        fields = {field.name for field in dataclasses.fields(defaults)}
        for setting in settings:
            assert setting.field in fields
            assert setting.title
            assert setting.explanation
            value = getattr(defaults, setting.field)
            if setting.step and value is not None:
                assert setting.low <= value <= setting.high
    shown = {setting.field for setting in sampling_settings()}
    assert shown == {field.name for field in dataclasses.fields(Sampling)}
    assert len({preset_title(mode) for mode in ("thinking", "precise", "direct", "")}) == 4


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("vk::Queue::submit: ErrorDeviceLost", "card was lost"),
        ("CUDA error: unspecified launch failure", "card was lost"),
        ("ggml_vulkan: Device memory allocation failed: ErrorOutOfDeviceMemory", "out of memory"),
        ("cudaMalloc failed: out of memory", "out of memory"),
    ],
)
def test_what_happened_to_the_device_is_named(line: str, word: str) -> None:
    for error in (EngineDied(-6, line), GenerationFailed("llama_decode returned -3", (line,))):
        text = explain(error)
        assert word in text.sentence
        assert "kept" in text.next_step or "Close other programs" in text.next_step
