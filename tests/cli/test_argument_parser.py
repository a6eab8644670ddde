"""Mistakes on the command line, said in the language of the person."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from clover_gui import i18n
from clover_gui.cli.argument_parser import ArgumentParser

MISTAKES = {
    ("--count",): "--count: it needs a value",
    ("--count", "many"): "--count: 'many' is no number",
    ("--pair", "a"): "--pair: it needs 2 values",
    ("--form", "x"): "--form: 'x' is none of these: ",
    ("--quiet", "--loud"): "it cannot go together with",
    ("--quiet=yes",): "it takes no value, but there is 'yes'",
    ("--unknown",): "these are not known: --unknown",
    ("run",): "these are missing: file",
    ("walk",): "'walk' is none of these: ",
    ("--lo",): "--lo may stand for --",
}


@pytest.fixture
def parser() -> Iterator[ArgumentParser]:
    i18n.set_language("en")
    made = ArgumentParser(prog="clover-gui")
    made.add_argument("--count", type=int)
    made.add_argument("--pair", nargs=2)
    made.add_argument("--form", choices=["a", "b"])
    made.add_argument("--longer", action="store_true")
    group = made.add_mutually_exclusive_group()
    group.add_argument("--quiet", action="store_true")
    group.add_argument("--loud", action="store_true")
    run = made.add_subparsers(dest="command").add_parser("run")
    run.add_argument("file")
    yield made
    i18n.set_language("en")


@pytest.mark.parametrize("arguments", MISTAKES)
def test_mistakes_are_said_in_own_words(
    arguments: tuple[str, ...], parser: ArgumentParser, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fails with a Python that words them anew, so that the new words are noticed."""
    with pytest.raises(SystemExit) as end:
        parser.parse_args(arguments)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert MISTAKES[arguments] in said
    assert "error:" not in said


def test_words_of_our_own_and_unknown_ones_stay(
    parser: ArgumentParser, capsys: pytest.CaptureFixture[str]
) -> None:
    def positive(_text: str) -> int:
        raise argparse.ArgumentTypeError("must be greater than 0")

    parser.add_argument("--size", type=positive)
    with pytest.raises(SystemExit):
        parser.parse_args(["--size", "0"])
    assert "--size: must be greater than 0" in capsys.readouterr().err
