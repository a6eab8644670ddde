"""What all commands share: output that cannot be written, help, wrong values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clover_gui.app import parse_arguments
from clover_gui.cli.main import main
from clover_gui.commands import TERMINAL_COMMANDS
from clover_gui.exit_codes import ExitCode
from clover_gui.paths import DataFolder
from tests.cli import terminal


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("words", [["doctor"], ["doctor", "--help"]])
def test_a_full_disk_is_told_in_a_sentence(tmp_path: Path, words: list[str]) -> None:
    environment = {name: v for name, v in terminal.environment().items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            terminal.command(tmp_path / "data", *words),
            stdout=full, stderr=subprocess.PIPE, text=True,
            env=environment, timeout=terminal.LIMIT_S, check=False,
        )  # fmt: skip
    assert done.returncode == ExitCode.NO_ROOM
    assert done.stderr.startswith("The output cannot be written")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_closed_output_is_told_in_a_sentence(tmp_path: Path) -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *terminal.command(tmp_path / "data", "doctor")]
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | {"CLOVER_LANGUAGE": "en"},
        timeout=terminal.LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == ExitCode.BROKEN_PIPE
    assert done.stderr == "The output is closed: there is nowhere to write to.\n"


@pytest.mark.parametrize("proxy", ["junk", "http://", "http://h:port", "ftp://h:1"])
def test_a_proxy_that_is_no_address(tmp_path: Path, proxy: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["fetch", "demo", "--proxy", proxy], DataFolder(tmp_path))
    assert code == ExitCode.USAGE
    assert "The proxy must be an address" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["plan", "--gguf", "missing.gguf"], "ModelFileMissing"),
        (["plan", "--model", "nobody-knows-this"], "ModelFileMissing"),
        (["engine", "--use", "nothing"], "Usage"),
        (["engine", "--remove", "own"], "Usage"),
        (["engine", "--install", "missing.whl"], "FlavourRefused"),
        (["chat", "--model", "missing.gguf", "--prompt", "Hello"], "ModelFileMissing"),
        (["chat", "--model", "THERE", "--preset", "nothing", "--prompt", "Hello"], "Usage"),
        (["patch", "missing.gguf"], "ModelFileMissing"),
        (["fetch", "nobody-knows-this"], "Usage"),
    ],
)
def test_with_json_a_failure_is_an_object_with_the_same_keys(
    tmp_path: Path, words: list[str], kind: str, tiny_gguf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tiny_gguf) if word == "THERE" else word for word in words]
    assert main([*words, "--json"], DataFolder(tmp_path / "data")) != 0
    written = capsys.readouterr()
    facts = json.loads(written.out)["error"]
    assert set(facts) == {"kind", "text", "next_step", "detail"}
    assert facts["kind"] == kind
    assert facts["text"]
    assert written.err == ""
    if words[0] in ("chat", "fetch"):
        assert written.out.count("\n") == 1


def test_help_of_patch_says_what_its_codes_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patch", "--help"], DataFolder(tmp_path)) == 0
    assert "With --check, 3 means" in capsys.readouterr().out
    assert main(["plan", "--help"], DataFolder(tmp_path)) == 0
    assert "With --check" not in capsys.readouterr().out


def test_a_file_can_be_named_alone_as_a_double_click_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_arguments(["my model.gguf"]).model == "my model.gguf"
    assert parse_arguments(["--model", "demo"]).model == "demo"
    assert parse_arguments([]).model == ""
    assert parse_arguments(["--smoke-test", "a.gguf"]).model == "a.gguf"
    with pytest.raises(SystemExit):
        parse_arguments(["--model", "demo", "a.gguf"])
    assert "once" in capsys.readouterr().err


def test_help_of_the_program_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--help"])
    words = capsys.readouterr().out.replace(",", " ").replace(".", " ").split()
    assert set(TERMINAL_COMMANDS) <= set(words)
    assert "asks" in words
