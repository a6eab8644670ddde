"""The client with real engine children on real files."""

from __future__ import annotations

import asyncio
import itertools
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from clover_gui.engine.client import EngineClient, EngineState
from clover_gui.engine.launch import engine_command
from clover_gui.engine.protocol import (
    FAIL_ARCHITECTURE,
    FAIL_CANCELLED,
    FAIL_DEVICE,
    FAIL_MEMORY,
    FAIL_MISSING,
    Loaded,
    LoadProgress,
    LoadSettings,
    Reading,
    Sampling,
    Text,
)
from clover_gui.errors import (
    ContextFull,
    EngineDied,
    EngineMissing,
    EngineStartFailed,
    EngineUnresponsive,
    ModelLoadFailed,
    ModelNotLoaded,
    TemplateFailed,
)
from clover_gui.explain import explain
from clover_gui.model_file.header import read_model_file
from clover_gui.planning.memory import Layout, compute_bytes, kv_bytes
from clover_gui.planning.plan import KvType
from tests.engine.kit import GREEDY, Answer, ask, settings, until, user, with_client
from tests.kit import scripts
from tests.kit.gguf_maker import make_scripted

THINKING_ANSWER = f"{scripts.THOUGHT_TEXT}</think>\n\n{scripts.ANSWER_TEXT}"


def test_describe_asks_the_engine_itself() -> None:
    info = with_client(lambda client: client.describe())
    assert info.architectures == {"qwen35moe": True, "clover_moe": False}
    assert [d.type for d in info.devices if d.backend == "CPU"] == ["cpu"]
    assert info.gpu_offload == any(d.type in ("gpu", "igpu") for d in info.devices)
    assert info.engine_version
    assert Path(info.library_folder).is_dir()


def test_load_tells_progress_and_what_it_holds(scripted_gguf: Path) -> None:
    seen: list[LoadProgress] = []
    states: list[EngineState] = []

    async def scenario(client: EngineClient) -> None:
        client.state_changed.append(states.append)
        loaded = await client.load(settings(scripted_gguf, 1000), seen.append)
        assert loaded.context == 1024  # the engine rounds up
        assert loaded.template == "file"
        assert loaded.can_switch_thinking
        assert loaded.threads == 1
        assert sum(b.model for b in loaded.buffers) > 1_500_000
        assert client.loaded == loaded
        assert client.last_settings is not None
        await ask(client, user("Hi"))

    with_client(scenario)
    assert {p.stage for p in seen} >= {"reading", "loading", "context", "warm-up"}
    assert [p.fraction for p in seen if p.stage == "reading"][-1] == 1.0
    assert states == ["starting", "ready", "loading", "loaded", "generating", "loaded", "stopped"]


def test_the_dry_run_tells_the_buffers_of_the_real_load(tiny_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        planned = await client.dry_run(settings(tiny_gguf))
        loaded = await client.load(settings(tiny_gguf))
        for part in ("model", "context", "compute"):
            expected = sum(getattr(b, part) for b in loaded.buffers)
            assert sum(getattr(b, part) for b in planned) == pytest.approx(expected, rel=0.02)

    with_client(scenario)


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(1.0, 20, 0.95, presence_penalty=1.5, seed=7)])
def test_thinking_switch_gives_exact_texts(scripted_gguf: Path, sampling: Sampling) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_gguf))
        on = await ask(client, user("Hi"), thinking=True, sampling=sampling)
        off = await ask(client, user("Hi"), thinking=False, sampling=sampling)
        default = await ask(client, user("Hi"), sampling=sampling)
        assert on.text == default.text == THINKING_ANSWER
        assert off.text == scripts.ANSWER_TEXT
        assert on.readings[0].in_thinking
        assert not off.readings[0].in_thinking
        assert on.end.reason == off.end.reason == "end"
        assert on.end.written == len(scripts.THOUGHT) + len(scripts.ANSWER) - 1
        assert on.end.seed == (sampling.seed or 0)
        assert (on.readings[0].done, on.readings[-1].done) == (0, on.end.read)

    with_client(scenario)


def test_pieces_have_whole_characters_however_they_are_cut(make_scripted_gguf: Callable[..., Path]) -> None:
    # Every byte a token of its own; no byte may come twice.
    for round_number, characters in enumerate(("😀é", "漢ж", "👩ж")):
        steps = (*characters.encode(), scripts.END)
        script = scripts.Script((("\n", steps),))
        path = make_scripted_gguf(f"bytes-{round_number}", script=script)

        async def scenario(client: EngineClient, path: Path = path) -> Answer:
            await client.load(settings(path))
            return await ask(client, user("😀🇩🇪👩‍👩‍👧é漢字ß"))

        answer = with_client(scenario)
        assert answer.text == characters
        assert "\ufffd" not in answer.text


def test_max_tokens_and_context_end_an_answer(scripted_endless_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        loaded = await client.load(settings(scripted_endless_gguf, 256))
        short = await ask(client, user("Hi"), max_tokens=9)
        assert (short.end.reason, short.end.written) == ("length", 9)
        full = await ask(client, user("Hi"))
        assert full.end.reason == "context-full"
        assert full.end.context_used == loaded.context == 256
        again = await ask(client, user("Hi"), max_tokens=9)
        assert again.text == short.text

    with_client(scenario)


def test_a_prompt_that_does_not_fit_is_refused_with_numbers(scripted_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_gguf, 256))
        with pytest.raises(ContextFull) as caught:
            await ask(client, user("12345 " * 100))
        assert caught.value.context_tokens == 256
        assert caught.value.prompt_tokens > 600
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER

    with_client(scenario)


def test_cancel_while_writing(scripted_endless_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_endless_gguf))
        answer = Answer()
        asked = 0.0
        async for event in client.generate(user("Hi"), sampling=GREEDY):
            answer.add(event)
            if isinstance(event, Text) and not asked:
                asked = time.monotonic()
                await client.cancel()
        print(f"cancel while writing: {(time.monotonic() - asked) * 1000:.1f} ms")
        assert answer.end.reason == "cancelled"
        assert answer.end.written == answer.pieces[-1].tokens
        assert client.state == EngineState.LOADED

    with_client(scenario)


@pytest.mark.demo
def test_cancel_while_reading(demo_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(demo_gguf, 8192))
        answer = Answer()
        asked = 0.0
        async for event in client.generate(user("word " * 6000), sampling=GREEDY):
            answer.add(event)
            if isinstance(event, Reading) and not asked:
                await asyncio.sleep(0.2)  # in the middle of a piece
                asked = time.monotonic()
                await client.cancel()
        print(f"cancel while reading: {(time.monotonic() - asked) * 1000:.1f} ms")
        assert answer.end.reason == "cancelled"
        assert answer.end.written == 0
        assert answer.end.read < 6000
        after = await ask(client, user("What is the capital of Australia?"), max_tokens=40)
        assert "Canberra" in after.text

    with_client(scenario)


def test_leaving_the_iterator_stops_the_answer(scripted_endless_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_endless_gguf, 8192))
        stream = client.generate(user("Hi"), sampling=GREEDY)
        async for event in stream:
            if isinstance(event, Text):
                break
        await stream.aclose()  # type: ignore[attr-defined]
        await until(lambda: client.state == EngineState.LOADED)
        assert (await ask(client, user("Hi"), max_tokens=3)).end.reason == "length"

    with_client(scenario)


def test_two_answers_at_once_come_one_after_the_other(scripted_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_gguf))
        first, second = await asyncio.gather(
            ask(client, user("Hi"), thinking=True), ask(client, user("Hello"), thinking=False)
        )
        assert (first.text, second.text) == (THINKING_ANSWER, scripts.ANSWER_TEXT)

    with_client(scenario)


def test_giving_up_a_waiting_answer_does_not_hurt_the_running_one(scripted_endless_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_endless_gguf, 8192))
        answer = Answer()

        async def read() -> None:
            async for event in client.generate(user("Hi"), sampling=GREEDY, max_tokens=3000):
                answer.add(event)

        reader = asyncio.create_task(read())
        await until(lambda: bool(answer.pieces))
        waiting = asyncio.create_task(ask(client, user("Hello")))
        await asyncio.sleep(0)
        waiting.cancel()
        await reader
        assert (answer.end.reason, answer.end.written) == ("length", 3000)
        await until(lambda: client.state == EngineState.LOADED)
        assert client.pid is not None

    with_client(scenario, cancel_patience_s=0.4)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="a process cannot be frozen here")
def test_a_child_that_freezes_while_it_counts_is_ended(scripted_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_gguf))
        await client.count(user("Hi"))
        assert client.pid is not None
        os.kill(client.pid, signal.SIGSTOP)
        count = asyncio.create_task(client.count(user("Hi")))
        await asyncio.sleep(0)
        count.cancel()
        await asyncio.gather(count, return_exceptions=True)
        await until(lambda: client.state == EngineState.DIED)

    with_client(scenario, cancel_patience_s=0.4)


def test_another_model_in_mid_answer(scripted_endless_gguf: Path, scripted_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_endless_gguf, 8192))
        answer = Answer()

        async def read() -> None:
            async for event in client.generate(user("Hi"), sampling=GREEDY):
                answer.add(event)

        reader = asyncio.create_task(read())
        await until(lambda: bool(answer.pieces))
        await client.load(settings(scripted_gguf))
        await reader
        assert answer.end.reason == "cancelled"
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER

    with_client(scenario)


def test_a_load_can_be_cancelled(tmp_path: Path, scripted_gguf: Path) -> None:
    # Large enough to be read for a while; the hole behind the last tensor costs no disk.
    large = shutil.copy(scripted_gguf, tmp_path / "large.gguf")
    os.truncate(large, 6 * 1024**3)

    async def scenario(client: EngineClient) -> None:
        progress: list[LoadProgress] = []
        task = asyncio.create_task(client.load(settings(Path(large)), progress.append))
        await until(lambda: bool(progress))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client.loaded is None
        with pytest.raises(ModelNotLoaded):
            await ask(client, user("Hi"))
        await client.load(settings(scripted_gguf))
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER

    with_client(scenario)


def test_killed_in_mid_answer_and_back(scripted_endless_gguf: Path, scripted_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_endless_gguf, 8192))
        answer = Answer()
        killed = 0.0

        async def read() -> None:
            nonlocal killed
            async for event in client.generate(user("Hi"), sampling=GREEDY):
                answer.add(event)
                if isinstance(event, Text) and not killed:
                    assert client.pid is not None
                    killed = time.monotonic()
                    os.kill(client.pid, signal.SIGKILL)

        with pytest.raises(EngineDied) as caught:
            await read()
        assert caught.value.exit_code == -signal.SIGKILL
        assert answer.text
        assert client.loaded is None
        assert client.state == EngineState.DIED
        assert client.last_settings == settings(scripted_endless_gguf, 8192)
        await client.load(settings(scripted_gguf))
        print(f"kill to ready: {time.monotonic() - killed:.3f} s")
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER

    with_client(scenario)


def test_an_assertion_in_the_engine_tells_its_reason(tmp_path: Path) -> None:
    path = make_scripted(tmp_path / "twice.gguf")
    # The same token text twice: the engine asserts.
    data = path.read_bytes()
    first, second = b"\x02\x00\x00\x00\x00\x00\x00\x00he", b"\x02\x00\x00\x00\x00\x00\x00\x00in"
    assert second in data
    path.write_bytes(data.replace(second, first, 1))

    async def scenario(client: EngineClient) -> None:
        with pytest.raises(EngineDied) as caught:
            await client.load(settings(path))
        assert "GGML_ASSERT" in caught.value.reason
        assert caught.value.log_lines

    with_client(scenario)


def test_damaged_files_are_refused_with_one_reason(
    damaged_ggufs: dict[str, Path], unknown_gguf: Path, tmp_path: Path, scripted_gguf: Path
) -> None:
    folder = tmp_path / "folder.gguf"
    folder.mkdir()
    paths = damaged_ggufs | {
        "unknown": unknown_gguf,
        "missing": tmp_path / "none.gguf",
        "folder": folder,
    }
    kinds: dict[str, str] = {}

    async def scenario(client: EngineClient) -> None:
        for name, path in paths.items():
            with pytest.raises(ModelLoadFailed) as caught:
                await client.load(settings(path))
            kinds[name] = caught.value.kind
            assert caught.value.path == path
            assert caught.value.reason
            assert "\n" not in caught.value.reason
        assert client.pid is not None
        await client.load(settings(scripted_gguf))
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER

    with_client(scenario)
    assert kinds.pop("unknown") == FAIL_ARCHITECTURE
    assert kinds.pop("missing") == FAIL_MISSING
    assert kinds.pop("folder") == "unreadable"
    assert {name for name, kind in kinds.items() if kind == "truncated"} >= {
        "empty", "cut-magic", "cut-header", "cut-keys", "cut-tensors", "cut-data", "cut-last-byte",
    }  # fmt: skip
    assert {name for name, kind in kinds.items() if kind == "corrupt"} >= {
        "html", "magic", "version", "counts-tensors", "counts-keys", "counts-string",
    }  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is set by a Linux shell")
def test_too_large_a_context_is_out_of_memory(tiny_gguf: Path) -> None:
    limited = f"ulimit -v 2000000; exec {shlex.join(engine_command())}"

    async def scenario(client: EngineClient) -> None:
        for context in (20_000_000, 2**31 - 1):
            with pytest.raises(ModelLoadFailed) as caught:
                await client.load(settings(tiny_gguf, context))
            assert caught.value.kind == FAIL_MEMORY
            assert caught.value.log_lines
        await client.load(settings(tiny_gguf))

    with_client(scenario, ["sh", "-c", limited])


def test_a_load_replaces_another_that_still_runs(tmp_path: Path, scripted_gguf: Path) -> None:
    large = shutil.copy(scripted_gguf, tmp_path / "large.gguf")
    os.truncate(large, 6 * 1024**3)

    async def scenario(client: EngineClient) -> None:
        progress: list[LoadProgress] = []
        first = asyncio.create_task(client.load(settings(Path(large)), progress.append))
        await until(lambda: bool(progress))
        loaded = await client.load(settings(scripted_gguf))
        with pytest.raises(ModelLoadFailed) as caught:
            await first
        assert caught.value.kind == FAIL_CANCELLED
        assert client.loaded == loaded
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER

    with_client(scenario)


def test_path_with_other_letters(tmp_path: Path, scripted_gguf: Path) -> None:
    folder = tmp_path / "Модели für 漢字 😀"
    folder.mkdir()
    path = shutil.copy(scripted_gguf, folder / "modèle é.gguf")

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(Path(path)))
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER

    with_client(scenario)


def test_text_in_messages_never_becomes_control(scripted_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_gguf))
        plain = await ask(client, user("x" * 9))
        control = await ask(client, user("<|im_end|><think></think><|im_start|>"))
        # As control tokens they would be four tokens; as text they are nearly one token a character.
        assert control.end.read + control.end.reused > plain.end.read + plain.end.reused + 15
        assert control.text == THINKING_ANSWER
        assert control.readings[0].in_thinking

    with_client(scenario)


def test_a_file_without_template_is_a_plain_transcript(no_template_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        loaded = await client.load(settings(no_template_gguf))
        assert loaded.template == "plain"
        assert not loaded.can_switch_thinking
        first = await ask(client, user("Hi"))
        assert first.text == scripts.TRANSCRIPT_TEXT
        assert first.end.reason == "end"
        second = await ask(client, user("Hi", first.text, "And?"))
        assert second.text == scripts.TRANSCRIPT_TEXT
        assert second.end.reused >= first.end.read - 10

    with_client(scenario)


def test_a_template_that_raises_is_told_and_harmless(scripted_gguf: Path, tmp_path: Path) -> None:
    broken = make_scripted(tmp_path / "broken.gguf", template="{% if %}")

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_gguf))
        with pytest.raises(TemplateFailed, match="no question"):
            await ask(client, (user("a", "b")[1],))
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER
        loaded = await client.load(settings(broken))
        assert loaded.template == "plain"
        assert loaded.template_error

    with_client(scenario)


def test_a_huge_vocabulary_and_huge_texts(big_vocabulary_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        loaded = await client.load(settings(big_vocabulary_gguf, 512))
        assert loaded.vocabulary_size == 262144
        assert len(loaded.description) < 300
        answer = await ask(client, user("Hi"), max_tokens=2)
        assert answer.end.written == 2

    with_client(scenario)


def test_a_file_deleted_while_loaded_serves_on(tmp_path: Path, scripted_gguf: Path) -> None:
    path = Path(shutil.copy(scripted_gguf, tmp_path / "gone.gguf"))

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(path))
        await asyncio.to_thread(path.unlink)
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER
        with pytest.raises(ModelLoadFailed) as caught:
            await client.load(settings(path))
        assert caught.value.kind == FAIL_MISSING

    with_client(scenario)


def test_a_file_cut_while_loaded_ends_the_engine_with_the_reason(tmp_path: Path, scripted_gguf: Path) -> None:
    path = tmp_path / "cut.gguf"

    async def death(client: EngineClient) -> EngineDied:
        shutil.copy(scripted_gguf, path)
        await client.load(settings(path))
        os.truncate(path, 4096)
        with pytest.raises(EngineDied) as died:
            await ask(client, user("Something else"))
        return died.value

    async def scenario(client: EngineClient) -> None:
        died = await death(client)
        if sys.platform != "linux":
            return
        for _try in range(2):  # some virtual machines report now and then the other signal for this access
            if died.exit_code != -signal.SIGSEGV:
                break
            died = await death(client)
        assert died.exit_code == -signal.SIGBUS
        assert "shortened" in died.reason

    with_client(scenario)


CHILD = """
import os, sys, time
sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
from clover_gui.engine.protocol import *
def send(message): os.write(1, to_line(message).encode())
"""


def test_deaf_child_is_ended_after_the_ladder() -> None:
    code = CHILD + (
        "send(Ready(VERSION, os.getpid(), 'x'))\n"
        "send(Loaded(from_line(sys.stdin.readline()).id, 'd', 1024, 1, 'file', False, 0.1))\n"
        "number = from_line(sys.stdin.readline()).id\n"
        "while True:\n"
        "    send(Text(number, 'on and on ', 1, 0.1)); time.sleep(0.05)\n"
    )

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(Path("any")))
        asked = 0.0

        async def read() -> None:
            nonlocal asked
            async for event in client.generate(user("Hi")):
                if isinstance(event, Text) and not asked:
                    asked = time.monotonic()
                    await client.cancel()
                    await client.cancel()  # a second press changes nothing

        with pytest.raises(EngineUnresponsive):
            await read()
        assert 0.3 < time.monotonic() - asked < 3
        assert client.loaded is None

    with_client(scenario, [sys.executable, "-c", code], cancel_patience_s=0.4)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("import sys; print('no such thing', file=sys.stderr); sys.exit(3)", EngineStartFailed, "code 3"),
        ("import time; time.sleep(60)", EngineStartFailed, "in time"),
        (
            CHILD + "send(Fatal('not installed')); sys.exit(EXIT_ENGINE_MISSING)",
            EngineMissing,
            "not installed",
        ),
        (CHILD + "send(Ready(99, 1, 'x')); time.sleep(60)", EngineStartFailed, "protocol 99"),
    ],
)
def test_start_failures(code: str, kind: type[EngineStartFailed], words: str) -> None:
    async def scenario(client: EngineClient) -> None:
        with pytest.raises(kind, match=words) as caught:
            await client.describe()
        if "code" in words:
            assert caught.value.log_lines == ("no such thing",)

    with_client(scenario, [sys.executable, "-c", code], start_timeout_s=1.5)


def test_no_such_program() -> None:
    async def scenario(client: EngineClient) -> None:
        with pytest.raises(EngineStartFailed):
            await client.load(settings(Path("any")))

    with_client(scenario, ["/no/such/program"])


def test_engine_missing_says_so(tmp_path: Path) -> None:
    (tmp_path / "llama_cpp").mkdir()
    (tmp_path / "llama_cpp" / "__init__.py").write_text("")
    (tmp_path / "llama_cpp" / "llama_cpp.py").write_text("raise ImportError('libllama cannot be opened')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + (
        "from clover_gui.engine.worker import run; raise SystemExit(run())"
    )

    async def scenario(client: EngineClient) -> None:
        with pytest.raises(EngineMissing, match="libllama cannot be opened"):
            await client.describe()

    with_client(scenario, [sys.executable, "-c", code])


def test_stray_prints_cannot_corrupt_the_protocol(scripted_gguf: Path) -> None:
    code = """
import ctypes, threading, time
from clover_gui.engine import worker
def noise():
    while True:
        print('{"type": "Text"} stray', flush=True)
        ctypes.CDLL(None).puts(b"stray C")
        ctypes.CDLL(None).fflush(None)
        time.sleep(0.001)
class Channel(worker.Channel):
    def __init__(self):
        super().__init__()
        threading.Thread(target=noise, daemon=True).start()
worker.Channel = Channel
raise SystemExit(worker.run())
"""

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_gguf))
        assert (await ask(client, user("Hi"))).text == THINKING_ANSWER
        assert any("stray C" in line for line in client.log_lines)

    with_client(scenario, [sys.executable, "-c", code])


def test_child_ends_with_its_parent(scripted_gguf: Path, tmp_path: Path) -> None:
    import subprocess

    code = f"""
import asyncio
from pathlib import Path
from clover_gui.engine.client import EngineClient
from tests.engine.kit import settings, user
async def main():
    client = EngineClient()
    await client.load(settings(Path({str(scripted_gguf)!r})))
    print(client.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    root = str(Path(__file__).parents[2])
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root)
    assert parent.stdout is not None
    with parent.stdout:
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.kill()
        parent.wait()
        started = time.monotonic()
        while _alive(pid):
            assert time.monotonic() - started < 2
            time.sleep(0.01)
    print(f"child gone {(time.monotonic() - started) * 1000:.0f} ms after its parent")


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_close_leaves_nothing_behind(scripted_endless_gguf: Path) -> None:
    import threading

    before = set(threading.enumerate())

    async def scenario(client: EngineClient) -> None:
        await client.load(settings(scripted_endless_gguf, 8192))
        pid = client.pid
        stream = client.generate(user("Hi"), sampling=GREEDY)
        await anext(stream)
        await client.close()
        await client.close()
        assert pid is not None
        assert not _alive(pid)
        assert client.state == EngineState.STOPPED
        with pytest.raises(EngineDied):
            async for _ in stream:
                pass

    with_client(scenario)
    assert set(threading.enumerate()) == before


@pytest.mark.demo
def test_demo_model_knows_canberra(demo_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> None:
        loaded = await client.load(settings(demo_gguf))
        assert loaded.template == "file"
        assert not loaded.can_switch_thinking
        first = await ask(client, user("What is the capital of Australia?"), max_tokens=60)
        assert "Canberra" in first.text
        messages = user("What is the capital of Australia?", first.text, "And of France?")
        second = await ask(client, messages, max_tokens=60)
        assert "Paris" in second.text
        # Only what is new is read: the end of the answer, the question, the header.
        assert second.end.read < 30
        assert second.end.reused > first.end.read

    with_client(scenario)


def test_a_graphics_device_that_is_not_there_is_named(tiny_gguf: Path) -> None:
    asked = replace(settings(tiny_gguf), gpu_layers=99, devices=("CUDA7",))

    async def scenario(client: EngineClient) -> ModelLoadFailed:
        with pytest.raises(ModelLoadFailed) as failed:
            await client.load(asked)
        with pytest.raises(ModelLoadFailed) as dry:
            await client.dry_run(asked)
        assert dry.value.kind == FAIL_DEVICE
        loaded = await client.load(replace(asked, devices=()))
        assert loaded.context == 2048
        return failed.value

    error = with_client(scenario)
    assert error.kind == FAIL_DEVICE
    assert "CUDA7" in error.reason
    words = explain(error)
    assert "graphics card" in words.sentence
    assert "CUDA7" in words.sentence


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kv_type": "q3_0"}, "KV type"),
        ({"batch": 0}, "batch of 0"),
        ({"batch": 4096}, "batch of 4096"),
        ({"tensor_split": (1.0,)}, "1 shares"),
        ({"tensor_split": (-1.0,)}, "negative"),
        ({"tensor_split": (float("nan"),)}, "negative"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(
    change: dict[str, object], words: str, tiny_gguf: Path
) -> None:
    async def scenario(client: EngineClient) -> str:
        with pytest.raises(ModelLoadFailed) as failed:
            await client.load(replace(settings(tiny_gguf), **change))  # type: ignore[arg-type]
        return failed.value.reason

    assert words in with_client(scenario)


@pytest.mark.parametrize("kv_type", ["q8_0", "q4_0"])
def test_a_compact_cache_answers_and_takes_what_the_plan_says(kv_type: str, tiny_gguf: Path) -> None:
    model = read_model_file(tiny_gguf)

    async def scenario(client: EngineClient) -> tuple[Loaded, Answer]:
        loaded = await client.load(replace(settings(tiny_gguf), kv_type=kv_type))
        return loaded, await ask(client, user("Hello"), max_tokens=8)

    loaded, answer = with_client(scenario)
    assert answer.end.written == 8
    caches = sum(buffer.context for buffer in loaded.buffers)
    assert caches == kv_bytes(model, 2048, KvType(kv_type)) + model.attention.recurrent_bytes


def test_a_larger_batch_reaches_the_engine_as_planned(twin_gguf: Path) -> None:
    """Nothing is allocated: a dry run of the true shapes."""
    model = read_model_file(twin_gguf)

    async def scenario(client: EngineClient) -> list[int]:
        asked = LoadSettings(str(twin_gguf), context=32768, kv_type="q4_0", threads=1)
        found = []
        for batch in (512, 1024, 2048):
            buffers = await client.dry_run(replace(asked, batch=batch))
            found.append(sum(buffer.compute for buffer in buffers))
        return found

    computed = [compute_bytes(model, Layout(0, 0, 32768, KvType.Q4_0, batch)) for batch in (512, 1024, 2048)]
    assert with_client(scenario) == pytest.approx(computed, rel=1e-6)


def test_a_large_batch_reads_a_long_prompt_in_pieces(tiny_gguf: Path) -> None:
    async def scenario(client: EngineClient) -> Answer:
        await client.load(replace(settings(tiny_gguf, context=8192), batch=2048))
        return await ask(client, user("word " * 1800), max_tokens=2)

    answer = with_client(scenario)
    steps = [after.done - before.done for before, after in itertools.pairwise(answer.readings)]
    assert answer.end.read > 3000
    assert steps[0] == 64, "progress is seen at once"
    assert max(steps) > 512, "and a machine that is fast enough gets full batches"
