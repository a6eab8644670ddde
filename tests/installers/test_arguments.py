"""What run.py makes of its command line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from installers import arguments, run
from installers.arguments import Kind


@pytest.mark.parametrize(
    ("words", "kind", "handed_on"),
    [
        ([], Kind.WINDOW, []),
        (["model.gguf"], Kind.WINDOW, ["model.gguf"]),
        (["--model", "chat"], Kind.WINDOW, ["--model", "chat"]),
        (["--data-dir", "test", "--model", "demo"], Kind.WINDOW, ["--data-dir", "test", "--model", "demo"]),
        (["chat", "--model", "demo"], Kind.TERMINAL, ["chat", "--model", "demo"]),
        (["--data-dir", "d", "doctor", "--json"], Kind.TERMINAL, ["--data-dir", "d", "doctor", "--json"]),
        (["--data-dir=d", "doctor"], Kind.TERMINAL, ["--data-dir=d", "doctor"]),
        (["--version"], Kind.TERMINAL, ["--version"]),
        (["test"], Kind.TEST, []),
        (["test", "-k", "stop", "-x"], Kind.TEST, ["-k", "stop", "-x"]),
        (["--data-dir", "test", "test", "-x"], Kind.TEST, ["-x"]),
        (["--smoke-test", "--model", "demo"], Kind.SMOKE_TEST, ["--smoke-test", "--model", "demo"]),
        (["--setup-only"], Kind.SETUP_ONLY, []),
        (["--data-dir", "d", "--setup-only"], Kind.SETUP_ONLY, ["--data-dir", "d"]),
        (["--help"], Kind.HELP, ["--help"]),
        (["chat", "--help"], Kind.TERMINAL, ["chat", "--help"]),
    ],
)
def test_each_command_line_is_understood(words: list[str], kind: Kind, handed_on: list[str]) -> None:
    found = arguments.read(words)
    assert (found.kind, list(found.arguments)) == (kind, handed_on)


def test_who_waits_for_the_engine() -> None:
    assert not arguments.read(["--model", "demo"]).needs_engine_first
    for words in (["fetch", "demo"], ["--data-dir", "d", "patch", "x.gguf"], ["--version"]):
        assert not arguments.read(words).needs_engine_first
    for words in (["chat"], ["doctor"], ["test"], ["--smoke-test"], ["--setup-only"]):
        assert arguments.read(words).needs_engine_first


@pytest.mark.parametrize(
    ("environ", "system", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_a_screen_is_recognised(environ: dict[str, str], system: str, expected: bool) -> None:
    assert arguments.has_screen(environ, system) is expected


def test_an_old_python_gets_a_sentence() -> None:
    assert "3.11 or newer is needed" in run.python_complaint((3, 9, 18), "/usr/bin/python3")
    assert run.python_complaint((3, 11, 0), "python3") == ""


def test_an_old_python_can_read_the_first_file() -> None:
    text = Path(run.__file__).read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 6))
    assert "__future__" not in text  # 3.6 knows no annotations there


def test_help_names_all_commands() -> None:
    readme = Path(arguments.__file__).with_name("README.md").read_text(encoding="utf-8")
    for command in arguments.TERMINAL_COMMANDS:
        assert command in arguments.HELP
        assert f"`{command}`" in readme
