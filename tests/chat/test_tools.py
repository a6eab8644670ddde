"""Tool calls of the Qwen form: whole ones, several, and all that models do wrong."""

from __future__ import annotations

import json

import pytest

from clover_gui.chat.tools import (
    BAD_JSON,
    NO_NAME,
    NOT_CLOSED,
    NOT_UNDERSTOOD,
    JsonValue,
    ToolAnswer,
    find_tool_calls,
)


def call(name: str, **parameters: str) -> str:
    inner = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in parameters.items())
    return f"<tool_call>\n<function={name}>\n{inner}</function>\n</tool_call>"


def test_an_answer_without_calls_is_left_alone() -> None:
    text = "Use `<tool>` or <function>.\n\n  Indented.\n"
    assert find_tool_calls(text) == ToolAnswer(text)


def test_several_calls_and_the_text_around_them() -> None:
    answer = find_tool_calls(
        f"I look.\n\n{call('weather', city='Wien', days='3')}\n{call('time')}\n\nOne moment."
    )
    assert [(c.name, c.arguments, c.problems) for c in answer.calls] == [
        ("weather", {"city": "Wien", "days": 3}, ()),
        ("time", {}, ()),
    ]
    assert answer.text == "I look.\n\n\n\n\nOne moment."
    assert answer.calls[0].source == call("weather", city="Wien", days="3")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("plain words", "plain words"),
        ("two\n  lines\n", "two\n  lines\n"),
        ("12.5", 12.5),
        ("007", "007"),
        ("+43 1", "+43 1"),
        ("true", True),
        ('["a", {"b": null}]', ["a", {"b": None}]),
        ("{not json}", "{not json}"),
        ("a < b && </b> 😀", "a < b && </b> 😀"),
        ("", ""),
    ],
)
def test_values(written: str, value: JsonValue) -> None:
    assert find_tool_calls(call("f", x=written)).calls[0].arguments == {"x": value}


def test_the_json_form() -> None:
    for inner in (
        '{"name": "f", "arguments": {"a": [1, 2]}}',
        '```json\n{"name": "f", "arguments": {"a": [1, 2],},}\n```',
        '{"name": "f", "arguments": "{\\"a\\": [1, 2]}"}',
        '{"function": {"name": "f", "parameters": {"a": [1, 2]}}}',
    ):
        found = find_tool_calls(f"<tool_call>\n{inner}\n</tool_call>").calls
        assert [(c.name, c.arguments, c.problems) for c in found] == [("f", {"a": [1, 2]}, ())], inner


@pytest.mark.parametrize(
    ("text", "name", "arguments", "problems"),
    [
        ("<tool_call>\n<function=f>\n<parameter=a>\n1", "f", {"a": 1}, {NOT_CLOSED}),
        ("<tool_call><function=f><parameter=a>1</function></tool_call>", "f", {"a": 1}, set()),
        ("<function=f>\n<parameter=a>\n1\n</parameter>\n</function>", "f", {"a": 1}, set()),
        ('<tool_call><function="f"></function></tool_call>', "f", {}, set()),
        ("<tool_call><function=></function></tool_call>", "", {}, {NO_NAME}),
        ("<tool_call><function=f>what?</function></tool_call>", "f", {}, {NOT_UNDERSTOOD}),
        ('<tool_call><function=f>{"a": 1}</function></tool_call>', "f", {"a": 1}, set()),
        ('<tool_call><function=f>{"a": </function></tool_call>', "f", {}, {BAD_JSON}),
        ('<tool_call>{"name": "f", "arguments": {"a"', "", {}, {NOT_CLOSED, BAD_JSON}),
        ('<tool_call>{"arguments": {}}</tool_call>', "", {}, {NO_NAME}),
        ('<tool_call>{"name": "f", "arguments": [1]}</tool_call>', "f", {}, {BAD_JSON}),
        ("<tool_call></tool_call>", "", {}, {NOT_UNDERSTOOD}),
    ],
)
def test_what_models_do_wrong(
    text: str, name: str, arguments: dict[str, JsonValue], problems: set[str]
) -> None:
    answer = find_tool_calls(f"Before. {text}")
    assert len(answer.calls) == 1
    found = answer.calls[0]
    assert (found.name, found.arguments) == (name, arguments)
    assert problems <= set(found.problems)
    assert bool(problems) <= bool(found.problems)
    assert found.source == text
    assert answer.text == "Before. "


def test_a_parameter_that_is_never_closed_ends_with_the_next() -> None:
    text = "<tool_call><function=f><parameter=a>\n1\n<parameter=b>\n2\n</parameter></function></tool_call>"
    found = find_tool_calls(text).calls[0]
    assert found.arguments == {"a": 1, "b": 2}
    assert found.problems == (NOT_CLOSED,)


def test_no_text_is_too_much() -> None:
    nested = "[" * 100_000
    for text in (
        "<tool_call>" * 2000,
        "<tool_call><function=f>" + "<parameter=a>" * 2000,
        call("f", x=nested),
        f'<tool_call>{{"name": "f", "arguments": {nested}</tool_call>',
        "<function=" * 2000,
    ):
        answer = find_tool_calls(text)
        assert answer.calls
        json.dumps([c.arguments for c in answer.calls])
