"""Finds the tool calls in an answer of the Qwen form. Only reads them: nothing is ever executed here.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Vienna
    </parameter>
    </function>
    </tool_call>

Also understood: a JSON object with "name" and "arguments" between the outer tags. Models forget tags, leave
quotes open and stop in the middle; what can be made out is taken, and each fault is named.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

JsonValue = Any

# What was wrong with a call, in ``ToolCall.problems``.
NOT_CLOSED = "not-closed"  # a closing tag is missing
NO_NAME = "no-name"
BAD_JSON = "bad-json"  # the arguments, or the object itself
NOT_UNDERSTOOD = "not-understood"  # text inside the call that belongs to no part of it

_OUTER = re.compile(r"<tool_call>(.*?)(</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\n]*)>?(.*?)(</function>|(?=<function=)|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]*)>?(.*?)(</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_TAG = re.compile(r"</?(tool_call|function|parameter)\b[^>]*>")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. ``source`` is its text as the model wrote it, for showing it where there are problems.

    Arguments that are JSON are values of it; everything else is text without its first and last line end.
    """

    name: str
    arguments: dict[str, JsonValue] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """An answer taken apart. ``text`` is what is not part of any call."""

    text: str
    calls: tuple[ToolCall, ...] = ()


def find_tool_calls(answer: str) -> ToolAnswer:
    """The calls of an answer in their order; an answer without any comes back unchanged."""
    if "<tool_call>" not in answer and "<function=" not in answer:
        return ToolAnswer(answer)
    calls: list[ToolCall] = []
    rest: list[str] = []
    place = 0
    pattern = _OUTER if "<tool_call>" in answer else _FUNCTION
    for found in pattern.finditer(answer):
        rest.append(answer[place : found.start()])
        place = found.end()
        if pattern is _OUTER:
            calls += _calls_in(found[1], found[0], closed=found[2] == "</tool_call>")
        else:  # the outer tags were forgotten
            calls += _calls_in(found[0], found[0], closed=True)
    text = "".join([*rest, answer[place:]]).replace("</tool_call>", "")
    return ToolAnswer(text.strip("\n"), tuple(calls))


def _calls_in(body: str, source: str, *, closed: bool) -> list[ToolCall]:
    """Usually one; some models put several functions between one pair of outer tags."""
    outer = () if closed else (NOT_CLOSED,)
    functions = list(_FUNCTION.finditer(body))
    if not functions:
        return [_from_json(body, source, outer)]
    single = len(functions) == 1
    return [_from_tags(found, source if single else found[0], outer) for found in functions]


def _from_tags(found: re.Match[str], source: str, problems: tuple[str, ...]) -> ToolCall:
    name, body = found[1].strip().strip("\"'"), found[2]
    faults = list(problems)
    if not found[3]:
        faults.append(NOT_CLOSED)
    if not name:
        faults.append(NO_NAME)
    arguments: dict[str, JsonValue] = {}
    for parameter in _PARAMETER.finditer(body):
        if not parameter[3]:
            faults.append(NOT_CLOSED)
        arguments[parameter[1].strip().strip("\"'")] = _value(parameter[2])
    left = _TAG.sub("", _PARAMETER.sub("", body)).strip()
    if left and not arguments:
        inner = _json_object(left)
        if inner is None:
            faults.append(BAD_JSON if left.startswith("{") else NOT_UNDERSTOOD)
        else:
            arguments = inner
    elif left:
        faults.append(NOT_UNDERSTOOD)
    return ToolCall(name, arguments, tuple(dict.fromkeys(faults)), source)


def _from_json(body: str, source: str, problems: tuple[str, ...]) -> ToolCall:
    data = _json_object(body)
    if data is None:
        return ToolCall("", {}, (*problems, BAD_JSON if "{" in body else NOT_UNDERSTOOD), source)
    faults = list(problems)
    function = data.get("function")
    if isinstance(function, dict):
        data = function
    name = data.get("name", function if isinstance(function, str) else "")
    if not isinstance(name, str) or not name:
        name = ""
        faults.append(NO_NAME)
    arguments = data.get("arguments", data.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _json_object(arguments)
    if not isinstance(arguments, dict):
        arguments = {}
        faults.append(BAD_JSON)
    return ToolCall(name, arguments, tuple(faults), source)


def _json_object(text: str) -> dict[str, JsonValue] | None:
    """The object that the text begins with; small faults of models are mended."""
    text = text.strip()
    text = text.removeprefix("```json").removeprefix("```").strip()
    start = text.find("{")
    if start < 0:
        return None
    text = text[start:]
    for candidate in (text, re.sub(r",\s*([}\]])", r"\1", text), text + "}"):
        try:
            value, _end = json.JSONDecoder(strict=False).raw_decode(candidate)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _value(text: str) -> JsonValue:
    text = text.removeprefix("\r\n").removeprefix("\n")
    text = text.removesuffix("\n").removesuffix("\r")
    stripped = text.strip()
    # Only what cannot be meant as text: numbers with a sign or leading zeros may be codes of some kind.
    if stripped[:1] in ("{", "[") or stripped in ("true", "false", "null") or _is_number(stripped):
        try:
            return json.loads(stripped, strict=False)
        except (ValueError, RecursionError):
            return text
    return text


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"-?(0|[1-9]\d{0,15})(\.\d{1,15})?", text))
