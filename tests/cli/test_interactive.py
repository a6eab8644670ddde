"""The interactive chat on a real terminal: thoughts faint, Ctrl+C stops, Ctrl+D ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from clover_gui.exit_codes import ExitCode
from tests.cli.terminal import Terminal, command
from tests.kit.scripts import ANSWER_TEXT, THOUGHT_TEXT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")


class Start(Protocol):
    def __call__(self, model: Path, *arguments: str) -> Terminal: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Terminal] = []

    def start_one(model: Path, *arguments: str) -> Terminal:
        started.append(Terminal(command(tmp_path, "chat", "--model", str(model), *arguments)))
        return started[-1]

    yield start_one
    for terminal in started:
        terminal.close()


def test_a_conversation(start: Start, scripted_gguf: Path) -> None:
    terminal = start(scripted_gguf)
    terminal.wait_for("> ")
    terminal.type("Hi\n")
    terminal.wait_for(r"\x1b\[2m" + THOUGHT_TEXT.replace(".", r"\.") + r"\x1b\[0m")
    terminal.wait_for(ANSWER_TEXT)
    terminal.wait_for(r"wrote 17 tokens")
    terminal.wait_for("> ")
    terminal.type("/think off\n")
    terminal.wait_for("Thinking is off")
    terminal.wait_for("> ")
    terminal.type("/new\n")
    terminal.wait_for("> ")
    terminal.type("Hi\n")
    terminal.wait_for(ANSWER_TEXT)
    terminal.wait_for(r"wrote 11 tokens")
    terminal.wait_for("> ")
    terminal.type("\x04")
    assert terminal.wait() == ExitCode.OK


def test_an_answer_that_was_cut_is_gone_on_with(start: Start, scripted_endless_gguf: Path) -> None:
    terminal = start(scripted_endless_gguf, "--no-think", "--max-tokens", "4")
    terminal.wait_for("> ")
    terminal.type("/continue\n")
    terminal.wait_for("no answer to go on with")
    terminal.wait_for("> ")
    terminal.type("Hi\n")
    terminal.wait_for("round3 ")
    terminal.wait_for("> ")
    terminal.type("/continue\n")
    terminal.wait_for("round4 round5 round6 round7")
    terminal.wait_for("wrote 8 tokens")
    terminal.wait_for("> ")
    terminal.type("/quit\n")
    assert terminal.wait() == ExitCode.OK


def test_ctrl_c_stops_the_answer_and_the_chat_goes_on(start: Start, scripted_endless_gguf: Path) -> None:
    terminal = start(scripted_endless_gguf, "--no-think")
    terminal.wait_for("> ")
    for _turn in range(2):
        terminal.type("Hi\n")
        terminal.wait_for("round3")
        terminal.interrupt()
        terminal.wait_for("Stopped")
        terminal.wait_for("> ")
    terminal.type("/quit\n")
    assert terminal.wait() == ExitCode.OK
    assert "Traceback" not in terminal.seen


def test_a_chat_that_does_not_fit_asks(start: Start, scripted_gguf: Path) -> None:
    terminal = start(scripted_gguf, "--no-think", "--context", "512", "--system", "Be kind.")
    terminal.wait_for("> ")
    filling = "123 " * 28
    for turn in range(2):
        terminal.type(f"{turn} {filling}\n")
        terminal.wait_for(ANSWER_TEXT)
        terminal.wait_for("> ")
    terminal.type(f"newest {filling}\n")
    terminal.wait_for("does not fit")
    terminal.wait_for("- 0 123")
    terminal.wait_for("cancel")
    terminal.wait_for("> ")
    terminal.type("c\n")
    terminal.wait_for("Not sent")
    terminal.wait_for("> ")
    terminal.type(f"newest {filling}\n")
    terminal.wait_for("cancel")
    terminal.type("d\n")
    terminal.wait_for("not sent to the model any more")
    terminal.wait_for(ANSWER_TEXT)
    terminal.wait_for("> ")
    terminal.type("/system\n")
    terminal.wait_for("told nothing more")
    terminal.type("/quit\n")
    assert terminal.wait() == ExitCode.OK


def test_ctrl_c_at_the_prompt_ends_it_the_second_time(start: Start, scripted_gguf: Path) -> None:
    terminal = start(scripted_gguf)
    terminal.wait_for("> ")
    terminal.interrupt_until("Ctrl\\+C again")
    terminal.wait_for("Ctrl\\+C again")
    terminal.wait_for("> ")
    terminal.interrupt_until("")
    assert terminal.wait() == ExitCode.INTERRUPTED
    assert "Traceback" not in terminal.seen


def test_ctrl_c_ends_a_script_after_its_answer(start: Start, scripted_endless_gguf: Path) -> None:
    terminal = start(scripted_endless_gguf, "--no-think", "--prompt", "Hi", "--prompt", "never asked")
    terminal.wait_for("round3")
    terminal.interrupt()
    assert terminal.wait() == ExitCode.INTERRUPTED
    assert "Traceback" not in terminal.seen
