"""The command, run as a process would: exit codes, texts, JSON; with the real engine child."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from enum import Enum
from pathlib import Path

import pytest

from clover_gui.cli import patch
from clover_gui.explain.repair_hints import finding_text, speech_text, verdict_text, way_text
from clover_gui.patching import journal
from clover_gui.patching.check import Speech
from clover_gui.patching.findings import FindingKind, Obstacle, Verdict
from clover_gui.patching.journal import State
from clover_gui.patching.plan import Way
from clover_gui.paths import data_folder
from tests.kit.diffuspace import DIFFUSPACE, REFERENCE, Form, make_form
from tests.patching.forms import SURPLUS_INSIDE, sha256

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """``command(*words) -> (exit code, standard output, standard error)``."""

    def run(*words: object) -> tuple[int, str, str]:
        code = patch.main([str(word) for word in words], data_folder(tmp_path / "data"))
        return code, *capsys.readouterr()

    return run


def test_check_repair_check_undo(tmp_path: Path, command: Command) -> None:
    file = make_form(tmp_path / "a model.gguf", DIFFUSPACE)
    before = sha256(file)
    code, out, _err = command(file, "--check")
    assert code == 3
    assert "The number of shared experts is missing." in out
    assert "3 tensors, 12 values" in out
    assert "It needs a repair" in out
    assert sha256(file) == before
    assert not journal.journal_path(file).exists()
    code, out, _err = command(file)
    assert code == 0
    assert "Repaired in" in out
    assert "nothing was copied" in out
    assert "--undo" in out
    code, out, _err = command(file, "--check")
    assert (code, "It runs as it is." in out) == (0, True)
    code, out, _err = command(file)
    assert (code, "Nothing to do" in out) == (0, True)
    code, out, _err = command(file, "--undo")
    assert (code, "The original file is back." in out) == (0, True)
    assert sha256(file) == before
    code, _out, err = command(file, "--undo")
    assert code == 4
    assert "nothing to undo" in err


def test_json(tmp_path: Path, command: Command) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    code, out, _err = command(file, "--check", "--json")
    report = json.loads(out)
    assert (code, report["verdict"], report["target"]) == (3, "needs-repair", "qwen35moe")
    assert {f["kind"] for f in report["findings"]} == {
        "architecture",
        "shared-count-missing",
        "raw-decay",
        "raw-norms",
    }
    code, out, _err = command(file, "--json")
    report = json.loads(out)
    assert (code, report["changed"], report["way"]) == (0, True, "in-place")
    code, out, _err = command(file, "--check", "--json")
    assert json.loads(out)["repaired"]["from"] == "clover_moe"
    code, out, _err = command(file, "--undo", "--json")
    assert json.loads(out) == {"file": str(file), "changed": True, "undone": True}


def test_what_cannot_be_repaired(tmp_path: Path, command: Command, damaged_ggufs: dict[str, Path]) -> None:
    contradictory = make_form(tmp_path / "a.gguf", Form(raw_decay=True))
    code, out, _err = command(contradictory, "--check")
    assert code == 4
    assert "can be forced" in out
    code, _out, err = command(contradictory)
    assert code == 4
    assert "contradicts itself" in err
    code, _out, _err = command(contradictory, "--force")
    assert code == 0
    assert command(contradictory, "--check")[0] == 0
    for kind in ("html", "cut-data", "magic"):
        code, out, _err = command(damaged_ggufs[kind], "--check", "--json")
        assert code == 4
        assert json.loads(out)["error"]["next_step"]
    assert command(tmp_path / "nothing.gguf", "--check")[0] == 4
    assert command(make_form(tmp_path / "b.gguf", REFERENCE), "--target", "other")[0] == 2


def test_the_target_can_be_forced(tmp_path: Path, command: Command) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    before = sha256(file)
    assert json.loads(command(file, "--target", "clover_moe", "--json")[1])["target"] == "clover_moe"
    assert command(file, "--check")[0] == 3  # this engine wants the other name
    assert json.loads(command(file, "--json")[1])["target"] == "qwen35moe"
    assert command(file, "--undo")[0] == 0
    assert sha256(file) == before


def test_an_interrupted_repair(tmp_path: Path, command: Command) -> None:
    file = make_form(tmp_path / "a.gguf", DIFFUSPACE)
    command(file)
    record = journal.read(file)
    assert record is not None
    journal.append(record, State.APPLYING)
    with file.open("r+b") as model:
        model.write(bytes(4))
    code, out, _err = command(file, "--check")
    assert (code, "interrupted" in out) == (3, True)
    assert command(file)[0] == 0
    assert command(file, "--check")[0] == 0


def test_a_copy_of_a_file_of_others(tmp_path: Path, command: Command) -> None:
    source = make_form(tmp_path / "real.gguf", SURPLUS_INSIDE)
    before = sha256(source)
    link = tmp_path / "link.gguf"
    link.symlink_to(source)
    code, _out, err = command(link)
    assert code == 4
    assert "repaired copy" in err
    (tmp_path / "own").mkdir()
    code, out, _err = command(link, "--copy", tmp_path / "own")
    assert code == 0
    assert f"copy in {tmp_path / 'own'}; the file itself was not changed" in out
    assert sha256(source) == before
    assert command(tmp_path / "own" / "link.gguf", "--check")[0] == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [(FindingKind, finding_text), (Way, way_text), (Speech, speech_text), (Verdict, verdict_text)],
)
def test_every_word_has_a_sentence(words: type[Enum], text: Callable[[str], str]) -> None:
    sentences = {text(word.value) for word in words}
    assert len(sentences) == len(words)
    assert all(sentence.endswith(".") for sentence in sentences)


def test_every_obstacle_has_a_sentence() -> None:
    obstacles = [obstacle for obstacle in Obstacle if obstacle is not Obstacle.NONE]
    assert len({verdict_text("cannot", obstacle.value) for obstacle in obstacles}) == len(obstacles)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("words", [(), ("--check",), ("--undo",), ("--copy", "copies")])
def test_only_regular_files_are_opened(tmp_path: Path, command: Command, words: tuple[str, ...]) -> None:
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    code, _out, err = command(pipe, *words)
    assert (code, "not a regular file" in err) == (4, True)
    code, _out, err = command(tmp_path, *words)
    assert (code, "a folder" in err, "names" in err) == (4, True, False)
    code, _out, err = command(tmp_path / "nothing.gguf", *words)
    assert (code, "There is no file" in err) == (4, True)
