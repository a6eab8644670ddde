"""How much a long chat is read again: tokens and time to the first one, turn by turn.

    python -m tests.benchmarks.second_turn MODEL [--history 8000] [--threads 1] [--mib 512]

The first turn has a message of about so many tokens; then a short question, the same answered again, without
thinking, edited, another chat, and back. Ratios are against the first turn. Goal for the second turn: 0.05.
For a model of real size without its weights: python -m tests.kit.gguf_maker twin8 OUT
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from clover_gui.engine.client import EngineClient
from clover_gui.engine.protocol import Finished, Limits, LoadSettings, PromptMessage, Sampling, Text

GREEDY = Sampling(temperature=0)
# Models without weights say the same word for ever.
LIMITS = Limits(loop_tokens=0)
TEXT = "the keeper of a light who saw many ships pass and wrote their names into a book every night"
WORDS = TEXT.split()


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    read: int
    reused: int
    first_token_s: float


class Chat:
    def __init__(self, client: EngineClient) -> None:
        self._client = client
        self.texts: list[str] = []

    async def ask(self, name: str, *, thinking: bool | None = None) -> Step:
        """Answer the last message; the answer becomes part of the chat."""
        roles = ("user", "assistant")
        messages = tuple(PromptMessage(roles[i % 2], text) for i, text in enumerate(self.texts))
        started, first, text = time.perf_counter(), 0.0, ""
        end: Finished | None = None
        events = self._client.generate(
            messages, thinking=thinking, sampling=GREEDY, max_tokens=24, limits=LIMITS
        )
        async for event in events:
            if isinstance(event, Text):
                first = first or time.perf_counter() - started
                text += event.text
            elif isinstance(event, Finished):
                end = event
        assert end is not None
        self.texts.append(text.rpartition("</think>")[2].strip() or "Yes.")
        return Step(name, end.read, end.reused, first or time.perf_counter() - started)


async def words_for(client: EngineClient, tokens: int, rng: random.Random) -> str:
    """Text of about so many tokens."""
    sample = " ".join(rng.choices(WORDS, k=500))
    counted = await client.count((PromptMessage("user", sample),))
    return " ".join(rng.choices(WORDS, k=int(500 * tokens / counted.prompt_tokens)))


async def conversation(client: EngineClient, history: int, seed: int) -> list[Step]:
    rng = random.Random(seed)
    chat, other = Chat(client), Chat(client)
    chat.texts.append(await words_for(client, history, rng) + f" {seed}. What is this about?")
    steps = [await chat.ask("turn 1")]
    chat.texts.append("Who wrote the names?")
    steps.append(await chat.ask("turn 2"))
    chat.texts.pop()
    steps.append(await chat.ask("again"))
    chat.texts.append("And why every night?")
    steps.append(await chat.ask("turn 3, no thinking", thinking=False))
    chat.texts[-2:] = ["And why at night?"]
    steps.append(await chat.ask("turn 3 edited"))
    other.texts.append(await words_for(client, history // 8, rng) + " And this?")
    steps.append(await other.ask("another chat"))
    chat.texts.append("Let us go on here.")
    steps.append(await chat.ask("back, turn 4"))
    other.texts.append("And here.")
    steps.append(await other.ask("the other, turn 2"))
    return steps


async def run(arguments: argparse.Namespace) -> None:
    client = EngineClient()
    settings = LoadSettings(
        str(arguments.model),
        context=arguments.history * 5 // 4 + 1024,
        threads=arguments.threads,
        checkpoint_bytes=arguments.mib << 20,
    )
    try:
        loaded = await client.load(settings)
        print(f"{loaded.description}, context {loaded.context}")
        rounds = [await conversation(client, arguments.history, seed) for seed in range(arguments.rounds)]
        base = statistics.median(steps[0].first_token_s for steps in rounds)
        for place, step in enumerate(rounds[0]):
            seconds = statistics.median(steps[place].first_token_s for steps in rounds)
            print(
                f"{step.name:22} read {step.read:6,} of {step.read + step.reused:6,}   first token after"
                f" {seconds * 1000:9.1f} ms   ratio {seconds / base:.3f}"
            )
        assert client.pid is not None
        memory = psutil.Process(client.pid).memory_info()
        shared = getattr(memory, "shared", 0)  # above all the mapped file; not told on every system
        print(f"child: {(memory.rss - shared) / 2**20:,.0f} MiB beside the mapped file")
    finally:
        await client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="What later turns of a long chat cost.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--history", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--mib", type=int, default=512)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
