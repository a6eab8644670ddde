"""Prefix reuse: only what changed is read, and the state is that of a fresh evaluation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import PromptMessage
from tests.engine.kit import Answer, ask, settings, user, with_client


@pytest.mark.parametrize(("fixture", "budget_mib"), [("tiny_gguf", 1), ("tiny_dense_gguf", 4)])
def test_state_equals_a_fresh_evaluation(
    request: pytest.FixtureRequest, fixture: str, budget_mib: int
) -> None:
    path: Path = request.getfixturevalue(fixture)
    run = subprocess.run(
        [sys.executable, "-m", "tests.engine.session_check", str(path), str(budget_mib << 20)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    result: dict[str, Any] = json.loads(run.stdout)
    steps = {step["step"]: step for step in result["steps"]}
    worst = max(result["steps"], key=lambda step: step["difference"])
    print(f"{fixture}: largest difference of logits {worst['difference']:.2g} ({worst['step']})")
    print(
        {name: step["read"] for name, step in steps.items()},
        result["aborted"],
        "aborted, kept",
        result["kept"],
    )
    assert worst["difference"] < 0.05
    assert all(step["same"] for step in steps.values())
    assert result["aborted"] >= 6
    # A stop loses no more than the piece that was broken off.
    assert max(result["kept"]) > 700
    for turn in range(1, 5):
        assert steps[f"turn {turn}"]["read"] <= 40 + 8
        assert steps[f"again {turn}"]["read"] <= 8
    for chat, turn in ((chat, turn) for chat in range(3) for turn in (1, 2)):
        assert steps[f"chat {chat} turn {turn}"]["read"] <= 30 + 6 + 16
    assert result["copied_bytes"] <= budget_mib << 20


@pytest.mark.parametrize("fixture", ["tiny_gguf", "tiny_dense_gguf"])
@pytest.mark.parametrize("switches", ["111111", "000000", "101001"])
def test_turns_read_only_what_is_new(request: pytest.FixtureRequest, fixture: str, switches: str) -> None:
    path: Path = request.getfixturevalue(fixture)
    system = PromptMessage("system", "Words of the beginning. " * 20)

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(path))
        texts = ["The first question, which is short."]
        answers: list[Answer] = []
        counts = []
        for switch in switches:
            thinking = switch == "1"
            messages = (system, *user(*texts))
            answer = await ask(client, messages, thinking=thinking, max_tokens=40)
            again = await ask(client, messages, thinking=thinking, max_tokens=40)
            assert again.text == answer.text
            assert again.end.read <= 45  # the header of the answer, byte by byte in this vocabulary
            answers.append(answer)
            counts.append((answer.end.read, answer.end.read + answer.end.reused))
            texts += [answer.text, "And another question."]
        print(fixture, switches, counts)
        for (read, total), (_, before) in zip(counts[1:], counts, strict=False):
            assert read <= total - before + 64
        # The same last question in an engine that knows nothing yet.
        await client.load(settings(path))
        fresh = await ask(client, (system, *user(*texts[:-2])), thinking=switches[-1] == "1", max_tokens=40)
        assert fresh.end.reused == 0
        assert fresh.text == answers[-1].text

    with_client(scenario)


@pytest.mark.parametrize("fixture", ["tiny_gguf", "tiny_dense_gguf"])
def test_regenerate_edit_and_other_chats_read_only_what_is_new(
    request: pytest.FixtureRequest, fixture: str
) -> None:
    """Thinking on, off and switched; every step reads what it added, and at most 64 tokens more."""
    path: Path = request.getfixturevalue(fixture)
    system = PromptMessage("system", "Words of the beginning. " * 20)
    long = "A long text that was pasted. " * 40

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(path, 8192))
        chats: dict[str, list[str]] = {
            "A": [long + "What is it?"],
            "B": ["Something else. " * 30],
            "C": ["Hi"],
        }
        steps: list[tuple[str, int, int, int]] = []

        async def step(name: str, chat: str, thinking: bool, new_text: str) -> None:
            messages = (system, *user(*chats[chat]))
            got = await ask(client, messages, thinking=thinking, max_tokens=40)
            # A token is a byte in this vocabulary, or nearly.
            new, total = len(new_text.encode()), got.end.read + got.end.reused
            steps.append((name, got.end.read, new, total))
            chats[chat].append(got.text)

        def follow(chat: str, question: str) -> str:
            chats[chat].append(question)
            return chats[chat][-2] + question

        def edit(chat: str, question: str) -> str:
            del chats[chat][-2:]
            chats[chat].append(question)
            return question

        await step("A 1", "A", True, long + system.content + "x" * 80)
        await step("A 2 without thinking", "A", False, follow("A", "And what else?"))
        await step("A 3", "A", True, follow("A", "Why is that so, and since when?"))
        chats["A"].pop()
        await step("A 3 again", "A", True, "")
        chats["A"].pop()
        await step("A 3 again without thinking", "A", False, "")
        await step("A 3 edited", "A", True, edit("A", "Why was that so, and until when?"))
        await step("B 1", "B", True, chats["B"][0])
        await step("A 4", "A", True, follow("A", "Here again."))
        await step("C 1", "C", False, chats["C"][0])
        await step("B 2", "B", True, follow("B", "More of it."))
        await step("A 5", "A", False, follow("A", "And once more."))
        await step("A 5 edited", "A", True, edit("A", "And twice more."))
        print(fixture, steps)
        for name, read, new, _total in steps:
            assert read <= new + 64, name

        # The last question in an engine that knows nothing yet.
        last = chats["A"].pop()
        await client.load(settings(path, 8192))
        fresh = await ask(client, (system, *user(*chats["A"])), thinking=True, max_tokens=40)
        assert fresh.end.reused == 0
        assert fresh.text == last

    with_client(scenario)


def test_edit_and_stop_and_other_chats_never_give_a_wrong_state(tiny_gguf: Path) -> None:
    first, edited, other = user("One question."), user("One other question."), user("x" * 300)

    async def scenario(client: EngineClient) -> dict[str, str]:
        texts = {}
        for name, messages in (("first", first), ("edited", edited), ("other", other)):
            await client.load(settings(tiny_gguf))
            texts[name] = (await ask(client, messages, max_tokens=30)).text
        for name, messages in (("first", first), ("other", other), ("edited", edited), ("first", first)):
            stream = client.generate(messages, max_tokens=500)
            async for event in stream:
                if type(event).__name__ == "Text":
                    await client.cancel()
            assert (await ask(client, messages, max_tokens=30)).text == texts[name]
        return texts

    assert len(set(with_client(scenario).values())) == 3
