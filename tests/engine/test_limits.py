"""Thoughts that do not end, answers that repeat, numbers that are none, JSON, stop strings: with real engines
that play a script."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import Limits, PromptMessage, Sampling
from tests.engine.kit import GREEDY, Answer, ask, settings, user, with_client
from tests.kit import scripts
from tests.kit.gguf_maker import make_scripted

Make = Callable[..., Path]


def answer(
    path: Path,
    *,
    limits: Limits | None = None,
    thinking: bool | None = True,
    context: int = 8192,
    max_tokens: int = 0,
    sampling: Sampling = GREEDY,
    messages: tuple[PromptMessage, ...] = user("Hi"),
) -> Answer:
    async def scenario(client: EngineClient) -> Answer:
        await client.load(settings(path, context))
        return await ask(
            client, messages, thinking=thinking, sampling=sampling, max_tokens=max_tokens, limits=limits
        )

    return with_client(scenario)


def test_thoughts_without_end_are_closed_and_the_answer_comes(make_scripted_gguf: Make) -> None:
    path = make_scripted_gguf("long-thought", script=scripts.LONG_THOUGHT)
    got = answer(path, limits=Limits(thinking_tokens=300, thinking_grace=40))
    thoughts, _, rest = got.text.partition("</think>")
    assert rest == "\n\n" + scripts.ANSWER_TEXT
    assert thoughts.startswith("thought0 thought1 ")
    assert (got.end.reason, got.end.thinking_closed) == ("end", "budget")
    # The script gives the closing tag no value of its own: only the hard limit ends it.
    assert 300 < got.end.thinking_tokens <= 345
    assert got.readings[0].thinking_budget == 300
    counts = [piece.thinking_tokens for piece in got.pieces]
    assert counts == sorted(counts)
    assert counts[-1] == got.end.thinking_tokens
    assert got.pieces[-1].thinking_closed == "budget"


def test_the_defaults_are_the_makers(make_scripted_gguf: Make) -> None:
    path = make_scripted_gguf("long-thought", script=scripts.LONG_THOUGHT)
    got = answer(path)
    assert got.readings[0].thinking_budget == 4096
    assert 4096 < got.end.thinking_tokens <= 4096 + 512 + 4
    assert got.text.endswith(" \n</think>\n\n" + scripts.ANSWER_TEXT)


@pytest.mark.parametrize(("context", "max_tokens"), [(512, 0), (8192, 400)])
def test_room_is_kept_for_the_answer(make_scripted_gguf: Make, context: int, max_tokens: int) -> None:
    path = make_scripted_gguf("long-thought", script=scripts.LONG_THOUGHT)
    got = answer(path, context=context, max_tokens=max_tokens)
    assert got.end.reason == "end"
    assert got.end.thinking_closed == "reserve"
    assert got.text.endswith(" \n</think>\n\n" + scripts.ANSWER_TEXT)
    assert 0 < got.readings[0].thinking_budget < got.end.thinking_tokens < (max_tokens or context)


def test_thoughts_that_only_repeat_are_closed(make_scripted_gguf: Make) -> None:
    path = make_scripted_gguf("endless-thought", script=scripts.ENDLESS_THOUGHT)
    got = answer(path)
    assert got.text.count("</think>") == 1
    assert got.text.endswith("\n</think>\n\n" + scripts.ANSWER_TEXT)
    assert (got.end.reason, got.end.thinking_closed) == ("end", "loop")
    assert got.end.thinking_tokens < 260


def test_one_letter_for_ever_is_stopped_with_its_probable_cause(make_scripted_gguf: Make) -> None:
    path = make_scripted_gguf("one-letter", script=scripts.ONE_LETTER)
    got = answer(path, thinking=False)
    assert (got.end.reason, got.end.cause) == ("loop", "file")
    assert 200 <= got.end.written <= 210
    assert got.text == "!" * got.end.written
    more = answer(path, thinking=False, limits=Limits(loop_tokens=0), max_tokens=900)
    assert (more.end.reason, more.end.written) == ("length", 900)


def test_values_that_are_no_numbers_stop_the_answer_at_once(model_folder: Path, scripted_gguf: Path) -> None:
    path = make_scripted(model_folder / "broken-numbers.gguf", broken=True)

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(path))
        for sampling in (GREEDY, Sampling(1.0, 20, 0.95, presence_penalty=1.5)):
            got = await ask(client, user("Hi"), sampling=sampling)
            assert (got.end.reason, got.end.cause) == ("not-a-number", "file")
            assert (got.text, got.end.written, got.end.context_used) == ("", 0, 0)
        await client.load(settings(scripted_gguf))
        assert (await ask(client, user("Hi"), thinking=False)).text == scripts.ANSWER_TEXT

    with_client(scenario)


def test_a_long_answer_is_drawn_to_its_end(scripted_endless_gguf: Path) -> None:
    # The script's own values stand about 80 above all others.
    limits = Limits(answer_tokens=300, answer_grace=20)
    got = answer(scripted_endless_gguf, thinking=False, limits=limits)
    assert got.end.reason == "end"
    assert 300 < got.end.written < 600
    assert got.text.startswith("round0 ")


def test_pressure_lets_thoughts_end_by_themselves(tiny_gguf: Path) -> None:
    limits = Limits(thinking_tokens=20, thinking_grace=1000, answer_tokens=20)
    got = answer(tiny_gguf, limits=limits, max_tokens=2000)
    assert got.end.thinking_closed == "budget"
    assert 20 < got.end.thinking_tokens < 900  # long before they would be closed by force
    assert got.text.count("</think>") == 1
    assert got.end.reason == "end"  # and so was the answer


def test_stop_strings_end_the_answer_and_not_the_thoughts(scripted_gguf: Path) -> None:
    got = answer(scripted_gguf, limits=Limits(stop_strings=("think", "é!")))
    assert got.text == f"{scripts.THOUGHT_TEXT}</think>\n\nHello world 😀 caf"
    assert got.end.reason == "stop-string"


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(1.0, 40, 1.0, seed=3)], ids=["greedy", "chance"])
def test_json_only(tiny_gguf: Path, sampling: Sampling) -> None:
    wanted = dataclasses.replace(sampling, json_only=True)

    async def scenario(client: EngineClient) -> list[Answer]:
        await client.load(settings(tiny_gguf, 4096))
        return [
            await ask(client, user(text), thinking=thinking, sampling=wanted, max_tokens=900)
            for text in ("One", "Two", "Three")
            for thinking in (True, False)
        ]

    for got in with_client(scenario):
        text = got.text.rpartition("</think>")[2].strip()
        if got.end.reason == "end":
            assert isinstance(json.loads(text), dict | list)
        else:  # noise rarely closes a string; what there is must still be a beginning of JSON
            assert text[:1] in ("{", "[")
            assert "\x00" not in text


def test_json_survives_whatever_is_sampled(tiny_gguf: Path) -> None:
    """Overlong characters end the engine's process where they are not kept from its grammar."""
    command = [sys.executable, "-m", "tests.engine.json_fuzz", str(tiny_gguf), "60"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    ended, errors = map(int, done.stdout.split())
    assert ended > 20
    assert errors == 0


def test_penalties_count_only_what_the_answer_wrote(scripted_gguf: Path) -> None:
    # Every word of the answer stands in the question, and a strong penalty changes nothing.
    question = scripts.ANSWER_TEXT * 3
    for penalty in (0.0, 60.0):
        got = answer(
            scripted_gguf,
            thinking=False,
            messages=user(question),
            sampling=Sampling(temperature=0, presence_penalty=penalty),
        )
        assert got.text == scripts.ANSWER_TEXT
