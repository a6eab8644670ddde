"""chat as a process with pipes: what scripts get, and how failures are told."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clover_gui.chat.options import ChatOptions
from clover_gui.chat.presets import Preset, Presets, save_presets
from clover_gui.exit_codes import ExitCode
from clover_gui.explain import warning_text
from clover_gui.paths import DataFolder
from clover_gui.pipeline.gpu_choice import GPU_CHOICE_MISSING
from clover_gui.settings import Settings
from clover_gui.settings import save as save_settings
from tests.cli import terminal
from tests.kit.scripts import ANSWER_TEXT, LONG_THOUGHT, THOUGHT_TEXT, TRANSCRIPT, TRANSCRIPT_TEXT

KEYS = {
    "turn",
    "thinking",
    "answer",
    "stop_reason",
    "tokens_read",
    "tokens_reused",
    "tokens_written",
    "read_tokens_per_second",
    "write_tokens_per_second",
}


def test_json_has_one_object_a_turn(scripted_gguf: Path, tmp_path: Path) -> None:
    done = terminal.run(
        tmp_path / "data",
        "chat",
        "--model",
        str(scripted_gguf),
        "--prompt",
        "Hi",
        "--prompt",
        "Again",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    turns = [json.loads(line) for line in done.stdout.splitlines()]
    assert [turn["turn"] for turn in turns] == [1, 2]
    for turn in turns:
        assert turn.keys() >= KEYS
        assert (turn["thinking"], turn["answer"]) == (THOUGHT_TEXT, ANSWER_TEXT)
        assert turn["stop_reason"] == "end"
        assert turn["tokens_read"] > 0
        assert 0 < turn["thinking_tokens"] < turn["tokens_written"]
    assert turns[0]["tokens_reused"] == 0


def test_limits_and_forms_of_an_answer(
    make_scripted_gguf: Callable[..., Path], scripted_gguf: Path, tmp_path: Path
) -> None:
    thoughtful = make_scripted_gguf("long-thought", script=LONG_THOUGHT)

    def turn(model: Path, *options: str) -> tuple[dict[str, Any], str]:
        done = terminal.run(
            tmp_path / "data", "chat", "--model", str(model), "--prompt", "Hi", "--json", *options
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found, done.stderr

    closed, _ = turn(thoughtful, "--thinking-budget", "100", "--system", "Be kind.")
    assert (closed["answer"], closed["thinking_closed"]) == (ANSWER_TEXT, "budget")
    assert 100 < closed["thinking_tokens"] < 700
    stopped, _ = turn(scripted_gguf, "--no-think", "--stop", "caf")
    assert (stopped["answer"], stopped["stop_reason"]) == ("Hello world 😀 ", "stop-string")
    formed, _ = turn(scripted_gguf, "--no-think", "--json-answer", "--max-tokens", "200")
    assert formed["answer"].lstrip()[:1] in ("{", "[")


def test_a_preset_of_the_window_can_be_used(scripted_gguf: Path, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    preset = Preset("Brief", "Be brief.", ChatOptions(json_only=True), thinking=False)
    save_presets(folder.presets, Presets((preset,)))
    arguments = ("chat", "--model", str(scripted_gguf), "--prompt", "Hi", "--json", "--max-tokens", "60")
    unknown = terminal.run(folder.root, *arguments, "--preset", "Long")
    assert unknown.returncode == ExitCode.USAGE
    told = json.loads(unknown.stdout)["error"]["text"]
    assert "no preset Long" in told
    assert "Brief" in told
    done = terminal.run(folder.root, *arguments, "--preset", "brief")
    assert done.returncode == 0, done.stderr
    turn = json.loads(done.stdout)
    assert turn["thinking"] == ""
    assert turn["answer"].lstrip()[:1] in ("{", "[")


def test_context_and_card_of_the_settings_hold_here_too(scripted_gguf: Path, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    save_settings(folder.settings, Settings(context=768, graphics="0000:99:00.0 A card that is gone"))
    arguments = ("chat", "--model", str(scripted_gguf), "--prompt", "Hi")
    done = terminal.run(folder.root, *arguments)
    assert done.returncode == 0, done.stderr
    assert "768 tokens of context" in done.stderr
    assert warning_text(GPU_CHOICE_MISSING) in done.stderr
    by_hand = terminal.run(folder.root, *arguments, "--context", "1024")
    assert "1,024 tokens of context" in by_hand.stderr


def test_without_thinking_there_is_the_whole_answer_only(scripted_gguf: Path, tmp_path: Path) -> None:
    done = terminal.run(
        tmp_path / "data", "chat", "--model", str(scripted_gguf), "--prompt", "Hi", "--no-think", "--json"
    )
    turn = json.loads(done.stdout)
    assert (turn["thinking"], turn["answer"]) == ("", ANSWER_TEXT)


def test_a_pipe_gets_the_answer_and_nothing_else(scripted_gguf: Path, tmp_path: Path) -> None:
    done = terminal.run(tmp_path / "data", "chat", "--model", str(scripted_gguf), "--prompt", "Hi")
    assert done.returncode == 0
    assert done.stdout == ANSWER_TEXT + "\n"
    assert "wrote" in done.stderr
    assert "\x1b" not in done.stderr


def test_lines_of_a_pipe_are_turns(scripted_gguf: Path, tmp_path: Path) -> None:
    done = terminal.run(
        tmp_path / "data", "chat", "--model", str(scripted_gguf), stdin="Hi\n\n/think off\nAgain\n/nonsense\n"
    )
    assert done.returncode == 0
    assert done.stdout == f"{ANSWER_TEXT}\n{ANSWER_TEXT}\n"
    assert "Unknown command" in done.stderr


def test_greedy_and_seed_are_repeatable(tiny_gguf: Path, tmp_path: Path) -> None:
    def answer(*options: str) -> str:
        done = terminal.run(
            tmp_path / "data",
            "chat",
            "--model",
            str(tiny_gguf),
            "--prompt",
            "Hi",
            "--json",
            "--max-tokens",
            "30",
            *options,
        )
        turn = json.loads(done.stdout)
        assert turn["stop_reason"] in ("length", "end")
        assert turn["tokens_written"] <= 30
        return str(turn["thinking"]) + str(turn["answer"])

    assert answer("--greedy") == answer("--greedy")
    assert answer("--seed", "5") == answer("--seed", "5")


def test_a_file_without_a_template_is_said_and_served(no_template_gguf: Path, tmp_path: Path) -> None:
    done = terminal.run(
        tmp_path / "data", "chat", "--model", str(no_template_gguf), "--prompt", "Hi", "--greedy", "--json"
    )
    assert json.loads(done.stdout)["answer"].strip() == TRANSCRIPT_TEXT
    assert "no chat template" in done.stderr


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("empty", "is empty"),
        ("html", "is a web page"),
        ("magic", "before 2023"),
        ("version", "version"),
        ("cut-header", "in the middle of its header"),
        ("cut-keys", "in the middle of its header"),
        ("cut-tensors", "in the middle of its header"),
        ("cut-data", "was not copied whole"),
        ("cut-last-byte", "was not copied whole"),
        ("counts-tensors", ""),
        ("counts-keys", ""),
        ("counts-string", ""),
        ("counts-array", ""),
    ],
)
def test_bad_files_are_told_in_a_sentence_with_a_next_step(
    damaged_ggufs: dict[str, Path], kind: str, part: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from clover_gui.cli.main import main
    from clover_gui.paths import DataFolder

    data = DataFolder(tmp_path / "data")
    code = main(["chat", "--model", str(damaged_ggufs[kind]), "--prompt", "Hi"], data)
    captured = capfd.readouterr()
    assert code == ExitCode.MODEL_FILE
    assert captured.out == ""
    assert part in captured.err
    assert len(captured.err.splitlines()) >= 2
    assert "Traceback" not in captured.err


def test_failures_have_their_exit_codes(
    tmp_path: Path, unknown_gguf: Path, tiny_gguf: Path, scripted_gguf: Path
) -> None:
    def code(*arguments: str) -> int:
        done = terminal.run(tmp_path / "data", "chat", *arguments)
        assert "Traceback" not in done.stderr
        assert done.stderr
        return done.returncode

    assert code("--prompt", "Hi") == ExitCode.USAGE
    assert code("--model", str(tiny_gguf), "--max-tokens", "0") == ExitCode.USAGE
    assert code("--model", str(tiny_gguf), "--prompt", " ") == ExitCode.USAGE
    assert code("--model", str(tmp_path / "no.gguf"), "--prompt", "Hi") == ExitCode.MODEL_FILE
    assert code("--model", str(tmp_path), "--prompt", "Hi") == ExitCode.MODEL_FILE
    assert code("--model", str(unknown_gguf), "--prompt", "Hi") == ExitCode.MODEL_FILE
    too_long = "word " * 20_000
    assert (
        code("--model", str(scripted_gguf), "--context", "512", "--prompt", too_long) == ExitCode.CONTEXT_FULL
    )


def test_a_path_with_any_characters(scripted_gguf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "Modelle für 日本 😀"
    folder.mkdir()
    model = Path(shutil.copy(scripted_gguf, folder / "mein modell.gguf"))
    done = terminal.run(tmp_path / "dätä", "chat", "--model", str(model), "--prompt", "Hi", "--no-think")
    assert done.stdout == ANSWER_TEXT + "\n"


def test_a_closed_reader_is_no_error(scripted_endless_gguf: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        terminal.command(
            tmp_path, "chat", "--model", str(scripted_endless_gguf), "--prompt", "Hi", "--no-think"
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=terminal.environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(7) == b"round0 "
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(terminal.LIMIT_S) == ExitCode.BROKEN_PIPE
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


@pytest.mark.demo
def test_the_demo_model_knows_the_capital(demo_gguf: Path, tmp_path: Path) -> None:
    done = terminal.run(
        tmp_path,
        "chat",
        "--model",
        str(demo_gguf),
        "--greedy",
        "--prompt",
        "What is the capital of Australia?",
        "--prompt",
        "And of France?",
    )
    assert done.returncode == 0
    first, second = done.stdout.splitlines()[:2]
    assert "Canberra" in first
    assert "Paris" in second


@pytest.mark.parametrize(
    "template", ["{% if %}", "{{ raise_exception('no') }}", "{{ " + "(" * 5000, "\0", "Hi"]
)
def test_a_template_that_cannot_be_used_is_said_and_the_plain_form_is_used(
    make_scripted_gguf: Callable[..., Path], tmp_path: Path, template: str
) -> None:
    model = make_scripted_gguf(f"bad-template-{len(template)}", script=TRANSCRIPT, template=template)
    done = terminal.run(
        tmp_path / "data", "chat", "--model", str(model), "--json",
        stdin="/think on\n/think maybe\nHi\n",
    )  # fmt: skip
    assert json.loads(done.stdout)["answer"].strip() == TRANSCRIPT_TEXT
    assert "template cannot be used" in done.stderr
    assert "no chat template" not in done.stderr
    assert "no switch for thinking" in done.stderr
    assert "/think on|off" in done.stderr


def test_the_smallest_context_works_or_is_refused(scripted_gguf: Path, tmp_path: Path) -> None:
    done = terminal.run(
        tmp_path / "data", "chat", "--model", str(scripted_gguf), "--context", "1", "--prompt", "Hi"
    )
    assert done.returncode in (ExitCode.OK, ExitCode.CONTEXT_FULL)
    assert (done.returncode == ExitCode.OK) == (done.stdout == ANSWER_TEXT + "\n")
    assert "Traceback" not in done.stderr


def test_a_known_model_that_is_not_here_names_its_download(tmp_path: Path) -> None:
    done = terminal.run(tmp_path / "data", "chat", "--model", "clover", "--prompt", "Hi")
    assert done.returncode == ExitCode.MODEL_FILE
    assert "clover-gui fetch clover" in done.stderr
