"""What the engine child costs: tokens/s through the client against a bare decode loop over the same file.

    python -m tests.benchmarks.engine_speed MODEL [--tokens 100] [--rounds 9] [--threads 1] [--stops 50]

The two alternate within one run, so that a busy machine treats both alike. Also prints the time from a kill
to the next answer, how fast a cancel acts, and what the child does per token beside llama_decode at the
beginning and far into a long answer. Goals: a ratio of at least 0.97, a stop within 100 ms, a cost per token
at 8,000 tokens within a tenth of that at 100.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil

from clover_gui.engine.client import EngineClient, EngineState
from clover_gui.engine.protocol import Finished, Limits, LoadSettings, PromptMessage, Reading, Sampling, Text
from clover_gui.errors import ContextFull

QUESTION = "Write a long story about a lighthouse keeper who learns to paint. Tell every detail."
GREEDY = Sampling(temperature=0)
# Greedy answers of small models soon repeat themselves: the work of looking for that is done, to no end.
ENDLESS = Limits(0, 0, 0, 0, 0, loop_tokens=1_000_000)
BARE = """
import json, sys, time
from pathlib import Path
from clover_gui.engine import llama
from clover_gui.engine.protocol import PromptMessage
from clover_gui.engine.template import ChatTemplate
c = llama.import_binding()
log = c.llama_log_callback(lambda *_: None)
c.llama_log_set(log, None)
model = llama.Model(c, Path(sys.argv[1]))
template = ChatTemplate(model.chat_template) if model.chat_template else None
context = llama.Context(model, tokens=8192, batch=512, threads=int(sys.argv[3]))
chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
c.llama_sampler_chain_add(chain, c.llama_sampler_init_greedy())
for line in sys.stdin:
    text = json.loads(line)
    if template:
        text = template.render([PromptMessage("user", text)]).prompt
    prompt = model.tokenize(text)
    context.clear()
    context.decode(prompt)
    context.wait()
    started = time.perf_counter()
    for count in range(int(sys.argv[2])):
        token = c.llama_sampler_sample(chain, context.handle, -1)
        context.decode_one(token)
    context.wait()
    print(json.dumps(int(sys.argv[2]) / (time.perf_counter() - started)), flush=True)
"""


# One long answer in a process of its own in which llama_decode does nothing once the prompt is read: what is
# left is the child's own work, without the engine's use of the processor's caches. Processor time is counted.
OWN_COST = """
import json, sys, time
from clover_gui.engine import llama, protocol as p
from clover_gui.engine.answer import Answerer
from clover_gui.engine.cancellation import Cancellation
from clover_gui.engine.engine_log import EngineLog
from clover_gui.engine.loader import Loader
from clover_gui.engine.placement import Ggml
c = llama.import_binding()
log = EngineLog(c, lambda line: None)
cancellation = Cancellation()
loaded = Loader(c, Ggml(c), log, cancellation).load(
    p.LoadSettings(sys.argv[1], context=int(sys.argv[2]) + 1024, threads=int(sys.argv[3])), lambda *_: None)
seconds = []
def nothing(*arguments):
    seconds.append(time.thread_time())
    return 0
def send(event):
    if isinstance(event, p.Reading) and event.done == event.total:
        c.llama_decode = nothing
Answerer(loaded, cancellation, send).answer(p.Generate(
    1, (p.PromptMessage("user", "Go on."),), None, p.Sampling(1.0, 20, 0.95, presence_penalty=1.5, seed=5),
    int(sys.argv[2]), p.Limits(0, 0, 0, 0, 0)))
def own(first, last):
    return (seconds[last] - seconds[first]) / (last - first)
last = len(seconds) - 1
print(json.dumps([own(100, 1100), own(last - 1000, last), last]))
"""


def own_cost(model: Path, tokens: int, threads: int) -> tuple[float, float, int]:
    """Microseconds per token beside llama_decode (near 100 tokens, near the end), and where the end was."""
    command = [sys.executable, "-c", OWN_COST, str(model), str(tokens), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    early, late, last = json.loads(done.stdout)
    return early * 1e6, late * 1e6, int(last)


class Bare:
    """The bare loop in a process of its own."""

    def __init__(self, model: Path, tokens: int, threads: int) -> None:
        command = [sys.executable, "-c", BARE, str(model), str(tokens), str(threads)]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=root
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def tokens_per_second(self, prompt: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(prompt) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


def processor_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def messages(text: str) -> tuple[PromptMessage, ...]:
    return (PromptMessage("user", text),)


async def through_client(client: EngineClient, tokens: int, number: int) -> tuple[float, int]:
    """(tokens/s on the window's clock, tokens written) from the first piece to the end."""
    started, count, first = 0.0, 0, 0
    # Another number each time: the whole question is read anew, as the bare loop does.
    events = client.generate(
        messages(f"{number}. {QUESTION}"), sampling=GREEDY, max_tokens=tokens, limits=ENDLESS
    )
    async for event in events:
        if isinstance(event, Text) and not started:
            started, first = time.perf_counter(), event.tokens
        if isinstance(event, Finished):
            count = event.written
    return (count - first) / (time.perf_counter() - started), count


async def cancel_latency(client: EngineClient, text: str, kind: type, delay_s: float) -> float | None:
    """Milliseconds from the request to stop until the engine is idle."""
    asked = 0.0
    async for event in client.generate(messages(text), sampling=GREEDY, limits=ENDLESS):
        if isinstance(event, kind) and not asked:
            await asyncio.sleep(delay_s)
            asked = time.perf_counter()
            await client.cancel()
        if isinstance(event, Finished) and event.reason != "cancelled":
            return None
    return (time.perf_counter() - asked) * 1000


async def kill_to_answer(client: EngineClient, settings: LoadSettings) -> tuple[float, float]:
    """(seconds until the model is loaded again, until the first piece of an answer)."""
    assert client.pid is not None
    died = asyncio.Event()
    watch = client.state_changed
    watch.append(lambda state: died.set() if state == EngineState.DIED else None)
    started = time.perf_counter()
    os.kill(client.pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
    await died.wait()
    await client.load(settings)
    ready = time.perf_counter() - started
    async for event in client.generate(messages("Hello"), sampling=GREEDY, max_tokens=4):
        if isinstance(event, Text):
            break
    return ready, time.perf_counter() - started


async def prompt_that_fits(client: EngineClient) -> str:
    """Words for about three quarters of the context."""
    words = 6000
    try:
        await cancel_latency(client, "word " * words, Reading, 0.0)
    except ContextFull as full:
        words = words * full.context_tokens * 3 // (full.prompt_tokens * 4)
    return "word " * words


def shown(values: list[float | None]) -> str:
    kept = sorted(v for v in values if v is not None)
    if not kept:
        return "over before it could be stopped"
    return f"median {statistics.median(kept):.1f} ms, worst {kept[-1]:.1f} ms of {len(kept)}"


async def run(arguments: argparse.Namespace) -> None:
    settings = LoadSettings(str(arguments.model), context=8192, threads=arguments.threads)
    client = EngineClient()
    bare = Bare(arguments.model, arguments.tokens, arguments.threads)
    try:
        await client.load(settings)
        ratios: list[float] = []
        costs: list[float] = []
        for number in range(arguments.rounds + 1):
            assert client.pid is not None
            before = processor_seconds(bare.pid), processor_seconds(client.pid)
            slow = bare.tokens_per_second(f"{number}. {QUESTION}")
            ours, count = await through_client(client, arguments.tokens, number)
            if number:  # the first round warms up
                ratios.append(ours / slow)
                used = processor_seconds(bare.pid) - before[0], processor_seconds(client.pid) - before[1]
                costs.append((used[1] / count) / (used[0] / arguments.tokens))
                print(
                    f"bare {slow:8.1f} tok/s   client {ours:8.1f} tok/s ({count})   ratio {ours / slow:.3f}"
                )
        print(f"ratio of tokens/s: median {statistics.median(ratios):.3f}")
        print(f"ratio of processor time per token (child only): median {statistics.median(costs):.3f}")
        ready = [await kill_to_answer(client, settings) for _ in range(3)]
        print("kill to ready / to the first words (s): " + ", ".join(f"{a:.2f} / {b:.2f}" for a, b in ready))
        long = await prompt_that_fits(client)
        reading = [
            await cancel_latency(client, f"{i} {long}", Reading, 0.1 + 0.03 * i)
            for i in range(arguments.stops)
        ]
        print("stop while reading: " + shown(reading))
        writing = [
            await cancel_latency(client, f"{i} {QUESTION}", Text, 0.01 * i) for i in range(arguments.stops)
        ]
        print("stop while writing: " + shown(writing))
        costs_of_own = [own_cost(arguments.model, arguments.long, arguments.threads) for _ in range(3)]
        early, late = (min(cost[place] for cost in costs_of_own) for place in (0, 1))
        print(
            f"beside llama_decode: {early:.1f} µs per token near 100, {late:.1f} µs near"
            f" {costs_of_own[0][2]}, ratio {late / early:.3f}"
        )
    finally:
        await client.close()
        bare.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the engine child against a bare loop.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--stops", type=int, default=50)
    parser.add_argument("--long", type=int, default=8000, help="tokens of the long answer")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
