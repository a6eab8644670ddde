"""Every message goes through one line and comes back the same."""

from __future__ import annotations

import json
import typing

import pytest

from clover_gui.engine import protocol as p

MESSAGES = (
    p.Describe(1),
    p.Load(2, p.LoadSettings("/m/ö😀.gguf", 4096, "q8_0", -1, 3, 2, 256, False)),
    p.DryRun(3, p.LoadSettings("a")),
    p.Generate(4, (p.PromptMessage("user", "é\n😀\u2028"),), False, p.Sampling(0.5, seed=3), 9),
    p.Generate(5, (), None, p.Sampling(seed=None)),
    p.Generate(6, (), None, p.Sampling(json_only=True), 0, p.Limits(1, 2, 3, 4, 5, 6, ("a", "\nb"))),
    p.Count(7, (p.PromptMessage("system", "s"),), True, 9),
    p.Counted(7, 5000, 4096, 1024, False, 2, 3000),
    p.Cancel(4),
    p.Unload(6),
    p.Shutdown(),
    p.Ready(1, 77, "0.3.36"),
    p.EngineInfo(1, "v", True, (p.EngineDevice("CPU", "d", "CPU", "cpu", 1, 2),), {"a": True}, "i", "/l"),
    p.LoadProgress(2, None, "context"),
    p.LoadProgress(2, 0.5),
    p.Loaded(2, "d", 1, 2, "file", True, 0.5, (p.BufferBytes("CPU", "", True, 1, 2, 3),), 2, True, "no"),
    p.DryRunResult(3, (p.BufferBytes("CPU", "", True),)),
    p.Reading(4, 1, 2, 3, 0.1, True, 4096),
    p.Text(4, "line\nline \U0001f600", 2, 0.2, 5, 1, "loop"),
    p.Finished(4, "end", 1, 2, 3, 0.1, 0.2, 6, 7, 8, "budget", "file"),
    p.Unloaded(6),
    p.Failed(4, "decode", "why", ("a", "b"), {"prompt_tokens": 3}),
    p.Fatal("why"),
)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_round_trip(message: p.Request | p.Event) -> None:
    line = p.to_line(message)
    assert line.count("\n") == 1
    assert line.isascii()
    assert p.from_line(line) == message


def test_every_message_is_in_the_test() -> None:
    known = {*typing.get_args(p.Request), *typing.get_args(p.Event)}
    assert {type(message) for message in MESSAGES} == known


def test_additions_are_ignored_and_defaults_taken() -> None:
    line = json.dumps({"type": "LoadProgress", "id": 1, "fraction": 0.5, "later": [1, 2]})
    assert p.from_line(line) == p.LoadProgress(1, 0.5)


@pytest.mark.parametrize(
    "line", ["", "[]", "null", "{", '{"type": "Nothing"}', '{"type": "Load", "id": 1}', '{"id": 1}']
)
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        p.from_line(line)
